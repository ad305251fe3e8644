"""Whole models: search steps against teacher forcing, fast paths against the plain loop, and what looks where when."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from nmt.config import attention as kinds
from nmt.config.model import ModelSection
from nmt.model.build import build_model
from nmt.model.decoder import Decoded
from nmt.model.gru_decoder import GruDecoder
from nmt.model.layers import READOUTS
from nmt.model.seq2seq import SearchState, Seq2Seq
from tests.model.steps import close, forced, stepped

SOURCE_PIECES, TARGET_PIECES = 11, 9
LENGTHS, STEPS = (5, 1, 3), 5

Setting = dict[str, Any]

EQUAL = ("memory", "attention_over_attention")
"""Mechanisms that need queries and keys of one width."""


def tags() -> list[str]:
    sections = get_args(get_args(kinds.AttentionSection)[0])
    return [tag for section in sections for tag in get_args(section.model_fields["type"].annotation)]


def wirings() -> Iterator[tuple[Setting, str, str]]:
    """Every kind of attention, with every choice of wiring that its section and the decoder's offer."""
    for kind in tags():
        feedings: Sequence[Setting] = [{}]
        try:
            ModelSection.model_validate({"attention": {"type": kind, "input_feeding": True}})
            feedings = [{"input_feeding": True}, {"input_feeding": False}]
        except ValidationError:
            pass
        for feeding, attend, readout in itertools.product(feedings, ("before", "after"), READOUTS):
            yield {"type": kind, **feeding}, attend, readout


def name_of(value: object) -> str:
    if isinstance(value, dict):
        return "-".join(str(part) if isinstance(part, str) else f"{key}={part}" for key, part in value.items())
    return str(value)


every_wiring = pytest.mark.parametrize(("attention", "attend", "readout"), list(wirings()), ids=name_of)
every_score = pytest.mark.parametrize("score", get_args(kinds.ScoreName))
one_or_two_layers = pytest.mark.parametrize("layers", [1, 2], ids=["1 layer", "2 layers"])


