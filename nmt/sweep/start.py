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
    if resume:
        folder.description()
        if plan.section.search.sampler != "grid" and plan.section.storage is None and not folder.database.exists():
            raise CheckpointError(f"{folder.database}: is missing; a search cannot go on without its state")
    elif plan.section.storage is None or not folder.exists():
        folder.check_free()
    study = Study(plan, folder, join=resume or plan.section.storage is not None)
    if resume:
        study.retry_failed()
    if not folder.exists():
        section, names = plan.section, [axis.name for axis in plan.axes]
        folder.describe(name=section.name, objective=plan.objective, axes=names, sampler=section.search.sampler)
    if plan.section.search.sampler == "grid":
        _list(plan, folder)
    return Worker(plan, folder, study, jobs=jobs, device=device)


def _list(plan: Plan, folder: SweepFolder) -> None:
    """Keep the name of each run, so that a report tells of those that nobody has begun."""
    known = {record.name for record in folder.records()}
    for number, run in enumerate(plan.grid()):
        if run.name not in known:
            folder.write(Record(run.name, number, run.choices, run.seed, "waiting"))
