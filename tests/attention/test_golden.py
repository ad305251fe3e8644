"""Each mechanism against numbers computed independently in float64, one test a case.

The environment variable NMT_GOLDEN may name another file of the same form with other sizes.
"""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmt.attention.attention_over_attention import AttentionOverAttention, prefix_weights
from nmt.attention.bahdanau import BahdanauAttention
from nmt.attention.base import Attended, Attention, Memory
from nmt.attention.hard import HardAttention
from nmt.attention.hierarchical import HierarchicalAttention
from nmt.attention.local import LocalAttention
from nmt.attention.luong import LuongAttention
from nmt.attention.memory import MemoryAttention
from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.normalizers import softmax
from nmt.attention.ntm import address
from nmt.attention.scores import (
    ConcatScore,
    CosineScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
    Score,
    cosine_scores,
)
from nmt.model.gru_decoder import GruDecoder, GruState, additive_recurrence
from nmt.model.layers import AttentionalReadout, MaxoutReadout
from nmt.training.loss import score_function

FILE = Path(os.environ.get("NMT_GOLDEN", Path(__file__).resolve().parents[1] / "golden" / "attention.json"))
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in json.loads(FILE.read_text())["cases"]}

Numbers = dict[str, Tensor]


def tensors(values: dict[str, Any]) -> Numbers:
    return {
        name: torch.tensor(value, dtype=torch.bool if isinstance(_first(value), bool) else torch.float64)
        for name, value in values.items()
    }


def _first(value: Any) -> Any:
    return _first(value[0]) if isinstance(value, list) else value


def put(parameter: nn.Parameter, value: Tensor) -> None:
    assert parameter.shape == value.shape
    parameter.data = value.clone()


def attend(attention: nn.Module, inputs: Numbers) -> Numbers:
    memory = attention.remember(inputs["keys"], inputs["mask"])
    attended = attention(inputs["query"].unsqueeze(1), memory)
    return {"weights": attended.weights_BHTS[:, 0, 0], "context": attended.context_BTD[:, 0]}


def luong(score: Score, inputs: Numbers) -> Numbers:
    return attend(LuongAttention(score=score, key_width=inputs["keys"].shape[-1], normalizer=softmax), inputs)


def widths(inputs: Numbers) -> dict[str, int]:
    return {"query_width": inputs["query"].shape[-1], "key_width": inputs["keys"].shape[-1]}


def bahdanau_attention(params: Numbers) -> BahdanauAttention:
    hidden, query = params["W_a"].shape
    attention = BahdanauAttention(
        query_width=query, key_width=params["U_a"].shape[1], hidden=hidden, normalizer=softmax
    ).double()
    put(attention.score.query.weight, params["W_a"])
    put(attention.score.key.weight, params["U_a"])
    put(attention.score.energy.weight, params["v_a"].unsqueeze(0))
    return attention


def bahdanau(inputs: Numbers, params: Numbers) -> Numbers:
    return attend(bahdanau_attention(params), inputs)


def dot(inputs: Numbers, params: Numbers) -> Numbers:
    return luong(DotScore(**widths(inputs)), inputs)


def scaled_dot(inputs: Numbers, params: Numbers) -> Numbers:
    return luong(ScaledDotScore(**widths(inputs)), inputs)


def general_score(params: Numbers) -> GeneralScore:
    query, key = params["W_a"].shape
    score = GeneralScore(query_width=query, key_width=key).double()
    put(score.key.weight, params["W_a"])
    return score


def general(inputs: Numbers, params: Numbers) -> Numbers:
    return luong(general_score(params), inputs)


def concat(inputs: Numbers, params: Numbers) -> Numbers:
    score = ConcatScore(**widths(inputs), hidden=len(params["v_a"])).double()
    put(score.joint.weight, params["W_a"])
    put(score.energy.weight, params["v_a"].unsqueeze(0))
    return luong(score, inputs)


def location(inputs: Numbers, params: Numbers) -> Numbers:
    positions, query = params["W_a"].shape
    score = LocationScore(query_width=query, max_source_positions=positions).double()
    put(score.position.weight, params["W_a"])
    return luong(score, inputs)


def local(inputs: Numbers, params: Numbers, together: bool) -> Numbers:
    """Step t after those before it, gathered; or `together`, all steps in one call."""
    predict, step = "W_p" in params, int(inputs.get("t", 0))
    attention = LocalAttention(
        score=general_score(params),
        **widths(inputs),
        hidden=len(params["v_p"]) if predict else 1,
        window=int(inputs["D"]),
        predict=predict,
        normalizer=softmax,
    ).double()
    if predict:
        put(attention.inner.weight, params["W_p"])
        put(attention.outer.weight, params["v_p"].unsqueeze(0))
    memory = attention.remember(inputs["keys"], inputs["mask"])
    query = inputs["query"].unsqueeze(1)
    if together:
        attended, row = attention(query.expand(-1, step + 2, -1), memory), step
    else:
        attended, row = attention(query, memory, attention(query.expand(-1, step, -1), memory).state), 0
    position = {"position": attention.centre(query, attention.initial_state(memory))[:, 0]} if predict else {}
    return {**position, "weights": attended.weights_BHTS[:, 0, row], "context": attended.context_BTD[:, row]}


