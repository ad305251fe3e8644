"""The loop on a tiny copying task: what it yields and in which order, when it stops and why, and what it never does."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch

from nmt.config.model import ModelSection
from nmt.config.training import MetricName
from nmt.data.batching import Example, Position, TrainingBatches
from nmt.errors import TrainingError
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.training import loop
from nmt.training.loop import Event, Failed, Finished, Limits, Logged, Plan, Progress, Validated, train
from nmt.training.optim import Schedule, make_optimizer

PIECES, FIRST = 10, 4
"""Size of the vocabulary, and its first piece that is a word."""

SIGNS: dict[MetricName, int] = {"bleu": 1, "chrf": 1, "accuracy": 1, "loss": -1, "perplexity": -1}
every_metric = pytest.mark.parametrize("metric", SIGNS)


def batches(tokens: int = 40) -> TrainingBatches:
    """Sentences of one to four words, each its own translation."""
    words = range(FIRST, PIECES)
    texts = [
        tuple(words[(start + step * place) % len(words)] for place in range(length))
        for start in range(6)
        for step in (1, 2)
        for length in (1, 2, 3, 4)
    ]
    return TrainingBatches([Example(text, text) for text in texts], tokens=tokens, sentences=None, seed=1)


def new_model(attention: str = "bahdanau") -> Seq2Seq:
    torch.manual_seed(2)
    section = ModelSection.model_validate(
        {
            "embedding": 16,
            "dropout": 0.0,
            "attention": {"type": attention},
            "encoder": {"hidden": 16},
            "decoder": {"hidden": 16},
        }
    )
    return build_model(section, source_vocabulary=PIECES, target_vocabulary=PIECES, shared=True)


PLAN = Plan(
    limits=Limits(steps=6),
    schedule=Schedule("constant", 0.01, 0.0, 0),
    label_smoothing=0.0,
    clip=1.0,
    validate_every=1000,
    log_every=1,
    metric="bleu",
    sign=1,
    patience=None,
    plateau_factor=0.5,
    plateau_patience=0,
    autocast=None,
)


class Training:
    """A training with everything that a test may want to look at while it runs."""

    def __init__(self, progress: Progress | None = None, model: Seq2Seq | None = None, **changes: Any) -> None:
        self.model = model or new_model()
        self.optimizer = make_optimizer(self.model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
        self.plan = replace(PLAN, **changes)
        self.progress = progress or Progress()
        self.batches = batches()

    def events(
        self,
        scores: Sequence[float] = (),
        *,
        validate: Callable[[], Mapping[str, float]] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Iterator[Event]:
        """Its events, with the given validation scores one after the other, the last one again and again."""
        left = list(scores) or [0.0]

        def next_score() -> Mapping[str, float]:
            self.model.eval()
            return {self.plan.metric: left.pop(0) if len(left) > 1 else left[0]}

        return train(
            self.model,
            self.optimizer,
            self.batches,
            self.plan,
            self.progress,
            device=torch.device("cpu"),
            validate=validate or next_score,
            interrupted=interrupted,
        )

    def weights(self) -> list[torch.Tensor]:
        return [parameter.detach().clone() for parameter in self.model.parameters()]


def finished(events: Sequence[Event]) -> Finished:
    assert [type(event) for event in events].count(Finished) == 1
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def of_kind(kind: type[Any], events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def places(events: Sequence[Event]) -> list[tuple[str, int]]:
    """The first letter of each event's kind, and its step."""
    return [(type(event).__name__[0], event.progress.step) for event in events]


# Learning


@pytest.mark.parametrize("attention", ["bahdanau", "luong", "none"])
def test_the_loss_falls(attention: str) -> None:
    training = Training(model=new_model(attention), limits=Limits(steps=80), log_every=10)
    losses = [event.loss for event in of_kind(Logged, list(training.events()))]
    assert len(losses) == 8
    assert losses[-1] < 0.5 * losses[0]


def test_the_loss_falls_with_bfloat16_products() -> None:
    training = Training(limits=Limits(steps=60), log_every=10, autocast=torch.bfloat16, label_smoothing=0.1)
    losses = [event.loss for event in of_kind(Logged, list(training.events()))]
    assert losses[-1] < 0.7 * losses[0]
    assert {parameter.dtype for parameter in training.model.parameters()} == {torch.float32}


