"""Files that are whole or not there at all: what they may be read by, and what is said where they cannot be."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.files import WriteError, replacing, write_text


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_the_umask_says_who_may_read_whatever_made_the_file(mask: int, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(mask)
    try:
        with replacing(path) as temporary:
            temporary.unlink(missing_ok=True)
            os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY, 0o600))  # as safetensors does
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "x", tmp_path / "file" / "new" / "x", tmp_path):
        with pytest.raises(WriteError) as caught:
            write_text(place, "text")
        assert str(caught.value).startswith(f"{place}: cannot be written (")
        assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]


FULL = """
import resource, sys
from pathlib import Path
from nmt.files import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
write_text(Path(sys.argv[1]), "x" * 1000)
"""


def test_a_disk_without_room_is_told_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    run = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False)
    last = run.stderr.splitlines()[-1]
    assert last.endswith(f"WriteError: {path}: cannot be written (File too large); give a writable place with room")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), FileNotFoundError(errno.ENOENT, "No such file", "other")]
)
def test_what_fails_beside_the_file_is_not_blamed_on_it(error: OSError, tmp_path: Path) -> None:
    with pytest.raises(type(error)) as caught, replacing(tmp_path / "file"):
        raise error
    assert caught.value is error
    assert os.listdir(tmp_path) == []
