"""What every attention keeps to, whatever its kind: one suite over the dicts of mechanisms, scores and normalisers.

The settings to try are read from the config's own sections, every combination of their closed choices (normalisers
apart: `is_tried`): a new kind, or a new choice of an old one, is tested without a line here.
"""

import itertools
import types
import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from nmt.attention import ATTENTIONS
from nmt.attention.base import Attended, Attention, Memory
from nmt.attention.none import NoAttention
from nmt.attention.normalizers import NORMALIZERS
from nmt.attention.scores import SCORES
from nmt.config import attention as kinds
from nmt.config import model, schema
from nmt.config.model import ModelSection
from nmt.errors import ConfigError
from nmt.model.build import build_attention
from nmt.model.layers import READOUTS
from nmt.model.positions import POSITIONS
from nmt.model.transformer_layers import ACTIVATIONS
from nmt.training.optim import SCHEDULES

Setting = dict[str, Any]

QUERY, KEY, STEPS = 6, 8, 3
LENGTHS = (5, 3, 1, 0)
"""Real tokens of each sentence of the usual batch; the last one has none at all."""


def choices(annotation: Any) -> tuple[Any, ...]:
    """Every value of a Literal, optional or not, or of a boolean; nothing for what is open."""
    if annotation is bool:
        return (False, True)
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(value for part in get_args(annotation) if part is not type(None) for value in choices(part))
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def settings_of(section: type[schema.Section]) -> list[Setting]:
    """Every combination of a section's closed choices; what is open keeps its default."""
    options = {name: choices(field.annotation) for name, field in section.model_fields.items()}
    # Input feeding is the decoder's wiring: the mechanism is the same with it and without.
    options = {name: values for name, values in options.items() if values and name != "input_feeding"}
    return [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]


def is_tried(setting: Setting, section: type[schema.Section]) -> bool:
    """Softmax with every other choice, the other normalisers with the defaults alone.

    A normaliser sees a matrix of scores and a mask, whatever made them: every score with every normaliser would triple
    this suite and find nothing that the tests of the normalisers alone, −∞ included, do not.
    """
    others = {name for name in setting if name not in ("type", "normalizer")}
    is_default = all(setting[name] == section.model_fields[name].default for name in others)
    return setting.get("normalizer", "softmax") == "softmax" or is_default


SECTIONS = get_args(get_args(kinds.AttentionSection)[0])
ALL = [setting for section in SECTIONS for setting in settings_of(section) if is_tried(setting, section)]
WITH_WEIGHTS = [setting for setting in ALL if setting["type"] != "none"]


# Multi-head attention reads projections, a memory network adds up hops: their contexts have golden values.
READS_STATES = [setting for setting in WITH_WEIGHTS if setting["type"] not in ("multihead", "memory")]


def name_of(setting: Setting) -> str:
    return "-".join(f"{key}={value}" if isinstance(value, bool) else value for key, value in setting.items())


every_kind = pytest.mark.parametrize("setting", ALL, ids=name_of)
every_kind_with_weights = pytest.mark.parametrize("setting", WITH_WEIGHTS, ids=name_of)


def section_of(setting: Setting, query: int, key: int) -> ModelSection:
    heads = {"heads": 2} if setting["type"] == "multihead" else {}  # as many as divide the small width
    return ModelSection.model_validate(
        {"attention": setting | heads, "encoder": {"hidden": key}, "decoder": {"hidden": query}}
    )


def build(setting: Setting) -> tuple[Attention, int]:
    """The mechanism in double precision and the width of its keys: another one than the query's if it takes that."""
    torch.manual_seed(3)
    try:
        section, key = section_of(setting, QUERY, KEY), KEY
    except ValidationError:
        section, key = section_of(setting, QUERY, QUERY), QUERY
    return build_attention(section).double().eval(), key


