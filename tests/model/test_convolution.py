"""The convolutional encoder against its formula, written out; what a state knows of; padding.

Its mixes with decoders are in test_transformer.py.
"""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nmt.model.convolution import ConvolutionalBlock, ConvolutionalEncoder
from nmt.model.positions import LearnedPositions, PositionedInputs

EMBEDDING, WIDTH = 5, 6


def encoder(layers: int, kernel: int, dropout: float = 0.0) -> ConvolutionalEncoder:
    torch.manual_seed(0)
    positions = LearnedPositions(width=WIDTH, max_positions=20)
    inputs = PositionedInputs(embedding=EMBEDDING, width=WIDTH, positions=positions)
    blocks = [ConvolutionalBlock(width=WIDTH, kernel=kernel, dropout=dropout) for _ in range(layers)]
    built = ConvolutionalEncoder(inputs=inputs, blocks=blocks).double()
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.5)
    return built


def words(lengths: Sequence[int], width: int) -> tuple[Tensor, Tensor]:
    mask_BS = torch.arange(width).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*mask_BS.shape, EMBEDDING, generator=generator, dtype=torch.float64), mask_BS


def by_hand(block: ConvolutionalBlock, x_SD: Tensor) -> Tensor:
    """One sentence: every position by itself, neighbour by neighbour."""
    weight_GDK, bias_G = block.convolution.weight, block.convolution.bias
    reach, states = weight_GDK.shape[2] // 2, []
    for here in range(len(x_SD)):
        both_G = bias_G.clone()
        for place, there in enumerate(range(here - reach, here + reach + 1)):
            if 0 <= there < len(x_SD):
                both_G = both_G + weight_GDK[:, :, place] @ x_SD[there]
        states.append(math.sqrt(0.5) * (x_SD[here] + both_G[:WIDTH] / (1.0 + torch.exp(-both_G[WIDTH:]))))
    return torch.stack(states)


@pytest.mark.parametrize(("layers", "kernel"), [(1, 1), (1, 3), (2, 3), (1, 5), (3, 7)])
def test_it_is_the_papers_formula(layers: int, kernel: int) -> None:
    built, (embedded_BSE, mask_BS) = encoder(layers, kernel), words((5, 1), 5)
    encoded = built(embedded_BSE, mask_BS)
    for row, length in enumerate((5, 1)):
        x_SD = built.inputs(embedded_BSE[row : row + 1, :length])[0]
        for block in built.blocks:
            assert isinstance(block, ConvolutionalBlock)
            x_SD = by_hand(block, x_SD)
        torch.testing.assert_close(encoded.states_BSD[row, :length], x_SD, rtol=0.0, atol=1e-12)
        torch.testing.assert_close(encoded.summary_BD[row], x_SD.mean(dim=0), rtol=0.0, atol=1e-12)


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4), more=st.integers(0, 5), kernel=st.sampled_from([3, 7])
)
@settings(deadline=None, max_examples=30)
def test_padding_and_neighbours_change_nothing(lengths: list[int], more: int, kernel: int) -> None:
    built = encoder(2, kernel)
    embedded_BSE, mask_BS = words(lengths, max(lengths) + more + 1)
    encoded = built(embedded_BSE, mask_BS)
    assert encoded.mask_BS.equal(mask_BS)
    assert (encoded.states_BSD[~mask_BS] == 0).all()
    for row, length in enumerate(lengths):
        alone = built(embedded_BSE[row : row + 1, : length + 1], mask_BS[row : row + 1, : length + 1])
        torch.testing.assert_close(encoded.states_BSD[row, :length], alone.states_BSD[0, :length], rtol=0.0, atol=1e-12)
        torch.testing.assert_close(encoded.summary_BD[row], alone.summary_BD[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (3, 3), (2, 5)])
def test_a_state_knows_of_layers_times_kernel_less_one_pieces_and_itself(layers: int, kernel: int) -> None:
    built, (embedded_BSE, mask_BS), place = encoder(layers, kernel), words((15,), 15), 7
    before_SD = built(embedded_BSE, mask_BS).states_BSD[0]
    embedded_BSE[:, place] += 1.0
    changed_S = (built(embedded_BSE, mask_BS).states_BSD[0] != before_SD).any(dim=1)
    reach = layers * (kernel - 1) // 2
    assert changed_S.equal((torch.arange(15) - place).abs() <= reach)


def test_dropout_is_on_what_a_block_reads_and_not_on_what_goes_past_it() -> None:
    built, mask_BS = encoder(1, 3).blocks[0].train(), torch.ones(1, 4, dtype=torch.bool)
    assert isinstance(built, ConvolutionalBlock)
    x_BSD = torch.randn(1, 4, WIDTH, dtype=torch.float64)
    built.dropout.rate = 1.0 - 2.0**-16  # nearly all
    nothing_BSD = nn.functional.glu(built.convolution.bias, dim=0).expand(1, 4, WIDTH)
    torch.testing.assert_close(built(x_BSD, mask_BS), math.sqrt(0.5) * (x_BSD + nothing_BSD))


@pytest.mark.parametrize(("dropout", "kernel"), [(0.0, 3), (0.5, 3), (0.5, 5)])
def test_a_fresh_gate_has_four_times_the_variance_of_the_states(dropout: float, kernel: int) -> None:
    torch.manual_seed(0)
    block = ConvolutionalBlock(width=128, kernel=kernel, dropout=dropout).train()
    both_BGS = block.convolution(block.dropout(torch.randn(20, 50, 128)).transpose(1, 2))
    inside = kernel // 2  # at the ends of a sentence fewer pieces are read
    assert both_BGS[..., inside:-inside].var().item() == pytest.approx(4.0, rel=0.05)
    assert block.convolution.bias is not None
    assert not block.convolution.bias.any()