def attentional_vector(inputs: Numbers, params: Numbers) -> Numbers:
    context, hidden = inputs["context"], inputs["hidden"]
    width = params["W_c"].shape[0]
    readout = AttentionalReadout(embedding=1, hidden=hidden.shape[1], context=context.shape[1], width=width).double()
    put(readout.joint.weight, params["W_c"])
    return {"output": readout(context, hidden, context)}


def decoder(inputs: Numbers, params: Numbers, **parts: Any) -> GruDecoder:
    built = GruDecoder(
        embedding=inputs["embedding"].shape[1],
        hidden=params["W_hh"].shape[1],
        layers=1,
        initial_width=1,
        dropout=0.0,
        **parts,
    ).double()
    layer = built.layers[0]
    for name, parameter in (("ih", layer.weight_ih), ("hh", layer.weight_hh)):
        put(parameter, params[f"W_{name}"])
    put(layer.bias_ih, params["b_ih"])
    put(layer.bias_hh, params["b_hh"])
    return built


def bahdanau_step(inputs: Numbers, params: Numbers, fast: bool) -> Numbers:
    attention = bahdanau_attention(params)
    readout = MaxoutReadout(
        embedding=inputs["embedding"].shape[1],
        hidden=params["W_hh"].shape[1],
        context=inputs["keys"].shape[2],
        width=len(params["U_o"]) // 2,
    ).double()
    for part, name in ((readout.state, "U_o"), (readout.word, "V_o"), (readout.context, "C_o")):
        put(part.weight, params[name])
    built = decoder(
        inputs,
        params,
        attention=attention,
        readout=readout,
        attend_before=True,
        input_feeding=False,
        recurrence=additive_recurrence if fast else None,
    )
    memory = attention.remember(inputs["keys"], inputs["mask"])
    decoded = built(inputs["embedding"].unsqueeze(1), memory, GruState((inputs["state"],)))
    weights = decoded.weights[0][:, 0, 0]
    return {
        "weights": weights,
        "context": torch.einsum("bs,bsd->bd", weights, inputs["keys"]),
        "state": decoded.state.hidden[0],
        "readout": decoded.readout_BTR[:, 0],
    }


def input_feeding_step(inputs: Numbers, params: Numbers) -> Numbers:
    attention = LuongAttention(score=general_score(params), key_width=inputs["keys"].shape[2], normalizer=softmax)
    readout = AttentionalReadout(
        embedding=1,
        hidden=params["W_hh"].shape[1],
        context=inputs["keys"].shape[2],
        width=params["W_c"].shape[0],
    ).double()
    put(readout.joint.weight, params["W_c"])
    built = decoder(inputs, params, attention=attention, readout=readout, attend_before=False, input_feeding=True)
    memory = attention.remember(inputs["keys"], inputs["mask"])
    state = GruState((inputs["state"],), inputs["attentional"])
    decoded = built(inputs["embedding"].unsqueeze(1), memory, state)
    weights = decoded.weights[0][:, 0, 0]
    return {
        "weights": weights,
        "context": torch.einsum("bs,bsd->bd", weights, inputs["keys"]),
        "state": decoded.state.hidden[0],
        "attentional": decoded.state.fed_BR,
    }


def cosine(inputs: Numbers, params: Numbers) -> Numbers:
    class GivenStrength(CosineScore):
        """The score, with the key strength that the case gives."""

        def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
            return cosine_scores(query_BTQ, keys_BSK, inputs["beta"].view(-1, 1, 1))

    return luong(GivenStrength(**widths(inputs)), inputs)


def ntm(inputs: Numbers, params: Numbers) -> Numbers:
    content = cosine(inputs, params)["weights"]
    gate, gamma = inputs["g"].unsqueeze(1), inputs["gamma"].unsqueeze(1)
    weights = address(content, inputs["previous_weights"], gate, inputs["shift"], gamma, inputs["mask"])
    context = torch.einsum("bs,bsd->bd", weights, inputs["keys"])
    return {"content_weights": content, "weights": weights, "context": context}


