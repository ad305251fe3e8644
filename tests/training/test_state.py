"""A training that stops and goes on, with new objects, is the training that never stopped: bit for bit."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.checkpoint import read_tensors, write_tensors
from nmt.config.model import ModelSection
from nmt.data.batching import Batch, Example, Position, TrainingBatches, make_batch
from nmt.errors import CheckpointError
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loop import Event, Finished, Limits, Logged, Plan, Progress, Validated, train
from nmt.training.loss import token_scores
from nmt.training.optim import Schedule, make_optimizer
from nmt.training.state import capture, load_parameters, parameters, restore

PIECES, STEPS, HALF = 12, 40, 20
DEVICE = torch.device("cpu")
WORDS = range(4, PIECES)
EXAMPLES = [
    Example(text, text[::-1])
    for start in range(8)
    for length in (1, 3, 4, 6)
    for text in [tuple(WORDS[(start + place * length) % len(WORDS)] for place in range(length))]
]
ATTENTIONS = [{"type": "bahdanau"}, {"type": "luong"}, {"type": "none"}]


def section(attention: Mapping[str, Any] = ATTENTIONS[0], **changes: Any) -> ModelSection:
    values = {
        "embedding": 8,
        "dropout": 0.3,
        "attention": attention,
        "encoder": {"hidden": 8, "layers": 2},
        "decoder": {"hidden": 8, "layers": 2},
    }
    return ModelSection.model_validate({**values, **changes})


def new(seed: int, model_section: ModelSection | None = None) -> tuple[Seq2Seq, torch.optim.Adam]:
    torch.manual_seed(seed)
    model = build_model(model_section or section(), source_vocabulary=PIECES, target_vocabulary=PIECES, shared=True)
    return model, make_optimizer(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)


class RecordedBatches(TrainingBatches):
    """Batches that leave a note of what was taken."""

    def __init__(self) -> None:
        super().__init__(EXAMPLES, tokens=24, sentences=None, seed=4)
        self.taken: list[Tensor] = []

    def from_position(self, position: Position) -> Iterator[tuple[Batch, Position, int]]:
        for batch, after, per_epoch in super().from_position(position):
            self.taken.append(batch.source_BS)
            yield batch, after, per_epoch


def plan(schedule: str) -> Plan:
    return Plan(
        limits=Limits(steps=STEPS),
        schedule=Schedule(schedule, 0.01, 0.0001, 5),
        label_smoothing=0.1,
        clip=1.0,
        validate_every=3,
        log_every=1,
        metric="loss",
        sign=-1,
        patience=None,
        plateau_factor=0.7,
        plateau_patience=0,
        autocast=None,
    )


def run(
    model: Seq2Seq, optimizer: torch.optim.Adam, progress: Progress, schedule: str, until: int
) -> tuple[list[Event], list[Tensor]]:
    """Events and batches up to a step."""
    batches, everything, steps = RecordedBatches(), make_batch(EXAMPLES), [progress.step]

    def validate() -> Mapping[str, float]:
        """The loss of some pairs, with a wave on it, so that the plateau has something to do."""
        model.eval()
        with torch.inference_mode():
            readout_BTR = model(everything.source_BS, everything.source_mask_BS, everything.previous_BT).readout_BTR
            scores = token_scores(
                readout_BTR, everything.target_BT, everything.target_mask_BT, model.output, model.output_bias
            )
        return {"loss": scores.negative_log_likelihood / scores.tokens + 0.3 * (steps[-1] % 2)}

    events = []
    for event in train(
        model,
        optimizer,
        batches,
        plan(schedule),
        progress,
        device=DEVICE,
        validate=validate,
        interrupted=lambda: steps[-1] == until,
    ):
        steps.append(event.progress.step)
        events.append(event)
    return events, batches.taken[: until - progress.step]


def timeless(events: list[Event]) -> list[dict[str, Any]]:
    """What the events say, but for the time that it took."""
    found = []
    for event in events:
        if isinstance(event, Logged | Validated):
            values = asdict(replace(event, progress=replace(event.progress, seconds=0.0)))
            values.pop("tokens_per_second", None)
            found.append({"kind": type(event).__name__, **values})
    return found


def state_of(model: Seq2Seq, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in capture(model, optimizer, Progress())[0].items()}


def through_a_file(
    path: Path, model: Seq2Seq, optimizer: torch.optim.Adam, progress: Progress
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    write_tensors(path, *capture(model, optimizer, progress))
    return read_tensors(path)


def check_resume(tmp_path: Path, model_section: ModelSection, schedule: str) -> None:
    model, optimizer = new(1, model_section)
    expected, expected_batches = run(model, optimizer, Progress(), schedule, STEPS)
    expected_state = state_of(model, optimizer)

    model, optimizer = new(1, model_section)
    first, first_batches = run(model, optimizer, Progress(), schedule, HALF)
    last = first[-1]
    assert isinstance(last, Finished)
    assert last.interrupted
    assert last.progress.position.batch > 0, "the stop is in the midst of a pass"
    stored = through_a_file(tmp_path / "state", model, optimizer, last.progress)

    model, optimizer = new(99, model_section)
    torch.rand(17)
    progress = restore(model, optimizer, *stored, "state")
    assert progress == last.progress
    second, second_batches = run(model, optimizer, progress, schedule, STEPS)

    assert timeless(first) + timeless(second) == timeless(expected)
    for a, b in zip(first_batches + second_batches, expected_batches, strict=True):
        assert a.equal(b)
    found_state = state_of(model, optimizer)
    assert found_state.keys() == expected_state.keys()
    for name, tensor in expected_state.items():
        assert found_state[name].equal(tensor), name


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "cosine", "plateau"])
def test_twenty_and_twenty_steps_are_forty(tmp_path: Path, schedule: str) -> None:
    check_resume(tmp_path, section(), schedule)


@pytest.mark.parametrize("attention", ATTENTIONS[1:], ids=lambda attention: attention["type"])
def test_twenty_and_twenty_steps_are_forty_with_every_attention(tmp_path: Path, attention: dict[str, str]) -> None:
    check_resume(tmp_path, section(attention), "cosine")


def test_the_trainings_compared_have_dropout_and_reductions() -> None:
    """Without them the tests above would show less than they say."""
    model, optimizer = new(1)
    events, _ = run(model, optimizer, Progress(), "plateau", STEPS)
    reductions = {event.progress.reduction for event in events}
    assert len(reductions) > 3
    model.train()
    batch = make_batch(EXAMPLES[:4])
    parts = (batch.source_BS, batch.source_mask_BS, batch.previous_BT)
    assert not model(*parts).readout_BTR.equal(model(*parts).readout_BTR)


def test_a_state_taken_before_the_first_step(tmp_path: Path) -> None:
    model, optimizer = new(1)
    stored = through_a_file(tmp_path / "state", model, optimizer, Progress())
    drawn = torch.rand(3)
    other, other_optimizer = new(2)
    assert restore(other, other_optimizer, *stored, "state") == Progress()
    assert torch.rand(3).equal(drawn)
    assert not other_optimizer.state
    for name, tensor in parameters(model).items():
        assert parameters(other)[name].equal(tensor), name


def test_progress_survives_the_file_whole(tmp_path: Path) -> None:
    model, optimizer = new(1)
    progress = Progress(7, Position(2, 3), 2.25, 0.1 + 0.2, 1 / 3, 4, 5, 0.7**3, 1, 6)
    stored = through_a_file(tmp_path / "state", model, optimizer, progress)
    assert restore(*new(2), *stored, "state") == progress


def test_tied_weights_are_stored_once() -> None:
    model, _ = new(1)
    names = parameters(model)
    assert len({tensor.data_ptr() for tensor in names.values()}) == len(names)
    assert sum(name.endswith("embedding.weight") or name == "output" for name in names) == 1


# Another model's state


def foreign() -> dict[str, ModelSection]:
    return {
        "wider": section(encoder={"hidden": 12, "layers": 2}),
        "deeper": section(decoder={"hidden": 8, "layers": 3}),
        "other attention": section({"type": "luong"}),
        "untied": section(tied=False),
    }


@pytest.mark.parametrize("name", foreign())
def test_another_models_weights_are_refused(tmp_path: Path, name: str) -> None:
    model, optimizer = new(1, foreign()[name])
    stored = through_a_file(tmp_path / "state", model, optimizer, Progress())
    with pytest.raises(CheckpointError, match=r"state: "):
        restore(*new(1), *stored, tmp_path / "state")
    with pytest.raises(CheckpointError, match="runs/x"):
        load_parameters(new(1)[0], parameters(model), "runs/x")


def test_a_refusal_names_shapes() -> None:
    wider, _ = new(1, foreign()["wider"])
    with pytest.raises(CheckpointError, match=r"layers\.0\..* has shape \(.*\), the config asks for \(.*\)"):
        load_parameters(new(1)[0], parameters(wider), "runs/x")


def test_a_refused_state_changes_nothing() -> None:
    wider, _ = new(1, foreign()["wider"])
    model, _ = new(2)
    before = {name: tensor.clone() for name, tensor in parameters(model).items()}
    with pytest.raises(CheckpointError):
        load_parameters(model, parameters(wider), "runs/x")
    for name, tensor in parameters(model).items():
        assert tensor.equal(before[name]), name


def test_loading_copies() -> None:
    source, _ = new(1)
    target, _ = new(2)
    load_parameters(target, parameters(source), "runs/x")
    with torch.no_grad():
        source.output.add_(1.0)
    assert not target.output.equal(source.output)
