"""What a killed process leaves of the folders that it worked in goes with the next one."""

import os
import signal
import subprocess
import sys

import pytest

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.statement import statement
from svc_analytics.working_folders import replacing_folder, restore_folders
from tests.support.prepared import extracted

SAVING = """
import signal, sys
from svc_analytics import open_lake, statement
from svc_analytics.render import folder

def fill(*rest):
    print("writing", flush=True)
    signal.pause()

folder._fill = fill
statement(open_lake("data"), "2026-10").save("data/statements/2026-10")
"""
READING = """
import signal
from svc_analytics import open_lake

with open_lake("data").snapshot():
    print("reading", flush=True)
    signal.pause()
"""


@pytest.fixture
def filled(history, desk) -> Lakehouse:
    return extracted(desk).lake


def begin(script: str) -> subprocess.Popen[str]:
    """Start a process that waits in the middle of its work, inside its folder."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline()
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def left_of(lake: Lakehouse) -> list[str]:
    folders = [*lake.path.glob(".snapshot-*"), *lake.path.glob("statements/.*")]
    return [path.name for path in folders]


def test_a_folder_stays_as_long_as_its_process_and_goes_with_the_next_one(filled, desk):
    """That of a reader and that of a statement, which was killed in the middle of its work."""
    processes = [begin(script) for script in (SAVING, READING)]
    os.utime(filled.path / "statements", (0, 0))  # how old it is does not matter
    desk.extract()
    statement(filled, "2026-10").save(filled.path / "statements" / "2026-10")
    assert len(left_of(filled)) == 2
    for process in processes:
        kill(process)
    assert len(left_of(filled)) == 2
    statement(filled, "2026-09").save(filled.path / "statements" / "2026-09")
    assert not left_of(filled)


@pytest.mark.thorough
def test_the_folder_of_a_killed_statement_goes_with_the_next_extract(filled, desk):
    kill(begin(SAVING))
    desk.extract()
    assert not left_of(filled)


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
