"""Transformers, whole and in parts: against torch's own layers, search against teacher forcing, who sees what when.

The mixes are of every encoder and decoder, convolutions included.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmt.attention import ATTENTIONS
from nmt.config.model import ModelSection
from nmt.data.batching import Example
from nmt.decoding.beam import beam_search
from nmt.decoding.forced import forced_decode
from nmt.decoding.greedy import greedy_search
from nmt.decoding.search import SearchSettings
from nmt.model.build import build_model
from nmt.model.convolution import ConvolutionalEncoder
from nmt.model.encoders import Encoded
from nmt.model.positions import LearnedPositions, PositionedInputs, SinusoidalPositions
from nmt.model.seq2seq import SearchState, Seq2Seq
from nmt.model.transformer import TransformerDecoder, TransformerEncoder
from nmt.model.transformer_layers import DecoderLayer, EncoderLayer, SelfAttention
from tests.model.steps import close, forced, stepped

Setting = dict[str, Any]

PIECES, EMBEDDING, ENCODER, DECODER, HEADS, INNER, LAYERS = 9, 5, 8, 6, 2, 10, 2
LENGTHS, STEPS = (5, 1, 3), 5

GRU: Setting = {"type": "gru", "layers": LAYERS}
TRANSFORMER: Setting = {"type": "transformer", "layers": LAYERS, "heads": HEADS, "feed_forward": INNER}
POST: Setting = {**TRANSFORMER, "norm": "post", "activation": "gelu", "positions": "learned", "max_positions": 7}
CONV: Setting = {"type": "conv", "layers": LAYERS, "kernel": 5}
SELF: Setting = {"type": "gru", "layers": LAYERS, "self_attention": True, "heads": HEADS}

MIXES: dict[str, tuple[Setting, Setting]] = {
    "pre": (TRANSFORMER, TRANSFORMER),
    "post": (POST, POST),
    "pre-post": (TRANSFORMER, POST),
    "gru-transformer": (GRU, TRANSFORMER),
    "transformer-gru": (TRANSFORMER, GRU),
    "post-gru": (POST, GRU),
    "self-gru": (SELF, GRU),
    "self-transformer": (SELF, POST),
    "conv-gru": (CONV, GRU),
    "conv-transformer": (CONV, POST),
}
every_mix = pytest.mark.parametrize("mix", MIXES)
with_transformer_decoder = pytest.mark.parametrize(
    "mix", [mix for mix, (_, one) in MIXES.items() if one["type"] != "gru"]
)


def build(
    encoder: Setting,
    decoder: Setting,
    *,
    dtype: torch.dtype = torch.float64,
    dropout: float = 0.0,
    fresh: bool = False,
    **model: object,
) -> Seq2Seq:
    """A small model with no parameter at 0 unless `fresh`, in evaluation; all widths differ."""
    section = ModelSection.model_validate(
        {
            "embedding": EMBEDDING,
            "dropout": dropout,
            "encoder": {"hidden": ENCODER, **encoder},
            "decoder": {"hidden": DECODER, **decoder},
            **model,
        }
    )
    torch.manual_seed(0)
    built = build_model(section, source_vocabulary=PIECES, target_vocabulary=PIECES, shared=True).to(dtype)
    if not fresh:
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.normal_(std=0.5)
    return built.eval()


def texts(lengths: Sequence[int] = LENGTHS, steps: int = STEPS) -> tuple[Tensor, Tensor, Tensor]:
    """Sources with their mask, and previous target pieces."""
    generator = torch.Generator().manual_seed(1)
    mask_BS = torch.arange(max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    source_BS = torch.randint(1, PIECES, mask_BS.shape, generator=generator).masked_fill(~mask_BS, 0)
    return source_BS, mask_BS, torch.randint(1, PIECES, (len(lengths), steps), generator=generator)


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def changed(before_BTX: Tensor, after_BTX: Tensor) -> list[bool]:
    """Of each step, whether anything differs."""
    return [not a.equal(b) for a, b in zip(before_BTX.unbind(1), after_BTX.unbind(1), strict=True)]


# Search and teacher forcing


@every_mix
@pytest.mark.parametrize("embedding", [EMBEDDING, ENCODER, DECODER])
def test_search_steps_are_teacher_forcing(mix: str, embedding: int) -> None:
    with torch.inference_mode():
        for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
            model = build(*MIXES[mix], dtype=dtype, embedding=embedding)
            logits_BTV, weights = stepped(model, texts())
            expected_BTV, expected = forced(model, texts())
            close(logits_BTV, expected_BTV, tolerance)
            for layer, expected_layer in zip(weights, expected, strict=True):
                close(layer, expected_layer, tolerance)


@every_mix
@pytest.mark.parametrize("first", [1, 2, 4])
def test_a_forced_pass_may_stop_and_go_on(mix: str, first: int) -> None:
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts()
    start = model.start(source_BS, mask_BS)
    one = model.decode(previous_BT[:, :first], start)
    two = model.decode(previous_BT[:, first:], SearchState(start.memory, one.state))
    close(torch.cat([one.readout_BTR, two.readout_BTR], dim=1), model(source_BS, mask_BS, previous_BT).readout_BTR)


@every_mix
@pytest.mark.parametrize("within", [False, True])
def test_reordered_hypotheses_go_on_as_themselves(mix: str, within: bool) -> None:
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts()
    if within:  # three hypotheses of one sentence, that have begun alike or not
        source_BS, mask_BS = source_BS[:1].expand(3, -1), mask_BS[:1].expand(3, -1)
    index = torch.tensor([2, 0, 1] if within else [2, 0, 0, 1])
    state = model.start(source_BS, mask_BS)
    for previous_N in previous_BT[:, :2].unbind(1):
        state = model.step(previous_N, state).state
    state, logits = state.reorder(index, within=within), []
    for previous_N in previous_BT[index, 2:].unbind(1):
        step = model.step(previous_N, state)
        state = step.state
        logits.append(step.logits_NV)
    expected_BTV, _ = forced(model, (source_BS, mask_BS, previous_BT))
    close(torch.stack(logits, dim=1), expected_BTV[index, 2:])


@every_mix
@pytest.mark.parametrize("beam", [1, 3])
def test_what_search_finds_has_the_probability_of_a_forced_pass(mix: str, beam: int) -> None:
    model = build(*MIXES[mix], dtype=torch.float32)
    sources = [(4, 5, 6, 7), (8,), (5, 5, 4)]
    settings = SearchSettings(beam=beam, length_penalty=1.0, max_length_ratio=1.0, max_length_add=2)
    device = torch.device("cpu")
    if beam == 1:
        found = [[one] for one in greedy_search(model, sources, settings, device)]
    else:
        found = beam_search(model, sources, settings, device, wanted=beam)
    pairs = [
        (Example(source, hypothesis.pieces), hypothesis.log_probability)
        for source, hypotheses in zip(sources, found, strict=True)
        for hypothesis in hypotheses
    ]
    again = forced_decode(model, [example for example, _ in pairs], batch_size=2, device=device)
    for one, (_, log_probability) in zip(again, pairs, strict=True):
        assert float(one.log_probabilities.sum()) == pytest.approx(log_probability, abs=1e-3)


# Padding


@every_mix
def test_padding_and_neighbours_change_nothing(mix: str) -> None:
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts()
    pad = torch.nn.functional.pad
    parts = (pad(source_BS, (0, 2), value=7), pad(mask_BS, (0, 2)), previous_BT)
    logits_BTV, weights = forced(model, parts)
    summary_BD = model.encode(*parts[:2]).summary_BD
    for row, length in enumerate(LENGTHS):
        steps = STEPS - row  # its target is padded, too
        alone = (source_BS[row : row + 1, :length], mask_BS[row : row + 1, :length], previous_BT[row : row + 1, :steps])
        expected_1TV, expected = forced(model, alone)
        close(logits_BTV[row, :steps], expected_1TV[0])
        close(summary_BD[row], model.encode(*alone[:2]).summary_BD[0])
        for layer, expected_layer in zip(weights, expected, strict=True):
            close(layer[row, :, :steps, :length], expected_layer[0])
            assert (layer[row, :, :, length:] == 0).all()


@every_mix
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_source_without_a_real_token_is_no_reason_for_nan(mix: str, need_weights: bool) -> None:
    model = build(*MIXES[mix])
    parts = texts((3, 0))
    encoded = model.encode(*parts[:2])
    assert (encoded.states_BSD[1] == 0).all()
    assert (encoded.summary_BD[1] == 0).all()
    decoded = model(*parts, need_weights=need_weights)
    assert decoded.readout_BTR.isfinite().all()
    assert all((layer[1] == 0).all() for layer in decoded.weights)
    decoded.readout_BTR.square().sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())


# Who sees what when


@every_mix
@pytest.mark.parametrize("place", [0, 2, STEPS - 1])
@pytest.mark.parametrize("need_weights", [True, False])
def test_an_input_changes_nothing_before_it(mix: str, place: int, need_weights: bool) -> None:
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts()
    other_BT = previous_BT.clone()
    other_BT[:, place] = previous_BT[:, place] % (PIECES - 1) + 1
    before, after = (
        model(source_BS, mask_BS, given, need_weights=need_weights).readout_BTR for given in (previous_BT, other_BT)
    )
    assert changed(before, after) == [step >= place for step in range(STEPS)]


@every_mix
def test_a_source_word_is_seen_by_all_words_of_its_sentence_and_no_other(mix: str) -> None:
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts()
    other_BS = source_BS.clone()
    other_BS[0, 3] = source_BS[0, 3] % (PIECES - 1) + 1
    before, after = model.encode(source_BS, mask_BS), model.encode(other_BS, mask_BS)
    assert all(changed(before.states_BSD[:1], after.states_BSD[:1]))
    assert before.states_BSD[1:].equal(after.states_BSD[1:])
    logits = [forced(model, (source, mask_BS, previous_BT))[0] for source in (source_BS, other_BS)]
    assert all(changed(logits[0][:1], logits[1][:1]))
    assert logits[0][1:].equal(logits[1][1:])


@every_mix
def test_order_matters(mix: str) -> None:
    """Without positions a Transformer would see a bag of words."""
    model = build(*MIXES[mix])
    source_BS, mask_BS, previous_BT = texts((5,))
    logits = forced(model, (source_BS, mask_BS, previous_BT))[0]
    assert not torch.allclose(forced(model, (source_BS.flip(1), mask_BS, previous_BT))[0], logits)
    swapped_BT = previous_BT[:, [1, 0, 2, 3, 4]]
    assert not torch.allclose(forced(model, (source_BS, mask_BS, swapped_BT))[0][:, -1], logits[:, -1])


@with_transformer_decoder
def test_weights_are_one_tensor_a_layer(mix: str) -> None:
    model = build(*MIXES[mix])
    assert model.decoder.attending_layers == LAYERS
    assert (model.decoder.has_weights, model.decoder.last_map, model.decoder.draws) == (True, False, False)
    for weights in (forced(model, texts())[1], stepped(model, texts())[1]):
        assert len(weights) == LAYERS
        for layer in weights:
            assert layer.shape == (len(LENGTHS), HEADS, STEPS, max(LENGTHS))
            close(layer.sum(dim=-1), torch.ones(layer.shape[:-1], dtype=torch.float64))
    first, second = forced(model, texts())[1]
    assert not torch.allclose(first, second)


@with_transformer_decoder
def test_without_weights_the_numbers_are_the_same(mix: str) -> None:
    model = build(*MIXES[mix])
    asked, unasked = model(*texts()), model(*texts(), need_weights=False)
    assert unasked.weights == ()
    close(unasked.readout_BTR, asked.readout_BTR)


def test_cross_attention_has_the_normalizer_of_the_attention() -> None:
    attention = {"type": "multihead", "normalizer": "sparsemax"}
    weights = forced(build(TRANSFORMER, TRANSFORMER, attention=attention), texts())[1]
    assert any((layer[0] == 0).any() for layer in weights)


# An encoder without a direction under a GRU decoder


@pytest.mark.parametrize("encoder", [TRANSFORMER, CONV], ids=["transformer", "conv"])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_reads_the_states(name: str, encoder: Setting) -> None:
    heads = {"heads": HEADS} if name == "multihead" else {}
    hidden = {"hidden": ENCODER} if name in ("memory", "attention_over_attention") else {}
    model = build(encoder, {**GRU, **hidden}, attention={"type": name, **heads})
    close(stepped(model, texts())[0], forced(model, texts())[0])
    source_BS, mask_BS, previous_BT = texts()
    alone = forced(model, (source_BS[1:2, :1], mask_BS[1:2, :1], previous_BT[1:2]))[0]
    close(forced(model, texts())[0][1:2], alone)


@pytest.mark.parametrize("encoder", [TRANSFORMER, CONV], ids=["transformer", "conv"])
@pytest.mark.parametrize("attention", ["bahdanau", "none"])
def test_a_gru_decoder_starts_from_the_mean_of_the_states(attention: str, encoder: Setting) -> None:
    model = build(encoder, GRU, attention={"type": attention})
    source_BS, mask_BS, _ = texts()
    encoded = model.encode(source_BS, mask_BS)
    mean = torch.stack([encoded.states_BSD[row, :length].mean(dim=0) for row, length in enumerate(LENGTHS)])
    close(encoded.summary_BD, mean)
    state = model.start(source_BS, mask_BS)
    for bridge, hidden_BH in zip(model.decoder.bridges, state.decoder.hidden, strict=True):
        close(hidden_BH, torch.tanh(mean @ bridge.weight.t() + bridge.bias))
    if attention == "none":
        close(state.memory.values_BSD[:, 0], mean)


# Against torch's layers


def copy_attention(target: nn.MultiheadAttention, source: nn.Module) -> None:
    target.in_proj_weight.data = torch.cat([part.weight.data for part in (source.query, source.key, source.value)])
    target.out_proj.weight.data = source.output.weight.data.clone()
    assert target.in_proj_bias is None or not target.in_proj_bias.any(), "torch's start at 0, ours are none"


def copy(target: nn.Linear | nn.LayerNorm, source: nn.Module) -> None:
    for name, parameter in source.named_parameters():
        assert getattr(target, name).shape == parameter.shape
        getattr(target, name).data = parameter.data.clone()


def options(setting: Setting, activation: str) -> dict[str, Any]:
    return {
        "nhead": HEADS,
        "dim_feedforward": INNER,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": setting["norm"] == "pre",
    }


every_layer = pytest.mark.parametrize(
    ("norm", "activation"), [("pre", "relu"), ("pre", "gelu"), ("post", "relu"), ("post", "gelu")]
)


@every_layer
def test_an_encoder_layer_is_torchs(norm: str, activation: str) -> None:
    setting = {**TRANSFORMER, "norm": norm, "activation": activation}
    ours = build(setting, GRU).encoder.layers[0]
    assert isinstance(ours, EncoderLayer)
    theirs = nn.TransformerEncoderLayer(ENCODER, **options(setting, activation)).double()
    copy_attention(theirs.self_attn, ours.self_attention.attention)
    copy(theirs.norm1, ours.self_attention.residual.norm)
    copy(theirs.linear1, ours.feed_forward.inner)
    copy(theirs.linear2, ours.feed_forward.outer)
    copy(theirs.norm2, ours.feed_forward.residual.norm)
    mask_BS, x_BSD = texts()[1], random(len(LENGTHS), max(LENGTHS), ENCODER, seed=1)
    for training in (True, False):  # torch has another path for each
        with torch.set_grad_enabled(training):
            expected = theirs.train(training)(x_BSD, src_key_padding_mask=~mask_BS)
        found, _ = ours.train(training)(x_BSD, mask_BS, False)
        close(found[mask_BS], expected[mask_BS], 1e-8)


@every_layer
def test_a_decoder_layer_is_torchs(norm: str, activation: str) -> None:
    setting = {**TRANSFORMER, "norm": norm, "activation": activation}
    built = build({**TRANSFORMER, "hidden": DECODER}, setting)
    ours = built.decoder.layers[0]
    assert isinstance(ours, DecoderLayer)
    theirs = nn.TransformerDecoderLayer(DECODER, **options(setting, activation)).double()
    copy_attention(theirs.self_attn, ours.self_attention.attention)
    copy_attention(theirs.multihead_attn, ours.cross_attention.attention)
    copy(theirs.norm1, ours.self_attention.residual.norm)
    copy(theirs.norm2, ours.cross_attention.residual.norm)
    copy(theirs.norm3, ours.feed_forward.residual.norm)
    copy(theirs.linear1, ours.feed_forward.inner)
    copy(theirs.linear2, ours.feed_forward.outer)
    mask_BS = texts()[1]
    states_BSD, x_BTD = random(*mask_BS.shape, DECODER, seed=1), random(len(LENGTHS), STEPS, DECODER, seed=2)
    expected = theirs(
        x_BTD,
        states_BSD,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(STEPS, dtype=torch.float64),
        memory_key_padding_mask=~mask_BS,
    )
    memory = ours.cross_attention.attention.remember(states_BSD, mask_BS)
    past = ours.self_attention.attention.remember(x_BTD[:, :0], torch.ones(len(LENGTHS), 0, dtype=torch.bool))
    for need_weights in (True, False):
        close(ours(x_BTD, memory, past, need_weights)[0], expected, 1e-8)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_stack_has_a_norm_above_it_with_pre_norm_alone(norm: str) -> None:
    model = build({**TRANSFORMER, "norm": norm}, {**TRANSFORMER, "norm": norm})
    source_BS, mask_BS, previous_BT = texts()
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TransformerEncoder)
    assert isinstance(decoder, TransformerDecoder)
    states_BSD = encoder.inputs(model.source_embedding(source_BS))
    for layer in encoder.layers:
        states_BSD, _ = layer(states_BSD, mask_BS, False)
    states_BSD = encoder.norm(states_BSD) if norm == "pre" else states_BSD
    assert (encoder.norm is None) == (decoder.norm is None) == (norm == "post")
    encoded = model.encode(source_BS, mask_BS)
    close(encoded.states_BSD, states_BSD.masked_fill(~mask_BS.unsqueeze(-1), 0.0))
    start = model.start(source_BS, mask_BS)
    x_BTD = decoder.inputs(model.target_embedding(previous_BT))
    for layer, memory, past in zip(decoder.layers, start.memory.layers, start.decoder.past, strict=True):
        x_BTD, _, _ = layer(x_BTD, memory, past, True)
    x_BTD = decoder.norm(x_BTD) if norm == "pre" else x_BTD
    assert model.narrow is not None
    close(model(source_BS, mask_BS, previous_BT).readout_BTR, model.narrow(x_BTD))


def test_self_attention_on_a_gru_is_norm_of_states_and_what_they_read() -> None:
    plain, model = build(GRU, GRU), build(SELF, GRU)
    own = dict(plain.encoder.named_parameters())
    for name, parameter in model.encoder.named_parameters():
        if name in own:
            parameter.data = own[name].data.clone()
    model.source_embedding.weight.data = plain.source_embedding.weight.data.clone()
    source_BS, mask_BS, _ = texts()
    before, after = plain.encode(source_BS, mask_BS), model.encode(source_BS, mask_BS)
    layer = model.encoder.self_attention
    assert isinstance(layer, SelfAttention)
    memory = layer.attention.remember(before.states_BSD, mask_BS)
    read_BSD = layer.attention(before.states_BSD, memory).context_BTD
    expected = layer.residual.norm(before.states_BSD + read_BSD).masked_fill(~mask_BS.unsqueeze(-1), 0.0)
    close(after.states_BSD, expected)
    close(after.summary_BD, before.summary_BD)


# Where an encoder's words looked


@every_mix
def test_an_encoder_tells_where_its_words_looked_if_asked_and_reads_the_same(mix: str) -> None:
    model, (source_BS, mask_BS, _) = build(*MIXES[mix]), texts()
    encoder = MIXES[mix][0]
    plain, asked = model.encode(source_BS, mask_BS), model.encode(source_BS, mask_BS, need_weights=True)
    layers = 1 if encoder is SELF else {"transformer": LAYERS}.get(encoder["type"], 0)
    assert plain.weights == ()
    assert len(asked.weights) == model.encoder.attending_layers == layers
    close(asked.states_BSD, plain.states_BSD)
    close(asked.summary_BD, plain.summary_BD)
    for weights_BHSS in asked.weights:
        assert weights_BHSS.shape == (len(LENGTHS), HEADS, max(LENGTHS), max(LENGTHS))
        close(weights_BHSS.sum(dim=-1), torch.ones_like(weights_BHSS[..., 0]))
        assert not weights_BHSS.transpose(1, 3)[~mask_BS].any()


@pytest.mark.parametrize("setting", [SELF, TRANSFORMER, POST], ids=["self-gru", "pre", "post"])
def test_these_weights_are_torchs(setting: Setting) -> None:
    """Of the lowest layer that attends, whose input can be made here."""
    model, (source_BS, mask_BS, _) = build(setting, GRU), texts()
    encoder, embedded_BSE = model.encoder, model.source_embedding(source_BS)
    if isinstance(encoder, TransformerEncoder):
        layer, read_BSD = encoder.layers[0].self_attention, encoder.inputs(embedded_BSE)
    else:
        layer, encoder.self_attention = encoder.self_attention, None
        read_BSD = encoder(embedded_BSE, mask_BS).states_BSD
        encoder.self_attention = layer
    theirs = nn.MultiheadAttention(ENCODER, HEADS, bias=False, batch_first=True).double()
    copy_attention(theirs, layer.attention)
    query_BSD = layer.residual.enter(read_BSD)
    _, expected = theirs(query_BSD, query_BSD, query_BSD, key_padding_mask=~mask_BS, average_attn_weights=False)
    close(model.encode(source_BS, mask_BS, need_weights=True).weights[0], expected)


@pytest.mark.parametrize("setting", [SELF, TRANSFORMER], ids=["self-gru", "transformer"])
def test_weights_of_a_source_do_not_depend_on_its_neighbours(setting: Setting) -> None:
    model, (source_BS, mask_BS, _) = build(setting, GRU), texts()
    together = model.encode(source_BS, mask_BS, need_weights=True).weights
    for row, length in enumerate(LENGTHS):
        alone = model.encode(source_BS[row : row + 1, :length], mask_BS[row : row + 1, :length], need_weights=True)
        for one, other in zip(together, alone.weights, strict=True):
            close(one[row, :, :length, :length], other[0])


# Positions


def test_sinusoidal_positions_are_those_of_the_paper() -> None:
    """P(t, 2i) = sin(t / 10000^(2i/4)), P(t, 2i + 1) = cos(…): frequencies 1 and 1/100, worked out by hand."""
    expected = torch.tensor(
        [
            [0.0, 1.0, 0.0, 1.0],
            [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
            [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
            [0.1411200081, -0.9899924966, 0.0299955002, 0.9995500337],
        ],
        dtype=torch.float64,
    )
    positions = SinusoidalPositions(width=4)
    close(positions(0, 4, expected), expected, 1e-9)
    close(positions(2, 2, expected), expected[2:], 1e-9)
    close(SinusoidalPositions(width=3)(0, 4, expected)[:, :2], expected[:, :2], 1e-9)
    assert positions(0, 4, expected.to(torch.bfloat16)).dtype == torch.float32
    far = positions(100_000, 1, expected.float())
    assert float(far[0, 0]) == pytest.approx(math.sin(100_000), abs=1e-6)


def test_learned_positions_are_rows_and_those_beyond_are_the_last_with_one_warning() -> None:
    positions = LearnedPositions(width=4, max_positions=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(positions(1, 4, positions.rows), positions.rows[1:5])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for count in (4, 6):
            found = positions(3, count, positions.rows)
            close(found, positions.rows[[3, *[4] * (count - 1)]])
    assert len(caught) == 1
    assert "max_positions 5" in str(caught[0].message)


@pytest.mark.parametrize("embedding", [EMBEDDING, ENCODER])
def test_embeddings_are_scaled_and_positions_added(embedding: int) -> None:
    positions = SinusoidalPositions(width=ENCODER)
    inputs = PositionedInputs(embedding=embedding, width=ENCODER, positions=positions).double()
    x_BTE = random(2, 3, embedding, seed=1)
    wide_BTD = x_BTE if inputs.widen is None else x_BTE @ inputs.widen.weight.t()
    assert (inputs.widen is None) == (embedding == ENCODER)
    close(inputs(x_BTE, 4), math.sqrt(ENCODER) * wide_BTD + positions(4, 3, x_BTE))


# What is built and how it learns


@every_mix
@pytest.mark.parametrize("embedding", [EMBEDDING, DECODER])
def test_gradients_reach_every_parameter(mix: str, embedding: int) -> None:
    model = build(*MIXES[mix], fresh=True, embedding=embedding).train()
    model(*texts(), need_weights=False).readout_BTR.mul(random(1, 1, embedding, seed=3)).sum().backward()
    without = {name for name, one in model.named_parameters() if one.grad is None or not one.grad.any()}
    assert without == {"output_bias"}  # which is behind the readout


@every_mix
def test_fresh_matrices_are_uniform_and_biases_zero(mix: str) -> None:
    model = build(*MIXES[mix], fresh=True, dtype=torch.float32)
    found = 0
    for coder in (model.encoder, model.decoder):
        if isinstance(coder, TransformerEncoder | TransformerDecoder | ConvolutionalEncoder):
            for part in coder.modules():
                if isinstance(part, nn.Linear):
                    bound = math.sqrt(6.0 / sum(part.weight.shape))
                    assert 0.8 * bound < part.weight.abs().max() <= bound
                    assert part.bias is None or not part.bias.any()
                    found += 1
    assert found or mix == "self-gru"


@pytest.mark.parametrize("shared", [True, False])
def test_tied_embeddings_are_one_matrix(shared: bool) -> None:
    section = ModelSection.model_validate({"encoder": TRANSFORMER, "decoder": TRANSFORMER, "embedding": 256})
    model = build_model(section, source_vocabulary=PIECES, target_vocabulary=PIECES, shared=shared)
    assert model.output is model.target_embedding.weight
    assert (model.source_embedding is model.target_embedding) == shared
    assert model.narrow is None
    assert build(TRANSFORMER, TRANSFORMER, tied=False).output.shape == (PIECES, DECODER)


@every_mix
def test_dropout_acts_in_training_alone(mix: str) -> None:
    model, plain = build(*MIXES[mix], dropout=0.4), build(*MIXES[mix])
    expected = forced(plain, texts())[0]
    assert forced(model, texts())[0].equal(expected)
    model.train()
    first, second = forced(model, texts())[0], forced(model, texts())[0]
    assert not first.equal(second)
    assert forced(model.eval(), texts())[0].equal(expected)


def test_dropout_is_on_what_each_part_adds_and_inside_feed_forward() -> None:
    model = build(TRANSFORMER, TRANSFORMER, dropout=0.5).train()
    for coder, layers in ((model.encoder, 3), (model.decoder, 4)):
        dropped = [part for part in coder.modules() if type(part).__name__ == "Dropout"]
        assert len(dropped) == LAYERS * layers
        assert {part.rate for part in dropped} == {0.5}
    layer, x_BSD = model.encoder.layers[0], random(1, 4, ENCODER, seed=1)
    for part in (layer.self_attention, layer.feed_forward):
        part.residual.dropout.rate = 1.0 - 2.0**-16  # nearly all
    close(layer(x_BSD, torch.ones(1, 4, dtype=torch.bool), False)[0], x_BSD)
    layer.feed_forward.residual.dropout.rate = 0.0
    layer.feed_forward.dropout.rate = 1.0 - 2.0**-16
    close(layer.feed_forward(x_BSD), x_BSD + layer.feed_forward.outer.bias)


@every_mix
def test_bfloat16_is_close_and_sums_stay_float32(mix: str) -> None:
    model = build(*MIXES[mix], dtype=torch.float32)
    exact = model(*texts())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        encoded: Encoded = model.encode(*texts()[:2])
        assert encoded.states_BSD.dtype == encoded.summary_BD.dtype == torch.float32
        rough = model(*texts())
        unasked = model(*texts(), need_weights=False)
        stepped_BTV, _ = stepped(model, texts())
    for readout in (rough.readout_BTR, unasked.readout_BTR):
        assert torch.linalg.vector_norm(readout.float() - exact.readout_BTR) <= 0.05 * exact.readout_BTR.norm()
    assert torch.linalg.vector_norm(stepped_BTV.float() - forced(model, texts())[0]) <= 0.05 * stepped_BTV.norm()
    for layer, expected in zip(rough.weights, exact.weights, strict=True):
        assert layer.dtype == torch.float32
        close(layer, expected, 0.1)