def test_the_logged_loss_is_the_mean_over_the_tokens_since_the_last_one() -> None:
    singles = of_kind(Logged, list(Training().events()))
    pairs = of_kind(Logged, list(Training(log_every=2).events()))
    sizes = []
    for batch, _, _ in batches().from_position(Position()):
        sizes.append(int(batch.target_mask_BT.sum()))
        if len(sizes) == 6:
            break
    for number, pair in enumerate(pairs):
        (a, b), (m, n) = singles[2 * number : 2 * number + 2], sizes[2 * number : 2 * number + 2]
        assert pair.loss == pytest.approx((a.loss * m + b.loss * n) / (m + n))


def test_the_rate_is_that_of_the_schedule() -> None:
    training = Training(schedule=Schedule("inverse_sqrt", 0.02, 0.0, 2))
    found = []
    for event in training.events():
        if isinstance(event, Logged):
            found.append(event.learning_rate)
            assert training.optimizer.param_groups[0]["lr"] == event.learning_rate
    expected = [0.01, 0.02, *(0.02 * math.sqrt(2 / step) for step in (3, 4, 5, 6))]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("limits", [Limits(steps=12), Limits(steps=12, epochs=1000), Limits(steps=12, minutes=1e6)])
def test_cosine_ends_at_the_lowest_rate(limits: Limits) -> None:
    training = Training(limits=limits, schedule=Schedule("cosine", 0.02, 0.001, 3))
    found = [event.learning_rate for event in of_kind(Logged, list(training.events()))]
    assert found[2] == pytest.approx(0.02)
    assert found[-1] == pytest.approx(0.001)


# Events


def test_events_come_in_order() -> None:
    events = list(Training(limits=Limits(steps=7), log_every=2, validate_every=3).events())
    expected = [("L", 2), ("V", 3), ("L", 4), ("L", 6), ("V", 6), ("V", 7), ("F", 7)]
    assert places(events) == expected


def test_the_last_step_is_validated_once() -> None:
    events = list(Training(log_every=100, validate_every=3).events())
    assert places(events) == [("V", 3), ("V", 6), ("F", 6)]


def test_the_model_learns_in_training_mode_after_a_validation() -> None:
    training = Training(validate_every=1)
    assert all(training.model.training for event in training.events() if isinstance(event, Logged))


def test_positions_follow_the_batches() -> None:
    training = Training(limits=Limits(epochs=2))
    per_epoch = len(training.batches.epoch(0))
    assert per_epoch > 2
    events = list(training.events())
    positions = [event.progress.position for event in of_kind(Logged, events)]
    expected = [*(Position(0, number) for number in range(1, per_epoch)), Position(1, 0)]
    expected += [*(Position(1, number) for number in range(1, per_epoch)), Position(2, 0)]
    assert positions == expected
    epochs = [event.progress.epochs for event in of_kind(Logged, events)]
    assert epochs == pytest.approx([number / per_epoch for number in range(1, 2 * per_epoch + 1)])


# Limits


def test_it_stops_after_so_many_steps() -> None:
    end = finished(list(Training(limits=Limits(steps=5)).events()))
    assert end == Finished(end.progress, "training.max_steps: 5 reached")
    assert end.progress.step == 5


def test_it_stops_after_so_many_epochs() -> None:
    training = Training(limits=Limits(epochs=2))
    end = finished(list(training.events()))
    assert end.reason == "training.max_epochs: 2 reached"
    assert end.progress.position == Position(2, 0)
    assert end.progress.step == 2 * len(training.batches.epoch(0))


