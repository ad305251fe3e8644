"""The work on a sweep: runs are taken, trained side by side, watched, and told of, until none is left.

`work` is a generator of what is going on, which knows no terminal: whoever reads it draws a table, or writes lines.
"""

import math
import os
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nmt.checkpoint import RunFolder
from nmt.config.load import differences, with_absolute_paths
from nmt.config.training import TrainingSection
from nmt.errors import NmtError
from nmt.sweep.child import Child
from nmt.sweep.folder import Record, State, SweepFolder
from nmt.sweep.metrics import VALIDATION
from nmt.sweep.plan import Plan
from nmt.sweep.results import read_result
from nmt.sweep.study import BEAT, Claim, Study
from nmt.sweep.watch import Watch

_LOOK, _ASK = 0.3, 2.0
"""Seconds from one look at the own runs to the next, and from one question to the database."""
_PATIENCE = 60.0
"""Seconds that a run has for saving, or for stopping, when this process ends."""


@dataclass(frozen=True)
class Row:
    """A run as it stands: step, last validation of the objective, target tokens a second, seconds left."""

    name: str
    state: State
    reason: str = ""
    step: int | None = None
    score: float | None = None
    tokens_per_second: float | None = None
    left: float | None = None


@dataclass
class _Training:
    """A run of this process."""

    claim: Claim
    child: Child
    watch: Watch
    reported: set[int] = field(default_factory=set)
    pruned: bool = False


