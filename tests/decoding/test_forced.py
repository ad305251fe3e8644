"""Forced decoding: the weights and probabilities of given pairs, equal to those of a search step by step."""

import numpy as np
import pytest
import torch

from nmt.attention import ATTENTIONS
from nmt.attention.scores import SCORES
from nmt.config.model import ModelSection
from nmt.data.batching import Example, source_batch
from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.forced import forced_decode
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq

CPU = torch.device("cpu")
KINDS: list[dict[str, object]] = [
    *({"type": kind} for kind in ATTENTIONS if kind != "none"),
    *({"type": "luong", "score": score} for score in SCORES),
    {"type": "luong", "input_feeding": False},
]
EXAMPLES = [
    Example((4, 5, 6), (7, 8)),
    Example((4,), (9, 10, 11, 4, 5)),
    Example((8, 8, 8, 8, 8, 8, 8), (6,)),
    Example((5, 4), ()),
    Example((), (5, 6)),
    Example((11, 10, 9), (7, 8)),
]


def tiny_model(attention: dict[str, object]) -> Seq2Seq:
    torch.manual_seed(5)
    plain = {"embedding": 16, "dropout": 0.5, "encoder": {"hidden": 16}, "decoder": {"hidden": 16}}
    section = ModelSection.model_validate({**plain, "attention": attention})
    model = build_model(section, source_vocabulary=12, target_vocabulary=12, shared=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0).add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.mark.parametrize("batch_size", [1, 4, 64])
@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_weights_are_trimmed_to_the_pair_and_sum_to_one(attention: dict[str, object], batch_size: int) -> None:
    results = forced_decode(tiny_model(attention), EXAMPLES, batch_size=batch_size, device=CPU)
    assert len(results) == len(EXAMPLES)
    for example, result in zip(EXAMPLES, results, strict=True):
        target, source = len(example.target) + 1, len(example.source) + 1
        (layer,) = result.weights
        assert layer.shape[1:] == (target, source)
        assert layer.dtype == np.float32
        assert (layer >= 0).all()
        if attention["type"] != "local":  # whose window may lie past the end, and whose Gaussian takes some away
            np.testing.assert_allclose(layer.sum(axis=2), 1.0, atol=1e-5)
        assert result.log_probabilities.shape == (target,)
        assert (result.log_probabilities < 0).all()


@pytest.mark.parametrize("attention", [{"type": "none"}, *KINDS], ids=str)
def test_weights_and_probabilities_are_those_of_a_search_step_by_step(attention: dict[str, object]) -> None:
    model = tiny_model(attention).eval()
    source = (4, 9, 6, 10)
    pieces: list[int] = []
    rows, gains = [], []
    with torch.inference_mode():
        state, previous = model.start(*source_batch([source])), BEGIN
        while len(pieces) < 8:
            step = model.step(torch.tensor([previous]), state)
            rows.append(model.decode(torch.tensor([[previous]]), state).weights)
            scores_V = step.logits_NV.log_softmax(dim=1)[0]
            previous, state = int(scores_V.argmax()), step.state
            if previous == END:
                break
            pieces.append(previous)
            gains.append(float(scores_V[previous]))
        else:
            step = model.step(torch.tensor([previous]), state)
            rows.append(model.decode(torch.tensor([[previous]]), state).weights)
            scores_V = step.logits_NV.log_softmax(dim=1)[0]
        gains.append(float(scores_V[END]))
    assert pieces
    # With neighbours of other lengths, so that there is padding to be cut off.
    (result, *_) = forced_decode(model, [Example(source, tuple(pieces)), *EXAMPLES], batch_size=64, device=CPU)
    np.testing.assert_allclose(result.log_probabilities, gains, rtol=1e-4, atol=1e-5)
    assert len(result.weights) == len(rows[0]) == (0 if attention["type"] == "none" else 1)
    for number, layer in enumerate(result.weights):
        stepwise = torch.cat([step[number] for step in rows], dim=2)[0].numpy()
        np.testing.assert_allclose(layer, stepwise, atol=1e-5)


@pytest.mark.parametrize("attention", [{"type": "bahdanau"}, {"type": "luong"}, {"type": "none"}], ids=str)
def test_neighbours_and_order_change_nothing(attention: dict[str, object]) -> None:
    model = tiny_model(attention)
    alone = [forced_decode(model, [example], batch_size=1, device=CPU)[0] for example in EXAMPLES]
    for order in (range(len(EXAMPLES)), (5, 0, 3, 1, 4, 2)):
        for index, result in zip(
            order, forced_decode(model, [EXAMPLES[index] for index in order], batch_size=3, device=CPU), strict=True
        ):
            np.testing.assert_allclose(result.log_probabilities, alone[index].log_probabilities, rtol=1e-4, atol=1e-5)
            for found, expected in zip(result.weights, alone[index].weights, strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-5)


def test_dropout_is_off() -> None:
    model = tiny_model({"type": "bahdanau"}).train()
    first, second = (forced_decode(model, EXAMPLES, batch_size=64, device=CPU) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.log_probabilities, other.log_probabilities)


def test_nothing_is_forced_from_nothing() -> None:
    assert forced_decode(tiny_model({"type": "bahdanau"}), [], batch_size=4, device=CPU) == []


def test_results_do_not_hold_the_whole_batch_in_memory() -> None:
    (result, *_) = forced_decode(tiny_model({"type": "bahdanau"}), EXAMPLES, batch_size=64, device=CPU)
    assert result.weights[0].base is None
    assert result.log_probabilities.base is None


@pytest.mark.parametrize("attention", [{"type": "none"}, *KINDS], ids=str)
def test_where_nobody_needs_weights_there_are_none_and_probabilities_stay(attention: dict[str, object]) -> None:
    model = tiny_model(attention)
    plain, looked = (
        forced_decode(model, EXAMPLES, batch_size=4, device=CPU, need_weights=need) for need in (False, True)
    )
    for one, other in zip(plain, looked, strict=True):
        assert one.weights == ()
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, rtol=1e-4, atol=1e-5)
