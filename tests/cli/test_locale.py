"""Locales that cannot write every letter: a clear line, or the same names as elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.statements.metadata import check_names

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_word_that_the_locale_cannot_write_is_2_and_one_line(tmp_path: Path) -> None:
    """A folder or a property would otherwise get another name, or none."""
    words = [sys.executable, "-m", "svc_analytics", "statement", "--metadata", "کارت"]
    done = subprocess.run(words, env=os.environ | ASCII, cwd=tmp_path, capture_output=True)
    [line] = done.stderr.decode().splitlines()
    assert done.returncode == 2 and line.endswith("a word is not ASCII: set PYTHONUTF8=1")


def test_a_path_that_is_not_utf8_is_no_lake() -> None:
    """The database would not find it."""
    with pytest.raises(ConfigError, match="DuckDB needs a path in UTF-8"):
        Lake("data\udcff")


def test_a_property_that_is_not_utf8_is_refused() -> None:
    """No file could hold its name."""
    with pytest.raises(ConfigError, match="is not UTF-8"):
        check_names(["cart\udcff"])