class Clock:
    """A clock on which something happens every ten seconds, whenever it is looked at."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def perf_counter(self) -> float:
        self.seconds += 10.0
        return self.seconds


@pytest.mark.parametrize("before", [0.0, 100.0])
def test_it_stops_after_so_many_minutes_those_of_earlier_runs_included(
    monkeypatch: pytest.MonkeyPatch, before: float
) -> None:
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=Clock().perf_counter))
    events = list(Training(Progress(seconds=before), limits=Limits(minutes=2.5)).events())
    end = finished(events)
    assert end.reason == "training.max_minutes: 2.5 reached"
    seconds = [event.progress.seconds for event in of_kind(Logged, events)]
    assert before < seconds[0]
    assert all(late > early for early, late in pairwise(seconds))
    assert all(value < 150.0 for value in seconds[:-1])
    assert end.progress.seconds >= seconds[-1] >= 150.0


def test_the_first_limit_reached_counts() -> None:
    assert finished(list(Training(limits=Limits(steps=3, epochs=50, minutes=1e6)).events())).progress.step == 3
    end = finished(list(Training(limits=Limits(steps=10**6, epochs=1)).events()))
    assert end.reason == "training.max_epochs: 1 reached"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), 0.0),
        (Limits(steps=40), 0.25),
        (Limits(steps=40, epochs=4), 0.5),
        (Limits(steps=40, epochs=4, minutes=1.25), 0.8),
        (Limits(minutes=2), 0.5),
    ],
)
def test_share_of_the_limits_that_is_used(limits: Limits, expected: float) -> None:
    assert limits.used(step=10, epochs=2.0, seconds=60.0) == pytest.approx(expected)


def test_a_finished_training_does_nothing_more() -> None:
    training = Training()
    end = finished(list(training.events()))
    before = training.weights()
    again = Training(end.progress, training.model)
    assert list(again.events()) == [end]
    assert all(a.equal(b) for a, b in zip(training.weights(), before, strict=True))


def test_a_larger_limit_goes_on() -> None:
    end = finished(list(Training(limits=Limits(steps=4)).events()))
    events = list(Training(end.progress, limits=Limits(steps=7)).events())
    assert [event.progress.step for event in of_kind(Logged, events)] == [5, 6, 7]


# Validation, early stopping, plateau


def test_the_metrics_are_all_here() -> None:
    assert set(SIGNS) == set(get_args(MetricName))


@every_metric
@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "cosine", "plateau"])
def test_early_stopping(metric: MetricName, schedule: str) -> None:
    """Better, worse, better, as good, worse, worse: three validations without a better one."""
    scores = [SIGNS[metric] * value for value in (1.0, 0.5, 2.0, 2.0, 1.5, 1.9, 9.0)]
    training = Training(
        limits=Limits(steps=50),
        validate_every=2,
        metric=metric,
        sign=SIGNS[metric],
        patience=3,
        schedule=Schedule(schedule, 0.01, 0.0, 0),
    )
    events = list(training.events(scores))
    assert [event.improved for event in of_kind(Validated, events)] == [True, False, True, False, False, False]
    end = finished(events)
    assert end.progress.step == 12
    assert end.progress.best == SIGNS[metric] * 2.0
    assert end.progress.best_step == 6
    assert end.reason == (f"early stopping: {metric} has not improved on {SIGNS[metric] * 2} (step 6) in 3 validations")


@every_metric
def test_patience_begins_anew_with_every_improvement(metric: MetricName) -> None:
    scores = [SIGNS[metric] * value for value in (1.0, 0.5, 2.0, 1.0, 3.0, 1.0, 4.0)]
    training = Training(limits=Limits(steps=7), validate_every=1, metric=metric, sign=SIGNS[metric], patience=2)
    end = finished(list(training.events(scores)))
    assert end.reason == "training.max_steps: 7 reached"
    assert end.progress.best == SIGNS[metric] * 4.0


def test_without_patience_it_goes_on() -> None:
    end = finished(list(Training(limits=Limits(steps=8), validate_every=1).events([1.0, 0.0])))
    assert end.reason == "training.max_steps: 8 reached"
    assert end.progress.stale == 7


def test_impatience_outlives_a_resume() -> None:
    """One stale validation before, one after."""
    plan: dict[str, Any] = {"limits": Limits(steps=50), "validate_every": 2, "patience": 2}
    stopped = [event for event in Training(**plan).events([1.0, 0.5]) if isinstance(event, Validated)]
    events = list(Training(stopped[1].progress, **plan).events([0.7]))
    assert finished(events).reason.startswith("early stopping")
    assert finished(events).progress.step == 6


def test_the_scores_are_passed_on_whole() -> None:
    scores = {"bleu": 12.0, "loss": 3.0}
    events = list(Training().events(validate=lambda: scores))
    assert [event.scores for event in of_kind(Validated, events)] == [scores]


def test_plateau_reduces_the_rate() -> None:
    """One validation without a better score is borne; the second halves the rate."""
    training = Training(
        limits=Limits(steps=8),
        validate_every=1,
        schedule=Schedule("plateau", 0.01, 0.0, 0),
        plateau_patience=1,
    )
    events = list(training.events([1.0, 0.9, 0.8, 0.7, 2.0, 1.0, 1.0, 1.0]))
    found = [event.learning_rate for event in of_kind(Logged, events)]
    assert found == pytest.approx([0.01, 0.01, 0.01, 0.005, 0.005, 0.005, 0.005, 0.0025])


def test_plateau_stops_below_the_lowest_rate() -> None:
    training = Training(limits=Limits(steps=50), validate_every=1, schedule=Schedule("plateau", 0.01, 0.003, 0))
    events = list(training.events([1.0]))
    assert finished(events).reason == "plateau: the learning rate fell below 0.003"
    assert min(event.learning_rate for event in of_kind(Logged, events)) >= 0.003


def test_other_schedules_know_no_plateau() -> None:
    training = Training(limits=Limits(steps=9), validate_every=1, schedule=Schedule("constant", 0.01, 0.003, 0))
    events = list(training.events([1.0]))
    assert [event.learning_rate for event in of_kind(Logged, events)] == [0.01] * 9


# What must not happen


@pytest.mark.parametrize(
    ("broken", "words"),
    [("loss", r"the loss \(nan\)"), ("gradient", "the gradient"), ("infinite gradient", "the gradient")],
)
def test_a_loss_or_gradient_that_is_not_finite_stops_before_the_update(broken: str, words: str) -> None:
    training = Training()
    calls = [0]

    def spoil(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        if calls[0] < 3:
            return output
        if broken == "loss":
            return output * math.nan
        output.register_hook(lambda grad: grad * (math.nan if broken == "gradient" else math.inf))
        return output

    training.model.decoder.readout.register_forward_hook(spoil)
    before: list[torch.Tensor] = []
    events: list[Event] = []

    def follow() -> None:
        for event in training.events():
            events.append(event)
            if isinstance(event, Logged):
                before[:] = training.weights()

    pattern = rf"step 3: {words} .*before the update.*training\.learning_rate"
    with pytest.raises(TrainingError, match=pattern) as raised:
        follow()
    assert places(events[:-1]) == [("L", 1), ("L", 2)]
    assert events[-1] == Failed(events[1].progress, str(raised.value))
    assert all(a.equal(b) for a, b in zip(training.weights(), before, strict=True))
    assert all(torch.isfinite(weight).all() for weight in training.weights())
    assert {int(state["step"]) for state in training.optimizer.state.values()} == {2}


def test_an_interruption_stops_between_two_updates() -> None:
    training = Training(validate_every=3)
    asked = iter([False, False, False, True])
    seen = list(training.events(interrupted=lambda: next(asked)))
    assert places(seen) == [("L", 1), ("L", 2), ("L", 3), ("V", 3), ("L", 4), ("F", 4)]
    assert finished(seen).reason == "interrupted"
    assert finished(seen).interrupted
    assert {int(state["step"]) for state in training.optimizer.state.values()} == {4}


def test_only_the_user_interrupts() -> None:
    assert not finished(list(Training().events())).interrupted


def norm_of_gradients(model: Seq2Seq) -> float:
    squares = [parameter.grad.double().square().sum() for parameter in model.parameters() if parameter.grad is not None]
    return math.sqrt(float(torch.stack(squares).sum()))


def test_clipping_bounds_the_norm() -> None:
    training = Training(clip=0.01)
    for event in training.events():
        if isinstance(event, Logged):
            assert event.gradient_norm > 0.01, "what is logged is the norm before"
            assert norm_of_gradients(training.model) == pytest.approx(0.01, rel=1e-3)


def test_gradients_do_not_pile_up() -> None:
    """With one batch and no rate to speak of, every step has the same gradient."""
    training = Training(clip=None, schedule=Schedule("constant", 1e-12, 0.0, 0))
    training.batches = batches(tokens=1000)
    assert len(training.batches.epoch(0)) == 1
    norms = [event.gradient_norm for event in of_kind(Logged, list(training.events()))]
    assert norms == pytest.approx([norms[0]] * 6, rel=1e-3)


def test_small_gradients_are_not_clipped_nor_any_without_clipping() -> None:
    for clip in (1e6, None):
        training = Training(clip=clip)
        for event in training.events():
            if isinstance(event, Logged):
                assert norm_of_gradients(training.model) == pytest.approx(event.gradient_norm, rel=1e-5)


def test_nothing_happens_before_the_first_event_is_asked_for() -> None:
    training = Training()
    before = training.weights()
    training.events()
    assert all(a.equal(b) for a, b in zip(training.weights(), before, strict=True))
    assert not training.optimizer.state