def build(
    attention: Setting,
    attend: str | None = None,
    readout: str | None = None,
    *,
    layers: int = 1,
    tied: bool = True,
    shared: bool = False,
    dropout: float = 0.0,
    equal: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Seq2Seq:
    """A small model with no parameter at 0, in evaluation; all widths differ, except where `equal`."""
    heads = {"heads": 2} if attention["type"] == "multihead" else {}  # as many as divide the small width
    section = ModelSection.model_validate(
        {
            "embedding": 5,
            "tied": tied,
            "dropout": dropout,
            "attention": attention | heads,
            "encoder": {"hidden": 6 if equal or attention["type"] in EQUAL else 8, "layers": layers},
            "decoder": {"hidden": 6, "layers": layers, "attend": attend, "readout": readout},
        }
    )
    torch.manual_seed(0)
    source = TARGET_PIECES if shared else SOURCE_PIECES
    model = build_model(section, source_vocabulary=source, target_vocabulary=TARGET_PIECES, shared=shared).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model.eval()


def texts(lengths: Sequence[int] = LENGTHS, steps: int = STEPS) -> tuple[Tensor, Tensor, Tensor]:
    """Sources with their mask, and previous target pieces."""
    generator = torch.Generator().manual_seed(1)
    mask_BS = torch.arange(max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    source_BS = torch.randint(1, TARGET_PIECES, mask_BS.shape, generator=generator).masked_fill(~mask_BS, 0)
    return source_BS, mask_BS, torch.randint(1, TARGET_PIECES, (len(lengths), steps), generator=generator)


def same(
    found: tuple[Tensor, tuple[Tensor, ...]], expected: tuple[Tensor, tuple[Tensor, ...]], tolerance: float = 1e-10
) -> None:
    close(found[0], expected[0], tolerance)
    for a, b in zip(found[1], expected[1], strict=True):
        close(a, b, tolerance)


@contextmanager
def step_by_step(model: Seq2Seq) -> Iterator[None]:
    """Within, the decoder goes one step at a time, whatever its wiring."""
    model.decoder.forward = model.decoder._one_by_one  # type: ignore[method-assign]
    try:
        yield
    finally:
        del model.decoder.forward


# Search and teacher forcing


@every_wiring
@one_or_two_layers
@pytest.mark.parametrize(
    ("tied", "shared"),
    [(True, True), (True, False), (False, True), (False, False)],
    ids=["tied-shared", "tied-separate", "untied-shared", "untied-separate"],
)
def test_search_steps_are_teacher_forcing(
    attention: Setting, attend: str, readout: str, layers: int, tied: bool, shared: bool
) -> None:
    with torch.inference_mode():
        for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
            model = build(attention, attend, readout, layers=layers, tied=tied, shared=shared, dtype=dtype)
            same(stepped(model, texts()), forced(model, texts()), tolerance)


@every_score
@pytest.mark.parametrize("feeding", [True, False])
def test_search_steps_are_teacher_forcing_with_every_score(score: str, feeding: bool) -> None:
    model = build({"type": "luong", "score": score, "input_feeding": feeding}, equal=True)
    same(stepped(model, texts()), forced(model, texts()))


@every_wiring
@one_or_two_layers
def test_a_forced_pass_may_stop_and_go_on(attention: Setting, attend: str, readout: str, layers: int) -> None:
    model = build(attention, attend, readout, layers=layers)
    source_BS, mask_BS, previous_BT = texts()
    start = model.start(source_BS, mask_BS)
    first = model.decode(previous_BT[:, :2], start)
    second = model.decode(previous_BT[:, 2:], SearchState(start.memory, first.state))
    found = torch.cat([first.readout_BTR, second.readout_BTR], dim=1)
    close(found, model(source_BS, mask_BS, previous_BT).readout_BTR)


@every_wiring
@one_or_two_layers
def test_reordered_hypotheses_go_on_as_themselves(attention: Setting, attend: str, readout: str, layers: int) -> None:
    model = build(attention, attend, readout, layers=layers)
    source_BS, mask_BS, previous_BT = texts()
    index = torch.tensor([2, 0, 0, 1])
    state = model.start(source_BS, mask_BS)
    for previous_N in previous_BT[:, :2].unbind(1):
        state = model.step(previous_N, state).state
    state = state.reorder(index)
    logits = []
    for previous_N in previous_BT[index, 2:].unbind(1):
        step = model.step(previous_N, state)
        state = step.state
        logits.append(step.logits_NV)
    expected_BTV, _ = forced(model, texts())
    close(torch.stack(logits, dim=1), expected_BTV[index, 2:])


# Padding


@every_wiring
@one_or_two_layers
def test_padding_changes_nothing(attention: Setting, attend: str, readout: str, layers: int) -> None:
    model = build(attention, attend, readout, layers=layers)
    source_BS, mask_BS, previous_BT = texts()
    padded_BS = torch.nn.functional.pad(source_BS, (0, 2))
    logits_BTV, weights = forced(model, (padded_BS, torch.nn.functional.pad(mask_BS, (0, 2)), previous_BT))
    for row, length in enumerate(LENGTHS):
        steps = STEPS - row  # its target is padded, too
        alone = (source_BS[row : row + 1, :length], mask_BS[row : row + 1, :length], previous_BT[row : row + 1, :steps])
        expected_1TV, expected = forced(model, alone)
        close(logits_BTV[row, :steps], expected_1TV[0])
        for layer, expected_layer in zip(weights, expected, strict=True):
            close(layer[row, :, :steps, :length], expected_layer[0])
            assert (layer[row, :, :, length:] == 0).all()


def test_what_stands_on_padding_changes_nothing() -> None:
    for kind in tags():
        model = build({"type": kind})
        source_BS, mask_BS, previous_BT = texts()
        same(
            forced(model, (source_BS.masked_fill(~mask_BS, 7), mask_BS, previous_BT)),
            forced(model, (source_BS, mask_BS, previous_BT)),
        )


# The fast paths


@every_wiring
@one_or_two_layers
def test_fast_paths_are_the_plain_loop(attention: Setting, attend: str, readout: str, layers: int) -> None:
    model = build(attention, attend, readout, layers=layers)
    parameters = dict(model.named_parameters())
    found = forced(model, texts())
    with step_by_step(model):
        expected = forced(model, texts())
    same(found, expected)
    if attention["type"] == "hard":
        return  # no gradient goes through a choice; what its parameters learn from has tests of its own
    probe = torch.randn(found[0].shape, dtype=torch.float64)
    fast = torch.autograd.grad((found[0] * probe).sum(), list(parameters.values()))
    plain = torch.autograd.grad((expected[0] * probe).sum(), list(parameters.values()))
    for name, a, b in zip(parameters, fast, plain, strict=True):
        assert a.any(), name
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10, msg=lambda text, name=name: f"{name}: {text}")


@every_wiring
def test_fast_paths_drop_what_the_plain_loop_drops(attention: Setting, attend: str, readout: str) -> None:
    if attention["type"] == "hard":
        return  # it draws from the same generator as dropout, in another order
    model = build(attention, attend, readout, layers=2, dropout=0.4).train()
    torch.manual_seed(5)
    found = forced(model, texts())
    torch.manual_seed(5)
    with step_by_step(model):
        same(found, forced(model, texts()), 1e-7)


@pytest.mark.parametrize(
    "attention",
    [
        *({"type": kind} for kind in ("none", "bahdanau", "soft", "multihead", "attention_over_attention", "memory")),
        *({"type": kind, "input_feeding": False} for kind in ("luong", "local")),
    ],
    ids=name_of,
)
def test_no_feedback_no_loop(attention: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Decoded:
        raise AssertionError("goes step by step")

    monkeypatch.setattr(GruDecoder, "_one_by_one", refuse)
    forced(build(attention), texts())


# Who sees what when


def changed(before_BTX: Tensor, after_BTX: Tensor) -> list[bool]:
    """Of each step, whether anything differs."""
    return [not a.equal(b) for a, b in zip(before_BTX.unbind(1), after_BTX.unbind(1), strict=True)]


@every_wiring
@one_or_two_layers
@pytest.mark.parametrize("place", [0, 2, STEPS - 1])
def test_an_input_changes_nothing_before_it(
    attention: Setting, attend: str, readout: str, layers: int, place: int
) -> None:
    model = build(attention, attend, readout, layers=layers)
    source_BS, mask_BS, previous_BT = texts()
    other_BT = previous_BT.clone()
    other_BT[:, place] = previous_BT[:, place] % (TARGET_PIECES - 1) + 1
    before, weights = forced(model, (source_BS, mask_BS, previous_BT))
    after, other_weights = forced(model, (source_BS, mask_BS, other_BT))
    assert changed(before, after) == [step >= place for step in range(STEPS)]
    # previous[t] is target token t − 1. Row t is used when predicting target token t: attention that looks after the
    # step sees previous[t] in it; attention that looks before the step sees it first in row t + 1.
    first = place if attend == "after" else place + 1
    for row, other_row in zip(weights, other_weights, strict=True):
        found = changed(row.transpose(1, 2), other_row.transpose(1, 2))
        if attention["type"] == "hard":  # the most probable position may stay the same
            assert not any(found[:first])
        else:
            assert found == [step >= first for step in range(STEPS)]


@every_wiring
@one_or_two_layers
def test_row_t_is_what_the_state_that_predicts_token_t_looked_at(
    attention: Setting, attend: str, readout: str, layers: int
) -> None:
    model = build(attention, attend, readout, layers=layers)
    source_BS, mask_BS, previous_BT = texts()
    state = model.start(source_BS, mask_BS)
    memory, own_state = state.memory, state.decoder.attention
    rows = []
    for previous_N in previous_BT.unbind(1):
        after = model.step(previous_N, state).state
        query_BH = state.decoder.hidden[0] if attend == "before" else after.decoder.hidden[-1]
        attended = model.decoder.attention(query_BH.unsqueeze(1), memory, own_state)
        rows.append(attended.weights_BHTS)
        state, own_state = after, attended.state
    _, weights = forced(model, (source_BS, mask_BS, previous_BT))
    for layer in weights:
        close(layer, torch.cat(rows, dim=2))


@every_wiring
def test_the_source_is_seen_at_every_step(attention: Setting, attend: str, readout: str) -> None:
    model = build(attention, attend, readout)
    source_BS, mask_BS, previous_BT = texts()
    other_BS = source_BS.clone()
    other_BS[0, 1] = source_BS[0, 1] % (TARGET_PIECES - 1) + 1
    before, _ = forced(model, (source_BS, mask_BS, previous_BT))
    after, _ = forced(model, (other_BS, mask_BS, previous_BT))
    assert all(changed(before[:1], after[:1]))
    assert before[1:].equal(after[1:])


def test_input_feeding_feeds_the_readout_back() -> None:
    for feeding in (True, False):
        model = build({"type": "luong", "input_feeding": feeding}, tied=False)  # else a linear layer would follow it
        source_BS, mask_BS, previous_BT = texts()
        state = model.step(previous_BT[:, 0], model.start(source_BS, mask_BS)).state
        assert (state.decoder.fed_BR is not None) == feeding
        if state.decoder.fed_BR is not None:
            first = model(source_BS, mask_BS, previous_BT).readout_BTR[:, 0]
            close(state.decoder.fed_BR, first)
            emptied = SearchState(state.memory, type(state.decoder)(state.decoder.hidden, torch.zeros_like(first)))
            assert all(
                not a.equal(b)
                for a, b in zip(
                    model.step(previous_BT[:, 1], state).logits_NV,
                    model.step(previous_BT[:, 1], emptied).logits_NV,
                    strict=True,
                )
            )


# What is built


@pytest.mark.parametrize(
    ("attention", "before", "readout", "feeding"),
    [
        ({"type": "bahdanau"}, True, "maxout", False),
        ({"type": "luong"}, False, "attentional", True),
        ({"type": "luong", "input_feeding": False}, False, "attentional", False),
        ({"type": "none"}, True, "maxout", False),
    ],
    ids=name_of,
)
def test_wiring_defaults_to_the_paper(attention: Setting, before: bool, readout: str, feeding: bool) -> None:
    decoder = build(attention).decoder
    assert decoder.attend_before is before
    assert type(decoder.readout) is READOUTS[readout]
    assert decoder.input_feeding is feeding


@pytest.mark.parametrize("kind", tags())
@one_or_two_layers
def test_first_state_is_tanh_of_the_summary(kind: str, layers: int) -> None:
    """s_0 = tanh(W ←h_1), Bahdanau et al. A.2.2; without attention W reads the whole summary."""
    model = build({"type": kind}, layers=layers)
    source_BS, mask_BS, _ = texts()
    encoded = model.encode(source_BS, mask_BS)
    read = encoded.summary_BD if kind == "none" else encoded.states_BSD[:, 0, model.encoder.width // 2 :]
    state = model.start(source_BS, mask_BS).decoder
    assert len(state.hidden) == layers
    for bridge, hidden_BH in zip(model.decoder.bridges, state.hidden, strict=True):
        close(hidden_BH, torch.tanh(read @ bridge.weight.t() + bridge.bias))


@pytest.mark.parametrize(
    ("tied", "shared", "matrices"), [(True, True, 1), (True, False, 2), (False, True, 3), (False, False, 3)]
)
def test_tied_embeddings_are_one_matrix(tied: bool, shared: bool, matrices: int) -> None:
    model = build({"type": "bahdanau"}, tied=tied, shared=shared)
    source, target, output = model.source_embedding.weight, model.target_embedding.weight, model.output
    assert len({weight.data_ptr() for weight in (source, target, output)}) == matrices
    assert (target is output) == tied
    assert (source is target) == (tied and shared)
    assert source.shape[0] == (TARGET_PIECES if shared else SOURCE_PIECES)
    assert target.shape[0] == output.shape[0] == TARGET_PIECES
    assert len({id(parameter) for parameter in model.parameters()}) == len(list(model.parameters()))


def test_tied_embeddings_stay_one_matrix_when_trained() -> None:
    model = build({"type": "bahdanau"}, shared=True).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    forced(model, texts())[0].square().sum().backward()
    before = model.output.detach().clone()
    optimizer.step()
    assert not model.output.equal(before)
    assert model.source_embedding.weight.equal(model.output)
    assert model.target_embedding.weight.equal(model.output)


@every_wiring
def test_one_tensor_of_weights_or_none_at_all(attention: Setting, attend: str, readout: str) -> None:
    model = build(attention, attend, readout, layers=2)
    assert model(*texts(), need_weights=False).weights == (), "nobody asked"
    for weights in (forced(model, texts())[1], stepped(model, texts())[1]):
        if attention["type"] == "none":
            assert weights == ()
        else:
            (layer,) = weights
            assert layer.shape[0] == len(LENGTHS)
            assert layer.shape[2:] == (STEPS, max(LENGTHS))
            if attention["type"] != "local":  # whose window may lie past the end, and whose Gaussian takes some away
                close(layer.sum(dim=-1), torch.ones(layer.shape[:-1], dtype=torch.float64))


@every_wiring
def test_dropout_acts_in_training_alone(attention: Setting, attend: str, readout: str) -> None:
    model = build(attention, attend, readout, layers=2, dropout=0.4)
    plain, _ = forced(build(attention, attend, readout, layers=2), texts())
    assert forced(model, texts())[0].equal(plain)
    model.train()
    first, second = forced(model, texts())[0], forced(model, texts())[0]
    assert not first.equal(second)
    assert not first.equal(plain)
    model.eval()
    assert forced(model, texts())[0].equal(plain)


def test_dropout_is_on_embeddings_and_readout() -> None:
    model = build({"type": "bahdanau"}, dropout=0.4)
    embedded: list[Tensor] = []
    for part in (model.encoder, model.decoder):
        part.register_forward_pre_hook(lambda _, inputs: embedded.append(inputs[0]))
    for training in (True, False):
        embedded.clear()
        readout_BTR = model.train(training)(*texts()).readout_BTR
        assert len(embedded) == 2
        assert [bool((tensor == 0).any()) for tensor in (*embedded, readout_BTR)] == [training] * 3


def test_dropout_is_between_the_decoders_layers() -> None:
    for layers in (1, 2):
        model = build({"type": "bahdanau"}, layers=layers, dropout=0.4)
        model.decoder.train()
        assert forced(model, texts())[0].equal(forced(model, texts())[0]) == (layers == 1)


@every_wiring
def test_bfloat16_is_close_to_float32(attention: Setting, attend: str, readout: str) -> None:
    model = build(attention, attend, readout, layers=2, dtype=torch.float32)
    exact, exact_weights = forced(model, texts())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, weights = forced(model, texts())
    assert torch.linalg.vector_norm(rough.float() - exact) <= 0.05 * torch.linalg.vector_norm(exact)
    for a, b in zip(weights, exact_weights, strict=True):
        assert a.dtype == torch.float32
        close(a, b, 0.05)