def multihead_attention(name: str, params: Numbers, causal: bool = False) -> MultiHeadAttention:
    width, query = params["W_Q"].shape
    heads = len(CASES[name]["expected"]["weights"][0])
    attention = MultiHeadAttention(
        query_width=query,
        key_width=params["W_K"].shape[1],
        width=width,
        heads=heads,
        normalizer=softmax,
        causal=causal,
    ).double()
    for part, name in ((attention.query, "Q"), (attention.key, "K"), (attention.value, "V"), (attention.output, "O")):
        put(part.weight, params[f"W_{name}"])
    return attention


def multihead(inputs: Numbers, params: Numbers) -> Numbers:
    attention = multihead_attention("multihead", params)
    attended = attention(inputs["query"], attention.remember(inputs["keys"], inputs["mask"]))
    return {"weights": attended.weights_BHTS, "output": attended.context_BTD}


def causal_self_attention(inputs: Numbers, params: Numbers, steps: tuple[int, ...] | None = None) -> Numbers:
    """All of it at once, or so many positions at a time, those before them remembered."""
    attention = multihead_attention("self_attention.causal", params, causal=True)
    x = inputs["x"]
    past, weights, outputs = None, [], []
    for part in x.split(steps or x.shape[1], dim=1):
        new = attention.remember(part, torch.ones(part.shape[:2], dtype=torch.bool))
        past = new if past is None else past.joined(new)
        attended = attention(part, past)
        weights.append(nn.functional.pad(attended.weights_BHTS, (0, x.shape[1] - past.mask_BS.shape[1])))
        outputs.append(attended.context_BTD)
    return {"weights": torch.cat(weights, dim=2), "output": torch.cat(outputs, dim=1)}


def aoa(inputs: Numbers, params: Numbers) -> Numbers:
    """Row by row, since prefixes differ in length: the query of a row is its last real prefix state."""
    width, longest = inputs["keys"].shape[2], inputs["prefix"].shape[1]
    attention = AttentionOverAttention(query_width=width, key_width=width, normalizer=softmax)
    found: dict[str, list[Tensor]] = {"beta": [], "weights": [], "context": []}
    for row, length in enumerate(inputs["prefix_mask"].sum(dim=1).tolist()):
        mask_BS = inputs["mask"][row : row + 1]
        remembered = attention.remember(inputs["keys"][row : row + 1], mask_BS)
        attended = attention(inputs["prefix"][row : row + 1, :length], remembered)
        beta_P = prefix_weights(attended.state.scores_BPS, mask_BS, 1, softmax)[0, 0]
        found["beta"].append(nn.functional.pad(beta_P, (0, longest - length)))
        found["weights"].append(attended.weights_BHTS[0, 0, -1])
        found["context"].append(attended.context_BTD[0, -1])
    return {name: torch.stack(rows) for name, rows in found.items()}


def memory(name: str) -> Callable[[Numbers, Numbers], Numbers]:
    def compute(inputs: Numbers, params: Numbers) -> Numbers:
        width, adjacent = inputs["keys"].shape[2], "E" in params
        attention = MemoryAttention(
            query_width=width,
            key_width=width,
            hops=len(CASES[name]["expected"]["hop_weights"][0]),
            adjacent=adjacent,
            temporal="T_A" in params,
            max_source_positions=inputs["keys"].shape[1],
            normalizer=softmax,
        ).double()
        put(attention.embeddings, params["E"] if adjacent else torch.stack([params["A"], params["C"]]))
        if attention.between is not None:
            put(attention.between.weight, params["H"])
        if attention.positions is not None:
            put(attention.positions, torch.stack([params["T_A"], params["T_C"]]))
        remembered = attention.remember(inputs["keys"], inputs["mask"])
        attended = attention(inputs["query"].unsqueeze(1), remembered)
        return {"hop_weights": attended.weights_BHTS[:, :, 0], "output": attended.context_BTD[:, 0]}

    return compute


class Given(Attention):
    """An attention that read what the case says."""

    def __init__(self, context_BD: Tensor) -> None:
        super().__init__()
        self.context_width = context_BD.shape[1]
        self.context_BD = context_BD

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(states_BSD, states_BSD, mask_BS)

    def forward(self, query_BTQ: Tensor, *_: Any, **__: Any) -> Attended:
        return Attended(self.context_BD.unsqueeze(1).expand(-1, query_BTQ.shape[1], -1), None)


