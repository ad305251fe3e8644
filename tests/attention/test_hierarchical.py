"""Hierarchical attention over the sentences before, beside every other attention; its numbers are golden cases."""

from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from nmt.attention.base import Attended, DocumentWeights
from nmt.attention.hierarchical import HierarchicalAttention
from nmt.attention.luong import LuongAttention
from nmt.attention.normalizers import softmax
from nmt.attention.scores import GeneralScore
from nmt.config.attention import AttentionSection
from nmt.config.model import ModelSection
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq

QUERY, KEY, STEPS, LENGTHS = 6, 8, 3, (4, 2, 3, 1)
BEFORE = ((3, 1), (2,), (), (1, 4, 2))
"""The lengths of the sentences before each of the four: two, one, none, three."""


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mask_of(lengths: tuple[int, ...], width: int) -> Tensor:
    return torch.arange(width).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def masks_of(before: tuple[tuple[int, ...], ...], sentences: int = 3, words: int = 4) -> Tensor:
    return torch.stack([mask_of((*one, *[0] * (sentences - len(one))), words) for one in before])


def attention_of(**options: bool) -> HierarchicalAttention:
    torch.manual_seed(0)
    inner = LuongAttention(score=GeneralScore(query_width=QUERY, key_width=KEY), key_width=KEY, normalizer=softmax)
    return HierarchicalAttention(inner=inner, query_width=QUERY, key_width=KEY, hidden=5, **options).double()


def ask(attention: HierarchicalAttention, words_BKSD: Tensor, mask_BKS: Tensor | None, seed: int = 1) -> Attended:
    """Three queries of each sentence of the usual batch; without a mask, no document at all."""
    memory = attention.remember(random(4, 4, KEY, seed=2), mask_of(LENGTHS, 4))
    if mask_BKS is not None:
        memory = attention.remember_document(memory, words_BKSD, mask_BKS)
    return attention(random(4, STEPS, QUERY, seed=seed), memory)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-10)


def joint(looked: DocumentWeights) -> Tensor:
    """The weight of each word among those of all sentences, [B, T, K, S]."""
    return looked.words_BTKS * looked.sentences_BTK.unsqueeze(-1)


OPTIONS = [{}, {"conditioned": False}, {"sentence_gru": True}]
every_form = pytest.mark.parametrize("options", OPTIONS, ids=["plain", "learnt", "gru"])


@every_form
def test_weights_sum_to_one_over_real_words_and_sentences(options: dict[str, bool]) -> None:
    mask_BKS = masks_of(BEFORE)
    looked = ask(attention_of(**options), random(4, 3, 4, KEY, seed=3), mask_BKS).document
    assert looked is not None
    mask_BK = mask_BKS.any(dim=2)
    close(looked.words_BTKS.sum(dim=-1), mask_BK.double().unsqueeze(1).expand(-1, STEPS, -1))
    close(looked.sentences_BTK.sum(dim=-1), mask_BK.any(dim=1).double().unsqueeze(1).expand(-1, STEPS))
    close(joint(looked).sum(dim=(2, 3)), looked.sentences_BTK.sum(dim=-1))
    assert (looked.words_BTKS.masked_select(~mask_BKS.unsqueeze(1)) == 0).all()
    assert ((looked.gate_BT > 0) & (looked.gate_BT < 1)).all()


@every_form
def test_what_stands_on_padding_changes_nothing(options: dict[str, bool]) -> None:
    attention, mask_BKS, words = attention_of(**options), masks_of(BEFORE), random(4, 3, 4, KEY, seed=3)
    other = torch.where(mask_BKS.unsqueeze(-1), words, random(4, 3, 4, KEY, seed=4))
    more = torch.cat([words, random(4, 3, 2, KEY, seed=5)], dim=2)
    more_BKS = torch.nn.functional.pad(mask_BKS, (0, 2, 0, 1))
    expected = ask(attention, words, mask_BKS).context_BTD
    close(ask(attention, other, mask_BKS).context_BTD, expected)
    wider = torch.cat([more, random(4, 1, 6, KEY, seed=6)], dim=1)
    close(ask(attention, wider, more_BKS).context_BTD, expected)


@every_form
def test_a_sentence_with_none_before_it_reads_as_without_a_document(options: dict[str, bool]) -> None:
    attention, words = attention_of(**options), random(4, 3, 4, KEY, seed=3)
    without = ask(attention, words, None)
    assert without.document is None
    close(ask(attention, words, masks_of(BEFORE)).context_BTD[2], without.context_BTD[2])
    close(ask(attention, words, masks_of(((), (), (), ()))).context_BTD, without.context_BTD)


def test_the_order_of_sentences_counts_with_a_gru_alone() -> None:
    words = random(4, 3, 4, KEY, seed=3)
    mask_BKS = masks_of(((2, 3, 1),) * 4)
    turned = torch.tensor([2, 0, 1])
    for options, same in (({}, True), ({"sentence_gru": True}, False)):
        attention = attention_of(**options)
        one = ask(attention, words, mask_BKS).context_BTD
        other = ask(attention, words[:, turned], mask_BKS[:, turned]).context_BTD
        assert torch.allclose(one, other, atol=1e-10) == same