class Worker:
    """One process that works on a sweep, with `jobs` runs side by side."""

    def __init__(self, plan: Plan, folder: SweepFolder, study: Study, *, jobs: int, device: str) -> None:
        self._plan, self._folder, self._study, self._jobs, self._device = plan, folder, study, jobs, device
        self._threads = max(1, cores() // jobs)
        self._watched = watched(plan)
        self._own: dict[str, _Training] = {}
        self._others: dict[str, tuple[Watch, TrainingSection]] = {}
        self._rows: dict[str, Row] = {}
        self._stopping = False

    def work(self, interrupted: Callable[[], bool]) -> Generator[list[Row]]:
        """Train until every run has ended, here or elsewhere; after an interruption until those here have stopped.

        A run that cannot be ended in order, since this process itself is told to stop at once, is given back.
        """
        asked = beaten = -math.inf
        try:
            while True:
                now = time.monotonic()
                if now - beaten > BEAT:
                    self._study.beat([one.claim for one in self._own.values()])
                    beaten = now
                before = len(self._own)
                self._look(interrupted())
                if now - asked > _ASK or len(self._own) < before:
                    if not interrupted():
                        self._take()
                    self._stand()
                    asked = now
                yield list(self._rows.values())
                if not self._own and (interrupted() or not self._unfinished()):
                    return
                time.sleep(_LOOK)
        finally:
            self._leave()

    def _take(self) -> None:
        """Fill the free places."""
        while len(self._own) < self._jobs:
            claim = self._study.claim()
            if claim is None:
                return
            run = claim.run
            child = Child(run, self._folder, claim.lock, threads=self._threads, device=self._device)
            watch = Watch(self._folder.run(run.name) / "metrics.jsonl", self._watched)
            self._own[run.name] = _Training(claim, child, watch)
            self._write(claim, "running")

    def _look(self, interrupted: bool) -> None:
        """What have the runs here come to?"""
        self._stopping = interrupted
        for name, one in list(self._own.items()):
            if interrupted:
                one.child.interrupt()
            ended = one.child.ended()
            self._report(one)
            if ended:
                del self._own[name]
                self._end(one)
                one.child.release()

    def _report(self, one: _Training) -> None:
        """Tell of validations; a run that the pruner gives up is asked to stop."""
        one.watch.read()
        if self._watched != self._plan.objective:
            return
        for step, value in one.watch.validations.items():
            if step not in one.reported:
                one.reported.add(step)
                if self._study.report(one.claim, step, value) and not one.pruned and not one.child.ended():
                    one.pruned = True
                    one.child.interrupt()

    def _end(self, one: _Training) -> None:
        """Keep what became of a run, and then tell it: what was kept and not told is found when the run is retried."""
        claim = one.claim
        failure = one.child.failure()
        if one.pruned and one.child.was_interrupted():
            reason = f"pruned after step {one.watch.step}: others were better at that step"
            self._write(claim, "pruned", reason)
            self._study.pruned(claim, reason)
        elif one.child.was_interrupted() or (self._stopping and one.child.was_stopped()):
            self._write(claim, "waiting")
            self._study.give_back(claim)
        elif failure is not None:
            self._fail(claim, failure)
        else:
            self._finish(claim)

    def _finish(self, claim: Claim) -> None:
        try:
            result = read_result(self._record(claim, "done"), self._folder)
        except NmtError as error:
            self._fail(claim, str(error))
            return
        others = differences(with_absolute_paths(result.config, Path()), claim.run.config)
        if others:  # brought here from elsewhere, or left by an earlier sweep
            self._fail(claim, f"{result.folder.path}: a run with another {', '.join(others)}; move it away")
            return
        value = result.value(self._plan.objective)
        if value is None or not math.isfinite(value):
            self._fail(claim, f"has no {self._plan.objective}, by which this sweep judges its runs")
            return
        self._write(claim, "done")
        self._study.done(claim, value)

    def _fail(self, claim: Claim, reason: str) -> None:
        self._write(claim, "failed", reason)
        self._study.failed(claim, reason)

    def _record(self, claim: Claim, state: State, reason: str = "") -> Record:
        return Record(claim.run.name, claim.number, claim.run.choices, claim.run.seed, state, reason)

    def _write(self, claim: Claim, state: State, reason: str = "") -> None:
        self._folder.write(self._record(claim, state, reason))

    def _stand(self) -> None:
        """A row for each run: numbers for those that train, here or where this process can see their folders."""
        for name, standing in self._study.standings().items():
            row = Row(name, standing.state, standing.reason)
            if standing.state == "running":
                row = self._running(row)
            elif standing.state == "done":
                before = self._rows.get(name)
                row = before if before is not None and before.state == "done" else self._done(row)
            self._rows[name] = row

    def _running(self, row: Row) -> Row:
        own = self._own.get(row.name)
        found = (own.watch, own.claim.run.config.training) if own is not None else self._elsewhere(row.name)
        if found is None:
            return row
        watch, training = found
        left = watch.seconds_left(training)
        score = watch.validations[max(watch.validations)] if watch.validations else None
        return Row(row.name, row.state, "", watch.step, score, watch.tokens_per_second, left)

    def _elsewhere(self, name: str) -> tuple[Watch, TrainingSection] | None:
        """What another process has written of a run, where this one can see its folder."""
        if name not in self._others:
            run = RunFolder(self._folder.run(name))
            try:
                self._others[name] = Watch(run.metrics_file, self._watched), run.config().training
            except NmtError:  # it has just begun, or lies on another disk
                return None
        self._others[name][0].read()
        return self._others[name]

    def _done(self, row: Row) -> Row:
        try:
            result = read_result(Record(row.name, 0, {}, 0, "done"), self._folder)
        except NmtError:  # trained on another machine, whose disk this one does not see
            return row
        score, speed = result.value(self._watched), result.value("tokens_per_second")
        return Row(row.name, row.state, row.reason, result.meta.get("step"), score, speed)

    def _unfinished(self) -> bool:
        """Whether a run waits, or trains elsewhere."""
        open_rows = any(row.state in ("waiting", "running") for row in self._rows.values())
        return open_rows or len(self._rows) < self._study.wanted

    def _leave(self) -> None:
        """However it ends, no run stays behind: each is asked once more, and then given back.

        One that was not asked before saves what it has; one that is asked twice stops at once.
        """
        self._stopping = True
        for one in self._own.values():
            one.child.interrupt(one.child.asked + 1)
        for one in self._own.values():
            one.child.wait(_PATIENCE)
            with suppress(NmtError):  # a database that is gone; its lock tells the next one that the run is free
                self._end(one)
            one.child.release()
        self._own = {}


def watched(plan: Plan) -> str:
    """The validation score that is shown while runs train: the objective, where it is one."""
    return plan.objective if plan.objective in VALIDATION else "bleu"


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