def hierarchical(inputs: Numbers, params: Numbers) -> Numbers:
    """Learnt queries, or, where the case has a query, those made from it, and the gate."""
    batch, width, conditioned = len(inputs["words"]), inputs["words"].shape[3], "query" in inputs
    query = inputs.get("query", torch.zeros(batch, 1, dtype=torch.float64))
    attention = HierarchicalAttention(
        inner=Given(inputs.get("context", torch.zeros(batch, width, dtype=torch.float64))),
        query_width=query.shape[1],
        key_width=width,
        hidden=len(params["b_w"]),
        conditioned=conditioned,
    ).double()
    for linear, name in ((attention.word, "w"), (attention.sentence, "s")):
        put(linear.weight, params[f"W_{name}"])
        put(linear.bias, params[f"b_{name}"])
    for part, name in ((attention.word_query, "w"), (attention.sentence_query, "s")):
        put(part.weight if conditioned else part.vector, params[f"{'U' if conditioned else 'u'}_{name}"])
    if conditioned:
        put(attention.gate.weight, params["W_g"])
        put(attention.gate.bias, params["b_g"])
    states = inputs["words"][:, 0]
    memory = attention.remember(states, torch.ones(states.shape[:2], dtype=torch.bool))
    memory = attention.remember_document(memory, inputs["words"], inputs["word_mask"])
    assert torch.equal(inputs["word_mask"].any(dim=2), inputs["sentence_mask"])
    attended = attention(query.unsqueeze(1), memory)
    document, _ = attention.read(query.unsqueeze(1), memory.document)
    looked = attended.document
    found = {"word_weights": looked.words_BTKS[:, 0], "sentence_weights": looked.sentences_BTK[:, 0]}
    if not conditioned:
        joint_BTKS = looked.words_BTKS * looked.sentences_BTK.unsqueeze(-1)
        return {**found, "joint_weights": joint_BTKS[:, 0], "context": document[:, 0]}
    gate = torch.sigmoid(attention.gate(torch.cat([document[:, 0], inputs["context"]], dim=1)))
    torch.testing.assert_close(looked.gate_BT[:, 0], gate.mean(dim=1))
    return {**found, "document": document[:, 0], "gate": gate, "output": attended.context_BTD[:, 0]}


def expected_gradient(inputs: Numbers, params: Numbers) -> Numbers:
    """The mean over all draws, each as often as its weight says, of the estimate that hard attention learns from."""
    attention = HardAttention(
        query_width=1, key_width=1, hidden=1, expected_share=0.0, reward_weight=1.0, entropy_weight=0.0
    )
    gains, one = inputs["log_likelihood"], torch.ones(1, 1, dtype=torch.bool)
    estimate = torch.zeros_like(gains)
    with torch.enable_grad():
        logits = inputs["logits"].clone().requires_grad_()
        alpha = softmax(logits.view(1, 1, -1), torch.ones(1, len(gains), dtype=torch.bool))
        for position in range(len(gains)):
            drawn = attention._drawn(alpha, torch.tensor([[position]]), torch.tensor([False]))
            added, _ = score_function(gains[position].view(1, 1), one, drawn, -0.7)
            (grad,) = torch.autograd.grad(-added, logits, retain_graph=True)
            estimate += alpha[0, 0, position].detach() * grad
    found = alpha[0, 0].detach()
    return {"alpha": found, "expected": (found * gains).sum(), "gradient": estimate}


CHECKS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "bahdanau": bahdanau,
    "luong.dot": dot,
    "scaled_dot": scaled_dot,
    "luong.general": general,
    "luong.concat": concat,
    "luong.location": location,
    **{f"luong.{variant}": partial(local, together=False) for variant in ("local_m", "local_p")},
    "luong.attentional_vector": attentional_vector,
    "bahdanau.decoder_step": lambda inputs, params: bahdanau_step(inputs, params, fast=False),
    "luong.input_feeding_step": input_feeding_step,
    "cosine": cosine,
    "ntm": ntm,
    "hard.expected_gradient": expected_gradient,
    "multihead": multihead,
    "self_attention.causal": causal_self_attention,
    "aoa": aoa,
    "hierarchical": hierarchical,
    "hierarchical.conditioned": hierarchical,
    **{name: memory(name) for name in ("memory.adjacent", "memory.layerwise", "memory.temporal")},
}


def check(name: str, compute: Callable[[Numbers, Numbers], Numbers]) -> None:
    case = CASES[name]
    inputs, params, expected = (tensors(case[part]) for part in ("inputs", "params", "expected"))
    with torch.no_grad():
        found = compute(inputs, params)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=0.0, atol=1e-5, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", CHECKS)
def test_golden(name: str) -> None:
    check(name, CHECKS[name])


@pytest.mark.parametrize("name", ["luong.local_m", "luong.local_p"])
def test_golden_local_all_steps_at_once(name: str) -> None:
    check(name, partial(local, together=True))


def test_golden_self_attention_a_few_positions_at_a_time() -> None:
    length = len(CASES["self_attention.causal"]["inputs"]["x"][0])
    for first in range(1, length):
        check("self_attention.causal", partial(causal_self_attention, steps=(first, length - first)))
    check("self_attention.causal", partial(causal_self_attention, steps=(1,) * length))


def test_golden_fast_recurrence() -> None:
    check("bahdanau.decoder_step", lambda inputs, params: bahdanau_step(inputs, params, fast=True))