def mask_of(lengths: Sequence[int]) -> Tensor:
    return torch.arange(max(*lengths, 1)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def question(key: int, lengths: Sequence[int] = LENGTHS, steps: int = STEPS) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states and mask of a batch; there is something on padding, too."""
    mask_BS = mask_of(lengths)
    return random(len(lengths), steps, QUERY, seed=1), random(*mask_BS.shape, key, seed=2), mask_BS


def ask(attention: Attention, query_BTQ: Tensor, states_BSD: Tensor, mask_BS: Tensor) -> Attended:
    memory = attention.remember(states_BSD, mask_BS)
    return with_weights(attention(query_BTQ, memory, attention.initial_state(memory)))


def with_weights(attended: Attended) -> Attended:
    """What a mechanism returned; one without weights gets a tensor of none, so that all can be treated alike."""
    batch, steps, _ = attended.context_BTD.shape
    return (
        attended
        if attended.weights_BHTS is not None
        else replace(attended, weights_BHTS=torch.zeros(batch, 0, steps, 0))
    )


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)


def check_total(setting: Setting, total_BHT: Tensor, mask_BS: Tensor, tolerance: float = 1e-10) -> None:
    """Weights sum to 1 over real tokens, and to 0 where there are none.

    local_p takes a part of each away and does not make up for it. local_m may look past the end, where nothing is, but
    not here: its window reaches 10 positions, and there are fewer steps.
    """
    expected_BHT = mask_BS.any(dim=1).to(total_BHT.dtype)[:, None, None].expand(total_BHT.shape)
    if setting.get("variant") == "local_p":
        assert total_BHT.sign().equal(expected_BHT)
        assert (total_BHT <= 1.0 + tolerance).all()
    else:
        close(total_BHT, expected_BHT, tolerance)


# The names


def test_there_are_settings_for_every_mechanism() -> None:
    assert {setting["type"] for setting in ALL} == ATTENTIONS.keys()


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        (kinds.ScoreName, SCORES),
        (kinds.NormalizerName, NORMALIZERS),
        (model.GruDecoderSection.model_fields["readout"].annotation, READOUTS),
        (model.ActivationName, ACTIVATIONS),
        (model.PositionsName, POSITIONS),
        (schema.TrainingSection.model_fields["schedule"].annotation, SCHEDULES),
    ],
    ids=["scores", "normalizers", "readouts", "activations", "positions", "schedules"],
)
def test_config_and_dict_have_the_same_names(annotation: Any, names: dict[str, object]) -> None:
    assert sorted(choices(annotation)) == sorted(names)


def test_every_score_and_normalizer_is_tried() -> None:
    assert {setting["score"] for setting in WITH_WEIGHTS if "score" in setting} == SCORES.keys()
    assert {setting["normalizer"] for setting in WITH_WEIGHTS if "normalizer" in setting} == NORMALIZERS.keys()


@every_kind
def test_name_gives_the_class_of_the_dict(setting: Setting) -> None:
    assert type(build(setting)[0]) is ATTENTIONS[setting["type"]]


# The weights


@every_kind_with_weights
@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(1, 4))
def test_weights_are_a_distribution_over_real_tokens(setting: Setting, lengths: list[int], steps: int) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key, lengths, steps)
    weights_BHTS = ask(attention, query_BTQ, states_BSD, mask_BS).weights_BHTS
    assert weights_BHTS.shape[0] == len(lengths)
    assert weights_BHTS.shape[1] >= 1
    assert weights_BHTS.shape[2:] == (steps, mask_BS.shape[1])
    assert (weights_BHTS >= 0).all()
    assert (weights_BHTS.masked_select(~mask_BS[:, None, None]) == 0).all()
    check_total(setting, weights_BHTS.sum(dim=-1), mask_BS)


@every_kind_with_weights
def test_weights_depend_on_the_query(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key, steps=30)  # of so many, two draws differ
    weights_HTS = ask(attention, query_BTQ, states_BSD, mask_BS).weights_BHTS[0]
    assert not any(torch.allclose(map_TS, map_TS[:1].expand_as(map_TS)) for map_TS in weights_HTS)


@pytest.mark.parametrize("setting", READS_STATES, ids=name_of)
def test_context_is_the_weighted_sum_of_the_states(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    attended = ask(attention, query_BTQ, states_BSD, mask_BS)
    assert attended.context_BTD.shape[-1] == attention.context_width == key
    close(attended.context_BTD, torch.einsum("bhts,bsd->btd", attended.weights_BHTS, states_BSD))


@every_kind
def test_added_padding_changes_nothing(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    short = ask(attention, query_BTQ, states_BSD, mask_BS)
    more_BSD = torch.cat([states_BSD, 1e3 * random(len(LENGTHS), 2, key, seed=5)], dim=1)
    long = ask(attention, query_BTQ, more_BSD, torch.nn.functional.pad(mask_BS, (0, 2)))
    close(long.context_BTD, short.context_BTD)
    close(long.weights_BHTS, torch.nn.functional.pad(short.weights_BHTS, (0, 2 if short.weights_BHTS.shape[1] else 0)))


@every_kind
def test_what_stands_on_padding_changes_nothing(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    before = ask(attention, query_BTQ, states_BSD, mask_BS)
    after = ask(attention, query_BTQ, states_BSD.masked_fill(~mask_BS.unsqueeze(-1), 1e3), mask_BS)
    close(after.context_BTD, before.context_BTD)
    close(after.weights_BHTS, before.weights_BHTS)


@every_kind
def test_the_order_of_the_batch_changes_nothing(setting: Setting) -> None:
    attention, key = build(setting)
    parts, order = question(key), torch.tensor([2, 3, 0, 1])
    before, after = ask(attention, *parts), ask(attention, *(part[order] for part in parts))
    close(after.context_BTD, before.context_BTD[order])
    close(after.weights_BHTS, before.weights_BHTS[order])


@every_kind
def test_all_queries_at_once_are_as_one_by_one(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    memory = attention.remember(states_BSD, mask_BS)
    together = with_weights(attention(query_BTQ, memory, attention.initial_state(memory)))
    state, steps = attention.initial_state(memory), []
    for query_BQ in query_BTQ.unbind(1):
        steps.append(with_weights(attention(query_BQ.unsqueeze(1), memory, state)))
        state = steps[-1].state
    close(torch.cat([step.context_BTD for step in steps], dim=1), together.context_BTD)
    close(torch.cat([step.weights_BHTS for step in steps], dim=2), together.weights_BHTS)


@every_kind
def test_reordered_memory_is_the_memory_of_those_sentences(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    index = torch.tensor([2, 0, 0, 3, 1])
    found = attention.remember(states_BSD, mask_BS).reorder(index)
    expected = attention.remember(states_BSD[index], mask_BS[index])
    assert found.document is None is expected.document  # test_hierarchical.py has memories with one
    for name in {field.name for field in fields(Memory)} - {"document"}:
        close(getattr(found, name).double(), getattr(expected, name).double())
    before = ask(attention, query_BTQ, states_BSD, mask_BS)
    after = with_weights(attention(query_BTQ[index], found, attention.initial_state(found)))
    close(after.context_BTD, before.context_BTD[index])
    close(after.weights_BHTS, before.weights_BHTS[index])


@every_kind
def test_the_context_is_the_same_where_nobody_asks_for_weights(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    states_BSD.requires_grad_()
    found = []
    for need_weights in (True, False):
        memory = attention.remember(states_BSD, mask_BS)
        attended = attention(query_BTQ, memory, attention.initial_state(memory), need_weights=need_weights)
        probe = random(*attended.context_BTD.shape, seed=6)
        leaves = [states_BSD, *attention.parameters()]
        gradients = torch.autograd.grad((attended.context_BTD * probe).sum(), leaves, allow_unused=True)
        found.append([attended.context_BTD, *(gradient for gradient in gradients if gradient is not None)])
    for unasked, asked in zip(found[1], found[0], strict=True):
        close(unasked, asked)


# Where there is nothing to look at, and gradients


@every_kind
@pytest.mark.parametrize("lengths", [LENGTHS, (0, 0)], ids=["one", "all"])
def test_a_sentence_without_a_real_token_gives_zeros(setting: Setting, lengths: Sequence[int]) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key, lengths)
    query_BTQ.requires_grad_()
    states_BSD.requires_grad_()
    attended = ask(attention, query_BTQ, states_BSD, mask_BS)
    empty_B = ~mask_BS.any(dim=1)
    if setting["type"] != "memory":  # whose context is the query itself, plus what it read
        assert (attended.context_BTD[empty_B] == 0).all()
    assert attended.context_BTD.isfinite().all()
    assert (attended.weights_BHTS[empty_B] == 0).all()
    (attended.context_BTD.square().sum() + attended.weights_BHTS.square().sum() + query_BTQ.sum()).backward()
    leaves = [query_BTQ, states_BSD, *attention.parameters()]
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves if leaf.grad is not None)
    assert states_BSD.grad is not None
    assert (states_BSD.grad[~mask_BS] == 0).all()


@every_kind_with_weights
def test_every_parameter_has_a_gradient(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    # So small that all scores are near each other, and sparse normalisers leave no position out.
    query_BTQ, states_BSD = (0.2 * query_BTQ).requires_grad_(), (0.2 * states_BSD).requires_grad_()
    attended = ask(attention.train(), query_BTQ, states_BSD, mask_BS)
    loss = (attended.context_BTD * random(*attended.context_BTD.shape, seed=4)).sum()
    if attended.drawn is not None:  # no gradient goes through a draw: its parameters learn from the rest of the loss
        loss = loss + attended.drawn.log_probability_BT.sum() + attended.drawn.entropy_BT.sum()
    loss.backward()
    for name, leaf in [("query", query_BTQ), ("states", states_BSD), *attention.named_parameters()]:
        assert leaf.grad is not None, name
        assert torch.isfinite(leaf.grad).all(), name
        assert leaf.grad.any(), name
    assert states_BSD.grad is not None
    assert states_BSD.grad.any(dim=-1).equal(mask_BS), "every real state has one, and padding none"


@every_kind_with_weights
def test_large_scores_stay_finite(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    attended = ask(attention.float(), (1e4 * query_BTQ).float(), (1e4 * states_BSD).float(), mask_BS)
    assert torch.isfinite(attended.context_BTD).all()
    check_total(setting, attended.weights_BHTS.sum(dim=-1), mask_BS, 1e-5)


@every_kind_with_weights
def test_weights_are_float32_under_autocast(setting: Setting) -> None:
    attention, key = build(setting)
    query_BTQ, states_BSD, mask_BS = question(key)
    parts = (query_BTQ.float(), states_BSD.float(), mask_BS)
    exact = ask(attention.float(), *parts)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = ask(attention, *parts)
    assert rough.weights_BHTS.dtype == torch.float32
    close(rough.weights_BHTS, exact.weights_BHTS, 0.05)


# The kinds' own


def test_none_has_no_weights_and_reads_the_summary() -> None:
    attention, key = build({"type": "none"})
    assert isinstance(attention, NoAttention)
    query_BTQ, states_BSD, mask_BS = question(key)
    attended = ask(attention, query_BTQ, states_BSD, mask_BS)
    assert not attended.weights_BHTS.numel()
    half = key // 2
    for row, length in enumerate(LENGTHS[:-1]):
        summary_D = torch.cat([states_BSD[row, length - 1, :half], states_BSD[row, 0, half:]])
        close(attended.context_BTD[row], summary_D.expand(STEPS, -1))


LOCATION = {"type": "luong", "score": "location", "max_source_positions": 2}


def test_location_gives_positions_beyond_its_rows_no_weight_and_warns() -> None:
    attention, key = build(LOCATION)
    with pytest.warns(UserWarning, match="max_source_positions"):
        weights_BTS = ask(attention, *question(key)).weights_BHTS[:, 0]
    assert (weights_BTS[..., 2:] == 0).all()
    close(weights_BTS[:-1].sum(dim=-1), torch.ones(len(LENGTHS) - 1, STEPS, dtype=torch.float64))


def test_location_does_not_warn_of_a_source_that_fits() -> None:
    attention, key = build(LOCATION)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(attention, *question(key, (2, 1)))


def test_a_source_too_long_for_location_is_warned_of_once() -> None:
    attention, key = build(LOCATION)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for length in (3, 4, 5):
            ask(attention, *question(key, (length,)))
    assert len(caught) == 1


@pytest.mark.parametrize("score", SCORES)
def test_unequal_widths(score: str) -> None:
    if score not in kinds.EQUAL_WIDTHS:
        SCORES[score](QUERY, KEY, 4, 9)
        return
    with pytest.raises(ConfigError, match=rf"{score} .*{QUERY} and {KEY} wide"):
        SCORES[score](QUERY, KEY, 4, 9)
    with pytest.raises(ValidationError, match=rf"encoder.hidden is {KEY} and decoder.hidden is {QUERY}"):
        section_of({"type": "luong", "score": score}, QUERY, KEY)


# The normalisers alone

SCORES_BTS = st.lists(
    st.lists(st.floats(-200.0, 200.0) | st.just(-torch.inf), min_size=4, max_size=4), min_size=1, max_size=3
)


@pytest.mark.parametrize("name", NORMALIZERS)
@settings(deadline=None)
@given(rows=SCORES_BTS, real=st.lists(st.booleans(), min_size=4, max_size=4))
def test_normalizer(name: str, rows: list[list[float]], real: list[bool]) -> None:
    scores_BTS = torch.tensor([rows], dtype=torch.float64, requires_grad=True)
    mask_BS = torch.tensor([real])
    weights_BTS = NORMALIZERS[name](scores_BTS, mask_BS)
    allowed_BTS = mask_BS.unsqueeze(1) & (scores_BTS > -torch.inf)
    assert (weights_BTS >= 0).all()
    assert (weights_BTS[~allowed_BTS] == 0).all()
    close(weights_BTS.sum(dim=-1), allowed_BTS.any(dim=-1).double(), 1e-6)
    close(NORMALIZERS[name](scores_BTS + 3.5, mask_BS), weights_BTS, 1e-6)
    falling = weights_BTS[0, 0].gather(0, scores_BTS[0, 0].masked_fill(~allowed_BTS[0, 0], -torch.inf).argsort())
    assert (falling.diff() >= -1e-9).all(), "a higher score has no less weight"
    weights_BTS.square().sum().backward()
    assert scores_BTS.grad is not None
    assert torch.isfinite(scores_BTS.grad).all()
    assert (scores_BTS.grad[~allowed_BTS] == 0).all()


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_normalizer_computes_in_float32(name: str, dtype: torch.dtype) -> None:
    scores_BTS = torch.tensor([[[0.5, -1.0, 2.0]]], dtype=dtype)
    weights_BTS = NORMALIZERS[name](scores_BTS, torch.ones(1, 3, dtype=torch.bool))
    assert weights_BTS.dtype == torch.float32
    close(weights_BTS, NORMALIZERS[name](scores_BTS.float(), torch.ones(1, 3, dtype=torch.bool)), 1e-6)


def test_softmax_is_torch_softmax_over_the_real_tokens() -> None:
    scores_BTS = random(1, 2, 4, seed=7)
    weights_BTS = NORMALIZERS["softmax"](scores_BTS, torch.tensor([[True, False, True, True]]))
    close(weights_BTS[..., [0, 2, 3]], torch.softmax(scores_BTS[..., [0, 2, 3]], dim=-1))


def test_a_score_that_is_not_a_number_is_not_hidden() -> None:
    scores_BTS = torch.tensor([[[torch.nan, 1.0, 2.0]]])
    weights_BTS = NORMALIZERS["softmax"](scores_BTS, torch.tensor([[True, True, False]]))
    assert weights_BTS[..., 0].isnan().all()
