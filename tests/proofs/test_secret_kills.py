"""A close that dies while it makes the secret of its lake: the next one makes or finds one."""

import stat
import subprocess
import sys

import pytest

from svc_analytics.proofs.secret import FILE, read_secret, require_secret
from svc_analytics.storage import open_storage

DYING = """
import os, sys
from pathlib import Path
from svc_analytics.proofs.secret import require_secret
from svc_analytics.storage import open_storage

write, replace, moment = Path.write_bytes, os.replace, sys.argv[2]

def half(path, content):
    write(path, content[:16] if moment == "half written" else content)
    return os._exit(9) if moment in ("half written", "written") else None

def moved(*paths):
    replace(*paths)
    os._exit(9)

Path.write_bytes, os.replace = half, moved
require_secret(open_storage(sys.argv[1]))
"""


@pytest.mark.parametrize("moment", ["half written", "written", "in place"])
def test_a_kill_leaves_no_secret_or_a_whole_one(moment, tmp_path):
    """Never half of one and never two: what later closes find is what is there, or made once."""
    lake = tmp_path / "data"
    lake.mkdir()
    words = [sys.executable, "-c", DYING, str(lake), moment]
    assert subprocess.run(words).returncode == 9
    left = read_secret(lake)
    assert (left is not None) == (moment == "in place")
    found = require_secret(open_storage(lake))
    assert len(found) == 32 and left in (None, found)
    assert require_secret(open_storage(lake)) == read_secret(lake) == found
    assert stat.S_IMODE((lake / FILE).stat().st_mode) == 0o600
    assert [path.name for path in lake.iterdir()] == [FILE]
