"""What a killed process leaves of the folders that it worked in goes with the next one."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from svc_analytics.files import replacing_folder, restore_folders
from svc_analytics.lakehouse import Lakehouse
from tests.support.prepared import extracted

WORKING = """
import signal
from pathlib import Path
from svc_analytics.lake.lake import Lake
from svc_analytics.files import replacing_folder

with replacing_folder(Path("data/statements/2026-10")), Lake(Path("data")).snapshot():
    print("working", flush=True)
    signal.pause()
"""


@pytest.fixture
def filled(history, desk) -> Lakehouse:
    return extracted(desk).lake


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """A process that waits in the middle of its work, inside its folders."""
    command = [sys.executable, "-c", WORKING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline()
        yield process
        process.kill()


def left_of(lake: Lakehouse) -> list[str]:
    folders = [*lake.path.glob(".snapshot-*"), *lake.path.glob("statements/.*")]
    return [path.name for path in folders]


def test_a_folder_stays_as_long_as_its_process_and_goes_with_the_next_one(filled, desk, process):
    """That of a reader and that of a statement, which was killed in the middle of its work."""
    os.utime(filled.path / "statements", (0, 0))  # how old it is does not matter
    for is_alive in (True, False):
        desk.extract()
        assert len(left_of(filled)) == 2 * is_alive
        process.kill()
        process.wait()


def test_what_a_person_keeps_beside_it_is_not_touched(tmp_path):
    """Also a folder of theirs that is named as ours are."""
    names = {".notes.writing", ".notes.20261031.writing"}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    (tmp_path / ".2026-10.0123abcd.writing").touch()
    restore_folders(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names | {".2026-10.0123abcd.writing"}
    assert all((tmp_path / name / "mine").exists() for name in names)


def test_a_failure_while_it_is_filled_leaves_the_old_folder(tmp_path):
    out = tmp_path / "2026-10"
    out.mkdir()
    (out / "old").touch()
    with pytest.raises(OSError, match="full"), replacing_folder(out):
        raise OSError("full")
    assert [path.name for path in tmp_path.rglob("*")] == ["2026-10", "old"]
