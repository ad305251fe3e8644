"""Guided alignment in a whole training: attention learns the links, and nothing else changes."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.attention.hard import HardAttention
from nmt.attention.normalizers import softmax
from nmt.checkpoint import RunFolder, read_tensors
from nmt.config.schema import Config
from nmt.data.batching import Example, make_batch
from nmt.data.corpus import read_lines
from nmt.data.tokenizer import Tokenizer
from nmt.errors import CheckpointError, DataError
from nmt.experiment import train as experiment
from nmt.experiment.guided import guide_of
from nmt.experiment.run import Run, model_of
from nmt.experiment.texts import read_texts, training_examples
from nmt.experiment.train import resume_training, start_training
from nmt.training.loss import guided_alignment
from nmt.training.update import Guide

Make = Callable[..., Config]

TRANSFORMER = "{type: transformer, hidden: 16, layers: 2, heads: 2, feed_forward: 32}"
KINDS = {
    "bahdanau": (),
    "luong": ("model.attention={type: luong}",),
    "without feeding": ("model.attention={type: luong, input_feeding: false}",),
    "local_m": ("model.attention={type: local, variant: local_m, window: 3}",),
    "local_p": ("model.attention={type: local, variant: local_p, window: 3}",),
    "soft": ("model.attention={type: soft}",),
    "hard": ("model.attention={type: hard}",),
    "attention over attention": ("model.attention={type: attention_over_attention}",),
    "multihead": ("model.attention={type: multihead, heads: 2}",),
    "one head": ("model.attention={type: multihead, heads: 2}", "alignment.head=1"),
    "memory": ("model.attention={type: memory}",),
    "ntm": ("model.attention={type: ntm}",),
    "transformer": (f"model.encoder={TRANSFORMER}", f"model.decoder={TRANSFORMER}"),
}


def guided(corpus: Any, *changes: str) -> tuple[str, ...]:
    """Changes to the tiny config: its links are taught, without dropout."""
    taught = f"training.guided_alignment={{links: {corpus.folder}/train.links, weight: 1.0}}"
    return (taught, "model.dropout=0.0", *changes)


def updates(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in read_lines(folder / "metrics.jsonl")]
    return [one for one in found if one["event"] == "update"]


@pytest.mark.parametrize("kind", KINDS)
def test_attention_learns_the_links(kind: str, tiny_config: Make, corpus: Any, tmp_path: Path) -> None:
    """After 60 updates the term has fallen, and so has AER, measured against that after a single update."""
    fast = ("training.learning_rate=0.02", "training.batch_tokens=512", "training.validate_every=60")
    scores = []
    for steps in (1, 60):
        changes = guided(corpus, *KINDS[kind], *fast, f"training.max_steps={steps}", "training.log_every=1")
        trained = start_training(tiny_config(*changes), tmp_path / str(steps), device="cpu")
        scores.append(trained.scores["aer"]["value"])
    terms = [one["guided"] for one in updates(tmp_path / "60")]
    assert sum(terms[-5:]) < 0.75 * sum(terms[:5])
    assert scores[1] < scores[0] - 0.1


def test_the_term_and_nothing_else_is_new(tiny_config: Make, corpus: Any, tmp_path: Path) -> None:
    """The first loss is that of a training without links; only later ones differ."""
    common = ("data.test=null", "training.max_steps=3", "training.log_every=1")
    start_training(tiny_config("model.dropout=0.0", *common), tmp_path / "plain", device="cpu")
    start_training(tiny_config(*guided(corpus, *common)), tmp_path / "guided", device="cpu")
    plain, taught = updates(tmp_path / "plain"), updates(tmp_path / "guided")
    assert taught[0]["loss"] == pytest.approx(plain[0]["loss"], rel=1e-5)
    assert taught[2]["loss"] != plain[2]["loss"]
    assert ["guided" in one for one in (*plain, *taught)] == [False] * 3 + [True] * 3


def test_an_interrupted_training_goes_on_exactly(
    tiny_config: Make, corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stopper(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
        asked = iter([False] * 11)
        yield lambda: next(asked, True)

    config = tiny_config(*guided(corpus, "data.test=null", "training.max_steps=25"))
    start_training(config, tmp_path / "whole", device="cpu")
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "stop_on_interrupt", stopper)
        assert start_training(config, tmp_path / "parts", device="cpu").interrupted
    resume_training(config, tmp_path / "parts", device="cpu")
    whole, parts = (read_tensors(RunFolder(tmp_path / name).state_file)[0] for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_changed_links_are_noticed_before_going_on(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    config = tiny_config(*guided(own_corpus, "data.test=null", "training.max_steps=2"), of=own_corpus)
    start_training(config, tmp_path / "run", device="cpu")
    links = own_corpus.folder / "train.links"
    links.write_text(links.read_text(encoding="utf-8").replace("1-1", "1-0", 1), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"texts .* have changed"):
        resume_training(None, tmp_path / "run", changes=["training.max_steps=3"], device="cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n1-1\n0-0 77-1\n" + "0-0\n" * 37, r"train\.links:3: .*77-1"),
        ("0-0\n1-1\n0-0 1-77\n" + "0-0\n" * 37, r"train\.links:3: .*1-77"),
        ("0-0\n0=0\n" + "0-0\n" * 38, r"train\.links:2: '0=0' is not a link"),
        ("0-0\n", r"train\.links has 1 lines but .*train\.en has 40"),
        ("\n" * 39 + "0p0\n", r"train\.links: has no sure link \(i-j\)"),
        (None, r"train\.links: no such file of links"),
    ],
)
def test_links_that_do_not_fit_are_named_and_nothing_is_written(
    tiny_config: Make, own_corpus: Any, tmp_path: Path, content: str | None, message: str
) -> None:
    links = own_corpus.folder / "train.links"
    links.unlink() if content is None else links.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message) as error:
        start_training(tiny_config(*guided(own_corpus), of=own_corpus), tmp_path / "run", device="cpu")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def owners(tokenizer: Tokenizer, line: str) -> list[int]:
    """The word of each piece: that of its first character that can be seen, or of the next one."""
    starts = [
        next(at for at in range(start, len(line)) if line[at] != " ") for start, _ in tokenizer.encode(line).spans
    ]
    return [line[:start].count(" ") for start in starts]


def test_pairs_keep_their_own_links_whatever_is_left_out(
    tiny_config: Make, own_corpus: Any, tokenizer: Tokenizer
) -> None:
    """Blank and long pairs are left out, others held out; of the rest, word i is linked to word i alone."""
    for ending, blank in (("en", 3), ("de", 5)):
        path = own_corpus.folder / f"train.{ending}"
        lines = own_corpus.lines(f"train.{ending}")
        lines[blank] = ""
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path = own_corpus.folder / "train.links"
    lines = own_corpus.lines("train.links")
    lines[3] = lines[5] = ""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    changes = guided(own_corpus, "data.valid=null", "data.hold_out=4", "data.max_length=12")
    config = tiny_config(*changes, of=own_corpus)
    texts = read_texts(config)
    assert len(texts.train) == 34
    examples = training_examples(config, texts.train, tokenizer, tokenizer)
    assert 0 < len(examples) < 34
    lines_of = {
        (tokenizer.encode(one).numbers, tokenizer.encode(other).numbers): (one, other)
        for one, other in zip(texts.train.source, texts.train.target, strict=True)
    }
    for example in examples:
        source, target = (owners(tokenizer, line) for line in lines_of[example.source, example.target])
        expected = [tuple(s for s, word in enumerate(source) if word == own) for own in target]
        assert list(example.links) == expected
        assert all(expected)


def test_the_map_that_is_taught_is_the_one_that_alignments_are_read_from(
    tiny_config: Make, corpus: Any, tokenizer: Tokenizer, opened: Run
) -> None:
    def guide(*changes: str) -> Guide | None:
        config = tiny_config(*changes)
        model = model_of(config, tokenizer, tokenizer)
        return guide_of(Run(opened.folder, config, model, tokenizer, tokenizer, opened.device))

    taught, multihead = guided(corpus), "model.attention={type: multihead, heads: 4}"
    own, layers = "training.guided_alignment", KINDS["transformer"]
    assert guide() is None
    assert guide(*taught) == Guide(1.0, 0, None)
    assert guide(*taught, multihead) == Guide(1.0, 0, None)
    assert guide(*taught, multihead, "alignment.head=2") == Guide(1.0, 0, 2)
    assert guide(*taught, multihead, "alignment.head=2", f"{own}.head=3") == Guide(1.0, 0, 3)
    assert guide(*taught, *KINDS["memory"]) == Guide(1.0, 0, -1)
    assert guide(*taught, *layers) == Guide(1.0, 0, None)
    assert guide(*taught, *layers, "alignment.layer=1") == Guide(1.0, 1, None)
    assert guide(*taught, *layers, "alignment.layer=1", f"{own}.layer=0", f"{own}.head=1") == Guide(1.0, 0, 1)


def test_of_draws_the_distribution_is_taught() -> None:
    """Weights of draws are one-hot; what is taught are the weights before, which have a gradient."""
    torch.manual_seed(0)
    attention = HardAttention(
        query_width=3, key_width=4, hidden=5, expected_share=0.0, reward_weight=1.0, entropy_weight=0.0
    ).train()
    query_BTQ, states_BSD = torch.randn(2, 3, 3), torch.randn(2, 4, 4)
    mask_BS = torch.tensor([[True] * 4, [True, True, False, False]])
    attended = attention(query_BTQ, attention.remember(states_BSD, mask_BS))
    assert attended.drawn is not None
    assert attended.weights_BHTS is not None
    assert set(attended.weights_BHTS.flatten().tolist()) == {0.0, 1.0}
    alpha_BTS = softmax(attention.score(query_BTQ, attention.score.project(states_BSD)), mask_BS)
    torch.testing.assert_close(attended.drawn.alpha_BTS, alpha_BTS)
    taught, _ = guided_alignment(attended.drawn.alpha_BTS, alpha_BTS.detach())
    assert all(grad is not None for grad in torch.autograd.grad(taught, list(attention.parameters())))


@pytest.mark.parametrize("kind", ["bahdanau", "without feeding", "multihead"])
def test_fast_paths_teach_what_plain_steps_do(kind: str, tiny_config: Make, tokenizer: Tokenizer) -> None:
    """The gradient of the term, of all steps at once and of one step after the other."""
    torch.manual_seed(1)
    model = model_of(tiny_config(*KINDS[kind], "model.dropout=0.0"), tokenizer, tokenizer).double()
    batch = make_batch(
        [Example((5, 6, 7), (8, 9), links=((0, 2), (1,))), Example((5, 6), (7, 8, 9), links=((1,), (), (0,)))]
    )
    assert batch.links_BTS is not None
    inputs = (batch.source_BS, batch.source_mask_BS, batch.previous_BT)
    together = model.train()(*inputs).distribution(0, None)
    state, steps = model.start(*inputs[:2]), []
    for previous_B1 in batch.previous_BT.split(1, dim=1):
        decoded = model.eval().decode(previous_B1, state)
        steps.append(decoded.distribution(0, None))
        state = type(state)(state.memory, decoded.state)
    found, expected = (
        torch.autograd.grad(
            guided_alignment(alpha_BTS, batch.links_BTS)[0], list(model.parameters()), allow_unused=True
        )
        for alpha_BTS in (together, torch.cat(steps, dim=1))
    )
    assert any(grad is not None and grad.any() for grad in found)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_the_run_goes_to_another_machine_without_the_links(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    config = tiny_config(*guided(own_corpus, "data.test=null", "training.max_steps=2"), of=own_corpus)
    start_training(config, tmp_path / "run", device="cpu")
    shutil.rmtree(own_corpus.folder)
    assert RunFolder(tmp_path / "run").config() == config
