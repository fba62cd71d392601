"""The same lake gives the same bytes in every locale, zone, folder and process."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from tests.support.forms import FORMS
from tests.support.ledgers import LEDGER

AGAIN = """
import os, sys
from svc_analytics import open_lake
from svc_analytics.closing.stated import statement

os.umask(0o077)
made = statement(open_lake(sys.argv[1]), "2026-10", zone="Asia/Tehran", metadata=["کارت"])
made.save(sys.argv[2], tuple(sys.argv[3:]))
"""
PICTURES = "timezone: Asia/Tehran\nfont.size: 20\naxes.facecolor: red\n"
BARE = {"LC_ALL": "C", "TZ": "Asia/Tehran", "PYTHONHASHSEED": "5", "HOME": "/nowhere"}
ASCII = BARE | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "America/Havana"}


@pytest.mark.thorough
@pytest.mark.parametrize("environment", [ASCII, BARE], ids=["ASCII", "C"])
def test_the_same_bytes_in_another_place(make, desk, tmp_path, environment):
    """Not the locale, the zone, the order of hashes, the folder, nor settings of matplotlib."""
    here = make(LEDGER, zone="Asia/Tehran", metadata=["کارت"]).save(tmp_path / "here", FORMS)
    there = tmp_path / "یک پوشه دیگر" / "there"
    (tmp_path / "matplotlibrc").write_text(PICTURES)
    script = tmp_path / "again.py"
    script.write_text(AGAIN, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept["MPLCONFIGDIR"] = mpl.get_cachedir()  # fonts are looked for once on a machine
    words = [sys.executable, str(script), str(desk.lake.path), str(there), *FORMS]
    subprocess.run(words, env=kept | environment, cwd=tmp_path, check=True)
    assert content(there) == content(here)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
