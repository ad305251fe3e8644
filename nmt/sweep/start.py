"""The beginning of a sweep, or of one more process that works on it."""

from pathlib import Path

from nmt.errors import CheckpointError
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.plan import Plan
from nmt.sweep.study import Study
from nmt.sweep.work import Worker


def open_sweep(plan: Plan, path: Path, *, resume: bool, jobs: int = 1, device: str = "auto") -> Worker:
    """A worker on a new sweep; with `resume` on the one in the folder, whose failed runs are then tried once more.

    Where the plan names a database, the sweep in it is joined, whoever began it. Raises CheckpointError where there is
    nothing to go on with, where something is in the way, or where the sweep there is another one.
    """
    folder = SweepFolder(path)
    if resume or (plan.section.storage is not None and folder.exists()):
        _check_same(plan, folder)
        if not folder.database.exists():  # which remembers its plan
            _check_runs(plan, folder)
    if resume:
        if plan.section.search.sampler != "grid" and plan.section.storage is None and not folder.database.exists():
            raise CheckpointError(f"{folder.database}: is missing; a search cannot go on without its state")
    elif plan.section.storage is None or not folder.exists():
        folder.check_free()
    # Without a description it was just being begun, here or elsewhere.
    study = Study(plan, folder, join=resume or plan.section.storage is not None or not folder.exists())
    if resume:
        study.retry_failed()
    if not folder.exists():
        folder.describe(**_description(plan))
    if plan.section.search.sampler == "grid":
        _list(plan, folder)
    return Worker(plan, folder, study, jobs=jobs, device=device)


def _description(plan: Plan) -> dict[str, object]:
    section, axes = plan.section, [axis.name for axis in plan.axes]
    return {"name": section.name, "objective": plan.objective, "axes": axes, "sampler": section.search.sampler}


def _check_same(plan: Plan, folder: SweepFolder) -> None:
    """Raise CheckpointError where the folder holds another sweep."""
    before = folder.description()
    others = [f"{key} {before.get(key)!r}" for key, value in _description(plan).items() if before.get(key) != value]
    if others:
        raise CheckpointError(
            f"{folder.path}: the sweep there has another {', another '.join(others)}; name another folder (--output)"
        )


def _check_runs(plan: Plan, folder: SweepFolder) -> None:
    """Raise CheckpointError where the folder has runs that a grid does not ask for: they would be in its table."""
    if plan.section.search.sampler != "grid":
        return
    asked = {run.name: dict(run.choices) for run in plan.grid()}
    strange = [record.name for record in folder.records() if asked.get(record.name) != dict(record.choices)]
    if strange:
        raise CheckpointError(
            f"{folder.path}: has runs that the YAML does not ask for: {', '.join(strange)}; put them back into it, or "
            f"move their folders away from {folder.path / 'trials'}"
        )


def _list(plan: Plan, folder: SweepFolder) -> None:
    """Keep the name of each run, so that a report tells of those that nobody has begun."""
    known = {record.name for record in folder.records()}
    for number, run in enumerate(plan.grid()):
        if run.name not in known:
            folder.write(Record(run.name, number, run.choices, run.seed, "waiting"))