def test_learnt_queries_look_alike_at_every_step() -> None:
    mask_BKS, words = masks_of(BEFORE), random(4, 3, 4, KEY, seed=3)
    for conditioned in (True, False):
        looked = ask(attention_of(conditioned=conditioned), words, mask_BKS).document
        assert looked is not None
        first, second = joint(looked)[0, :2]
        assert torch.allclose(first, second) != conditioned


@every_form
def test_every_parameter_learns(options: dict[str, bool]) -> None:
    attention = attention_of(**options)
    context_BTD = ask(attention, random(4, 3, 4, KEY, seed=3), masks_of(BEFORE)).context_BTD
    (context_BTD * random(4, STEPS, KEY, seed=7)).sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


KINDS = [section.model_fields["type"].annotation.__args__[0] for section in get_args(get_args(AttentionSection)[0])]
TRANSFORMER = {"type": "transformer", "hidden": 8, "layers": 2, "heads": 2, "feed_forward": 12}
MODELS: dict[str, dict[str, Any]] = {
    **{kind: {"attention": {"type": kind} | ({"heads": 2} if kind == "multihead" else {})} for kind in KINDS},
    "luong_feeding": {"attention": {"type": "luong", "input_feeding": True}},
    "transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER},
}
for _sizes in MODELS.values():
    _sizes.setdefault("encoder", {"hidden": 8})
    _sizes.setdefault("decoder", {"hidden": 8})
every_model = pytest.mark.parametrize("kind", MODELS)


def model_of(kind: str) -> Seq2Seq:
    torch.manual_seed(0)
    context = {"type": "hierarchical", "sentence_gru": True}
    section = ModelSection.model_validate({"embedding": 8, "dropout": 0.0, "context": context, **MODELS[kind]})
    return build_model(section, source_vocabulary=11, target_vocabulary=11, shared=True).double().eval()


def sides() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source, previous = (torch.randint(4, 11, (4, width), generator=generator) for width in (4, STEPS))
    mask = mask_of(LENGTHS, 4)
    context = torch.randint(4, 11, (4, 3, 4), generator=generator).masked_fill(~masks_of(BEFORE), 0)
    return source.masked_fill(~mask, 0), mask, previous, context


@every_model
def test_the_sentences_before_count_and_those_of_others_do_not(kind: str) -> None:
    model, (source, mask, previous, context) = model_of(kind), sides()
    with torch.no_grad():
        found = model(source, mask, previous, context).readout_BTR
        changed = context.clone()
        changed[0, 0, 0] = 4 + (context[0, 0, 0] - 3) % 7
        other = model(source, mask, previous, changed).readout_BTR
    assert not torch.allclose(found[0], other[0], atol=1e-8)
    close(found[1:], other[1:])


@every_model
def test_a_sentence_reads_alone_as_in_a_batch(kind: str) -> None:
    model, (source, mask, previous, context) = model_of(kind), sides()
    with torch.no_grad():
        together = model(source, mask, previous, context)
        for row, (length, before) in enumerate(zip(LENGTHS, BEFORE, strict=True)):
            cut = context[row : row + 1, : len(before), : max(before, default=0)] if before else None
            one = slice(row, row + 1)
            alone = model(source[one, :length], mask[one, :length], previous[one], cut)
            close(alone.readout_BTR[0], together.readout_BTR[row])
            assert (alone.document is None) == (not before)


@every_model
def test_step_by_step_is_all_at_once_and_rows_may_be_reordered(kind: str) -> None:
    model, (source, mask, previous, context) = model_of(kind), sides()
    order = torch.tensor([3, 0, 0])
    with torch.no_grad():
        expected = model(source, mask, previous, context)
        state = model.start(source, mask, None, context).reorder(order)
        for step in range(STEPS):
            decoded = model.decode(previous[order, step : step + 1], state)
            state = replace(state, decoder=decoded.state)
            close(decoded.readout_BTR[:, 0], expected.readout_BTR[order, step])
            close(joint(decoded.document)[:, 0], joint(expected.document)[order, step])


@every_model
def test_weights_are_made_where_they_are_asked_for(kind: str) -> None:
    model, (source, mask, previous, context) = model_of(kind), sides()
    with torch.no_grad():
        asked = model(source, mask, previous, context)
        unasked = model(source, mask, previous, context, need_weights=False)
    assert asked.document is not None
    assert asked.document.words_BTKS.shape == (4, STEPS, 3, 4)
    assert unasked.document is None
    close(unasked.readout_BTR, asked.readout_BTR)


@every_model
def test_every_parameter_of_a_model_learns_from_its_context(kind: str) -> None:
    model, (source, mask, previous, context) = model_of(kind).train(), sides()
    model(source, mask, previous, context).readout_BTR.square().sum().backward()
    (looks,) = [module for module in model.modules() if isinstance(module, HierarchicalAttention)]
    for name, parameter in looks.named_parameters():
        if not name.startswith("inner."):
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name
