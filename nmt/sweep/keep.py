"""A sweep's small results: what a report needs and a sweep can be gone on with from, without weights.

They are small enough to be committed, sent, or brought to another machine: `nmt report` reads them, and `nmt sweep
--resume` takes the runs that have finished as they are, and trains those that are missing.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from nmt.config.load import dump_config, with_relative_paths
from nmt.errors import CheckpointError, NmtError
from nmt.files import replacing, write_text
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.results import read_result

_NUMBERS = ("metrics.jsonl", "test.scores.json", "test.ref.links")
_TEXTS = ("test.hyp", "alignments/test.hyp.jsonl")
"""Files of a run, config and meta.json aside: what it came to; and what tells of the sentences of the test."""


def keep_results(folder: SweepFolder, to: Path, *, texts: bool = True) -> SweepFolder:
    """Copy a sweep's small results to the folder `to`, where they replace earlier ones of this sweep.

    `texts`: whether translations and alignments go with them; without, no sentence of the test text, nor of a
    translation, is in the copy. Raises CheckpointError where `to` holds anything else, or is the sweep's own folder.
    """
    description, kept = folder.description(), SweepFolder(to)
    if to.resolve() == folder.path.resolve():
        raise CheckpointError(f"--keep {to}: is the sweep's own folder; name another")
    if not kept.exists():
        kept.check_free()
    elif kept.description()["name"] != description["name"]:
        raise CheckpointError(f"--keep {to}: holds the sweep {kept.description()['name']}; name another folder")
    _copy(folder.description_file, kept.description_file)
    if description["sampler"] != "grid" and folder.database.exists():
        with folder.alone():  # of a grid it can be made again: which runs there are, is in the YAML
            _copy(folder.database, kept.database)
    for record in folder.records():
        state = record.state if record.state != "running" else "waiting"  # what runs here runs nowhere else
        if record.state == "done":
            try:
                _keep_run(folder, kept, record, texts)
            except NmtError:  # missing here or damaged, as the report says; what was kept earlier stays
                state = "done" if kept.run(record.name).joinpath("meta.json").exists() else "waiting"
        kept.write(replace(record, state=state))
    return kept


def _keep_run(folder: SweepFolder, kept: SweepFolder, record: Record, texts: bool) -> None:
    run, to = folder.run(record.name), kept.run(record.name)
    config = read_result(record, folder).config
    for name in (*_NUMBERS, *_TEXTS):
        file = run / name
        if file.exists() and (texts or name not in _TEXTS):
            _copy(file, to / name)
        else:
            (to / name).unlink(missing_ok=True)
    # Paths as another machine can have them.
    write_text(to / "config.yaml", dump_config(with_relative_paths(config)))
    _copy(run / "meta.json", to / "meta.json")  # last: where it is, all of it is


def _copy(file: Path, to: Path) -> None:
    with replacing(to) as temporary:
        shutil.copyfile(file, temporary)
