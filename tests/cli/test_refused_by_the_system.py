"""What the system refuses is said in one line: which file, why, and what to do."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from svc_analytics.cli import app


@pytest.mark.parametrize(
    ("number", "next_step"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EROFS, "a folder that can be written to"),
        (errno.EACCES, "a folder that can be written to"),
        (errno.EIO, "run the command again"),
    ],
    ids=errno.errorcode.get,
)
def test_a_call_that_fails_is_no_internal_error(run, monkeypatch, number, next_step):
    """Whichever command and file it is."""

    def fail(**_: object) -> NoReturn:
        raise OSError(number, os.strerror(number), "/srv/finance/data/lake.json")

    monkeypatch.setattr(app.cli, "main", fail)
    done = run("status")
    [line] = done.lines
    assert done.code == 1 and "internal" not in line and next_step in line
    assert "/srv/finance/data/lake.json: " + os.strerror(number) in line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_output_that_is_full_is_told():
    """What was printed did not arrive: exit 1, one line, and no word of Python's own."""
    words = [sys.executable, "-m", "svc_analytics", "figures", "--csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "No space left on device; free some space" in line


WITHOUT_LOCKS = """
import errno, fcntl, os, sys

def refuse(*_):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

fcntl.flock = refuse
from svc_analytics.cli.app import main
sys.argv = ["svc-analytics", "sql", "from payments", "--data-dir", sys.argv[1]]
main()
"""


def test_a_librarys_warning_is_one_line(desk):
    """A file system without locks: the command works, and tells it without a file of Python's."""
    desk.extract()
    words = [sys.executable, "-c", WITHOUT_LOCKS, str(desk.lake.path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert all(line.startswith("svc-analytics: ") for line in done.stderr.splitlines())
    assert "flock not supported" in done.stderr and ".py" not in done.stderr


@pytest.mark.thorough
def test_a_limit_of_open_files_is_told_with_the_next_step(desk):
    desk.extract()
    command = f"ulimit -n 12; exec {sys.executable} -m svc_analytics check --data-dir data"
    words = ["bash", "-c", command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "Too many open files: raise the limit of open files (ulimit -n)" in done.stderr
