"""The bidirectional encoder against torch's own GRU on packed sentences."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.model.encoders import GruEncoder

EMBEDDING, HIDDEN = 5, 8
LENGTHS = (6, 2, 1, 4)


def encoder(layers: int, dropout: float = 0.0) -> GruEncoder:
    torch.manual_seed(0)
    built = GruEncoder(embedding=EMBEDDING, hidden=HIDDEN, layers=layers, dropout=dropout).double()
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.5)
    return built


def torchs(built: GruEncoder) -> nn.GRU:
    """torch's encoder with the same weights."""
    gru = nn.GRU(EMBEDDING, HIDDEN // 2, num_layers=len(built.layers), bidirectional=True, batch_first=True).double()
    for (theirs, target), (ours, source) in zip(named(gru), named(built), strict=True):
        assert target.shape == source.shape, (theirs, ours)
        target.data = source.data.clone()
    return gru


def named(module: GruEncoder | nn.GRU) -> list[tuple[str, nn.Parameter]]:
    """Parameters in torch's order: by layer, then direction, then weight_ih, weight_hh, bias_ih, bias_hh."""
    if isinstance(module, nn.GRU):
        return list(module.named_parameters())
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    names = [
        f"layers.{number}.{direction}.{kind}"
        for number in range(len(module.layers))
        for direction in ("ahead", "back")
        for kind in kinds
    ]
    return [(name, module.get_parameter(name)) for name in names]


def mask_of(lengths: Sequence[int], width: int | None = None) -> Tensor:
    return torch.arange(width or max(*lengths, 1)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def words(lengths: Sequence[int] = LENGTHS, width: int | None = None) -> tuple[Tensor, Tensor]:
    mask_BS = mask_of(lengths, width)
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*mask_BS.shape, EMBEDDING, generator=generator, dtype=torch.float64), mask_BS


@pytest.mark.parametrize("layers", [1, 2])
def test_it_is_torchs_gru_on_packed_sentences(layers: int) -> None:
    built = encoder(layers)
    oracle = torchs(built)
    embedded_BSE, mask_BS = words()
    embedded_BSE.requires_grad_()
    found_BSD = built(embedded_BSE, mask_BS).states_BSD
    packed, last = oracle(pack_padded_sequence(embedded_BSE, list(LENGTHS), batch_first=True, enforce_sorted=False))
    expected_BSD, _ = pad_packed_sequence(packed, batch_first=True)
    torch.testing.assert_close(found_BSD, expected_BSD, rtol=0.0, atol=1e-10)
    torch.testing.assert_close(
        built(embedded_BSE, mask_BS).summary_BD, torch.cat([last[-2], last[-1]], dim=-1), rtol=0.0, atol=1e-10
    )
    probe = torch.randn(found_BSD.shape, dtype=torch.float64)
    ours = [embedded_BSE, *(parameter for _, parameter in named(built))]
    theirs = [embedded_BSE, *(parameter for _, parameter in named(oracle))]
    found = torch.autograd.grad((found_BSD * probe).sum(), ours)
    expected = torch.autograd.grad((expected_BSD * probe).sum(), theirs)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0.0, atol=1e-10)


def test_all_parameters_are_among_those_compared() -> None:
    built = encoder(2)
    assert {name for name, _ in named(built)} == {name for name, _ in built.named_parameters()}


@pytest.mark.parametrize("layers", [1, 2])
def test_padding_and_neighbours_change_nothing(layers: int) -> None:
    built = encoder(layers)
    embedded_BSE, mask_BS = words(width=9)
    together = built(embedded_BSE, mask_BS)
    for row, length in enumerate(LENGTHS):
        alone = built(embedded_BSE[row : row + 1, :length], mask_BS[row : row + 1, :length])
        torch.testing.assert_close(together.states_BSD[row, :length], alone.states_BSD[0], rtol=0.0, atol=1e-12)
        torch.testing.assert_close(together.summary_BD[row], alone.summary_BD[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_zero_on_padding(layers: int) -> None:
    embedded_BSE, mask_BS = words((6, 2, 0))
    encoded = encoder(layers)(embedded_BSE, mask_BS)
    assert (encoded.states_BSD[~mask_BS] == 0).all()
    assert encoded.states_BSD[mask_BS].all()
    assert (encoded.summary_BD[2] == 0).all()
    assert encoded.mask_BS.equal(mask_BS)


def test_summary_is_each_directions_last_word() -> None:
    embedded_BSE, mask_BS = words()
    encoded = encoder(2)(embedded_BSE, mask_BS)
    half = HIDDEN // 2
    for row, length in enumerate(LENGTHS):
        assert encoded.summary_BD[row, :half].equal(encoded.states_BSD[row, length - 1, :half])
        assert encoded.summary_BD[row, half:].equal(encoded.states_BSD[row, 0, half:])


def test_the_halves_read_in_opposite_directions() -> None:
    built, position = encoder(1), 3
    embedded_BSE, mask_BS = words((6,))
    before_SD = built(embedded_BSE, mask_BS).states_BSD[0]
    embedded_BSE[:, position] += 1.0
    changed_SD = built(embedded_BSE, mask_BS).states_BSD[0] != before_SD
    half = HIDDEN // 2
    places = torch.arange(6)
    assert changed_SD[:, :half].any(dim=1).equal(places >= position)
    assert changed_SD[:, half:].any(dim=1).equal(places <= position)


def test_dropout_acts_in_training_alone() -> None:
    built, parts = encoder(2, dropout=0.5), words()
    plain = encoder(2)(*parts)
    assert built.eval()(*parts).states_BSD.equal(plain.states_BSD)
    built.train()
    first, second = built(*parts).states_BSD, built(*parts).states_BSD
    assert not first.equal(second)
    assert (first[~parts[1]] == 0).all()


def test_states_are_dropped_but_not_the_summary() -> None:
    built, (embedded_BSE, mask_BS) = encoder(1, dropout=0.5).train(), words()
    plain, found = encoder(1)(embedded_BSE, mask_BS), built(embedded_BSE, mask_BS)
    kept_BSD = found.states_BSD != 0
    assert 0 < kept_BSD[mask_BS].sum() < kept_BSD[mask_BS].numel()
    torch.testing.assert_close(0.5 * found.states_BSD[kept_BSD], plain.states_BSD[kept_BSD])
    assert found.summary_BD.equal(plain.summary_BD)


def test_what_one_layer_tells_the_next_is_dropped() -> None:
    built, parts = encoder(2, dropout=0.5).train(), words()
    assert not built(*parts).summary_BD.equal(encoder(2)(*parts).summary_BD)


def test_bfloat16_is_close_and_states_stay_float32() -> None:
    built = encoder(2).float()
    embedded_BSE, mask_BS = words()
    exact = built(embedded_BSE.float(), mask_BS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = built(embedded_BSE.float(), mask_BS)
    assert rough.states_BSD.dtype == rough.summary_BD.dtype == torch.float32
    torch.testing.assert_close(rough.states_BSD, exact.states_BSD, rtol=0.0, atol=0.05)
    assert (rough.states_BSD[~mask_BS] == 0).all()
