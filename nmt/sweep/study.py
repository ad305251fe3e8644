"""The state of a sweep, kept by Optuna: which runs there are, who has taken which, and what came of them.

A trial of Optuna is one attempt at a run. Where an attempt ends without a result, because its process, its machine or
the user ended it, another trial waits in its place under the same name, and goes on in the same run folder.
"""

import json
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from nmt.errors import CheckpointError, ConfigError
from nmt.sweep.folder import Record, State, SweepFolder
from nmt.sweep.metrics import METRICS
from nmt.sweep.plan import Plan, PlannedRun

try:
    import optuna
    from optuna.exceptions import (
        DuplicatedStudyError,
        ExperimentalWarning,
        StorageInternalError,
        UpdateFinishedTrialError,
    )
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
    from optuna.trial import FrozenTrial, Trial, TrialState
    from sqlalchemy.exc import SQLAlchemyError

    from nmt.sweep.search import make_pruner, make_sampler, suggest
except ImportError:
    raise ConfigError("nmt sweep needs the package optuna, which is missing: pip install optuna") from None

BEAT, GRACE = 10, 60
"""Seconds from one sign of life of a trial to the next, and without any until another process may take it up."""

_STATES: dict[TrialState, State] = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
}


@dataclass(frozen=True)
class Claim:
    """A run that this process has taken: nobody else will, until it is told what came of it."""

    run: PlannedRun
    number: int
    trial: Trial
    lock: IO[str]


@dataclass(frozen=True)
class Standing:
    """Where the last attempt at a run stands."""

    state: State
    reason: str


class Study:
    """A sweep's state. Raises CheckpointError where the database cannot be used, or holds another sweep."""

    def __init__(self, plan: Plan, folder: SweepFolder, *, join: bool, beat: int = BEAT, grace: int = GRACE) -> None:
        self._plan, self._folder = plan, folder
        self._planned = {run.name: run for run in plan.grid()} if plan.section.search.sampler == "grid" else {}
        self.wanted = len(self._planned) or plan.section.search.trials or 0
        """How many runs there are to be."""
        self._host = socket.gethostname()
        self._retry = self._new_retry()
        # Optuna fills in braces.
        url = plan.section.storage or f"sqlite:///{folder.database.resolve()}".replace("{", "{{").replace("}", "}}")
        is_file = url.startswith("sqlite")
        self._where = re.sub(r"(?<=://)([^:/@]*):[^@]*@", r"\1:***@", plan.section.storage or str(folder.database))
        with self._working():
            self._storage = RDBStorage(
                url,
                # A server may have closed a connection since it was used last; a file may be in another's hands.
                engine_kwargs={"connect_args": {"timeout": 60}} if is_file else {"pool_pre_ping": True},
                heartbeat_interval=beat,
                grace_period=grace,
                heartbeat_stale_trial_callback=self._retry,
            )
            try:
                self._study = optuna.create_study(
                    study_name=plan.section.name,
                    storage=self._storage,
                    sampler=make_sampler(plan.section.search, list(self._planned.values())),
                    pruner=make_pruner(plan.section.search),
                    direction="maximize" if METRICS[plan.objective].higher_is_better else "minimize",
                    load_if_exists=join,
                )
            except DuplicatedStudyError:
                raise CheckpointError(
                    f"{self._where}: has a sweep named {plan.section.name} already; go on with it (--resume), or give "
                    f"this one another name"
                ) from None
            self._same_sweep()

    def _same_sweep(self) -> None:
        given = json.loads(json.dumps(self._plan.given))
        given["sweep"].get("search", {}).pop("trials", None)  # a search may go on for longer
        before = self._study.user_attrs.get("given")
        if before is None:
            self._study.set_user_attr("given", given)
        elif before != given:
            names = [
                f"{part}.{key}"
                for part in given
                for key in {**before[part], **given[part]}
                if before[part].get(key) != given[part].get(key)
            ]
            raise CheckpointError(
                f"{self._where}: its sweep {self._plan.section.name} was begun with another {', '.join(names)}; take "
                f"that back, or give this sweep another name"
            )

    def retry_failed(self) -> None:
        """Let runs that failed be tried once more, each where it stopped."""
        with self._working():
            last = {_name(trial): trial for trial in self._trials() if not _is_double(trial)}
            for trial in last.values():
                if trial.state is TrialState.FAIL:
                    self._retry(self._study, trial)

    def claim(self) -> Claim | None:
        """Take the next run, if there is one that nobody has taken: first those that somebody did not finish."""
        with self._working():
            self._take_from_the_dead()
            fail_stale_trials(self._study)
            if not self._has_more():
                return None
            trial = self._study.ask()
            try:
                name, run = self._chosen(trial)
            except ConfigError as error:  # of a search, whose ranges are checked at their ends alone
                self._refuse(trial, str(error))
                return None
            others = [one for one in self._trials() if one.number != trial.number and _name(one) == name]
            if any(one.state in (TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED) for one in others):
                # Two machines may choose one run at once; whoever sees that leaves it.
                trial.set_user_attr("double", True)
                self._study.tell(trial, state=TrialState.FAIL)
                return None
            lock = self._folder.hold(name)
            if lock is None:  # a training that outlived its sweep: let it end first
                self._again(trial)
                return None
            self._storage.record_heartbeat(trial._trial_id)
            number = list(self._planned).index(name) if self._planned else int(name)
            return Claim(run, number, trial, lock)

    def _has_more(self) -> bool:
        trials = self._trials()
        if any(trial.state is TrialState.WAITING and not self._folder.is_held(_name(trial)) for trial in trials):
            return True
        started = {name for trial in trials if (name := _name(trial)) and not _is_double(trial)}
        return not any(trial.state is TrialState.WAITING for trial in trials) and len(started) < self.wanted

    def _chosen(self, trial: Trial) -> tuple[str, PlannedRun]:
        """Which run a trial is for; of a search, its choices by the sampler."""
        trial.set_user_attr("host", self._host)
        if self._planned:
            name = str(trial.suggest_categorical("run", list(self._planned)))
            trial.set_user_attr("run", name)
            return name, self._planned[name]
        name = trial.user_attrs.get("run", f"{trial.number:04}")
        trial.set_user_attr("run", name)
        # A seed for each trial, so that neither --resume nor a second machine draws the same again.
        self._study.sampler = make_sampler(self._plan.section.search, [], trial.number)
        choices = [suggest(trial, axis) for axis in self._plan.axes]
        return name, self._plan.run(name, choices, self._plan.seeds_of(choices)[0])

    def _refuse(self, trial: Trial, reason: str) -> None:
        """A combination that is no config: a failed run like any other, which was not trained."""
        reason = "; ".join(line.strip() for line in reason.splitlines())
        name = trial.user_attrs["run"]
        choices = {axis: f"{value:.6g}" if isinstance(value, float) else str(value)
                   for axis, value in trial.params.items()}  # fmt: skip
        self._folder.write(Record(name, int(name), choices, self._plan.seeds[0], "failed", reason))
        trial.set_user_attr("reason", reason)
        self._study.tell(trial, state=TrialState.FAIL)

    def _take_from_the_dead(self) -> None:
        """Put back what a process of this machine had taken that is no more: its lock says so at once."""
        for trial in self._trials():
            if trial.state is not TrialState.RUNNING or trial.user_attrs.get("host") != self._host:
                continue
            if _name(trial) and self._folder.is_held(_name(trial)):
                self._storage.record_heartbeat(trial._trial_id)  # its training may have outlived its sweep
                continue
            # One without a name was killed while it chose.
            self._study.tell(trial.number, state=TrialState.FAIL)
            if _name(trial):
                self._retry(self._study, self._study.trials[trial.number])

    def report(self, claim: Claim, step: int, value: float) -> bool:
        """Tell of a validation; returns whether the run is to be ended, as others were better at that step."""
        with self._working(), suppress(UpdateFinishedTrialError):
            claim.trial.report(value, step)
            return claim.trial.should_prune()
        return False

    def beat(self, claims: list[Claim]) -> None:
        """Show that this process is alive."""
        with self._working():
            for claim in claims:
                self._storage.record_heartbeat(claim.trial._trial_id)

    def done(self, claim: Claim, value: float) -> None:
        """The run has ended with this value of the objective."""
        self._tell(claim, TrialState.COMPLETE, value=value)

    def pruned(self, claim: Claim, reason: str) -> None:
        """The run was ended before its time."""
        self._tell(claim, TrialState.PRUNED, reason)

    def failed(self, claim: Claim, reason: str) -> None:
        """The run failed, by its own fault."""
        self._tell(claim, TrialState.FAIL, reason)

    def give_back(self, claim: Claim) -> None:
        """The run has not ended: somebody else may go on with it."""
        with self._working():
            self._again(claim.trial)

    def standings(self) -> dict[str, Standing]:
        """Where each run stands, those not yet taken in a grid included."""
        with self._working():
            trials = self._trials()
        found = {name: Standing("waiting", "") for name in self._planned}
        for trial in trials:
            if not _is_double(trial) and _name(trial):
                found[_name(trial)] = Standing(_STATES[trial.state], str(trial.user_attrs.get("reason", "")))
        return found

    def _tell(self, claim: Claim, state: TrialState, reason: str = "", value: float | None = None) -> None:
        # A trial that was taken for dead has ended already: whoever has the run now finds it in its folder.
        with self._working(), suppress(UpdateFinishedTrialError):
            claim.trial.set_user_attr("reason", reason)
            self._study.tell(claim.trial, value, state)

    def _again(self, trial: Trial) -> None:
        if not self._study.trials[trial.number].state.is_finished():
            self._study.tell(trial, state=TrialState.FAIL)
            self._retry(self._study, self._study.trials[trial.number])

    def _trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """While the database is used: by nobody else here, without Optuna's own remarks, its errors in one line."""
        level = optuna.logging.get_verbosity()
        with self._folder.alone(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            warnings.filterwarnings("ignore", "Heartbeat of storage")  # `beat` sends it
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            try:
                yield
            except ImportError as error:
                cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
                driver = f"its driver is missing: pip install {cause.name}"
                raise CheckpointError(f"{self._where}: the database cannot be used; {driver}") from None
            except (StorageInternalError, SQLAlchemyError, RuntimeError) as error:  # or it is of another Optuna
                reason = " ".join(str(error.__cause__ or error).split())
                raise CheckpointError(f"{self._where}: the database cannot be used ({reason[:300]})") from None
            finally:
                optuna.logging.set_verbosity(level)

    @staticmethod
    def _new_retry() -> RetryHeartbeatStaleTrialCallback:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return RetryHeartbeatStaleTrialCallback()


def _name(trial: FrozenTrial) -> str:
    return str(trial.user_attrs.get("run", ""))


def _is_double(trial: FrozenTrial) -> bool:
    return bool(trial.user_attrs.get("double"))
