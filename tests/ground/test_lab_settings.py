"""The environment JupyterLab starts with, errors in one line, and the month to begin with."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.cli.commands.demo import what_next
from svc_analytics.errors import ConfigError, LakeError, install
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import known_months
from svc_analytics.notebook.errors import INTERRUPTED
from svc_analytics.notebook.runner import lab_environment
from tests.support.desks import Desk

LEDGER = """
 kind     currency  amount  fee  at                of  usd_value
 payment  btc       1       0    2026-08-05T08:00
"""


@pytest.fixture
def shell(monkeypatch) -> InteractiveShell:
    """A notebook's shell, in which errors are one line."""
    shell = InteractiveShell()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    svc.notebook_errors()
    return shell


@pytest.fixture
def held(desk) -> Desk:
    """One payment of August, and all read up to October 20."""
    desk.serve(LEDGER)
    desk.extract(end=parse_bound("2026-10-20"))
    return desk


def test_the_lab_gets_the_settings_of_dotenv(monkeypatch):
    """The environment wins, foreign names stay out, the lake's path is absolute."""
    monkeypatch.setenv("SVC_BASE_URL", "https://shell.example")
    Path(".env").write_text("SVC_BASE_URL=https://file.example\nSVC_PATIENCE=9\nPATH=/nowhere\n")
    given = lab_environment(Path("lake"))
    assert (given["SVC_BASE_URL"], given["SVC_PATIENCE"]) == ("https://shell.example", "9")
    assert given["SVC_DATA_DIR"] == str(Path.cwd() / "lake") and given["PATH"] != "/nowhere"


def test_files_of_keys_are_found_from_the_notebooks_folder(monkeypatch):
    """Their paths are absolute; what the shell gives in a file, `.env` does not give beside it."""
    Path("key").write_text("svc_live_" + "0" * 64)
    Path(".env").write_text("SVC_CHECKOUT_KEY_FILE=key\nSVC_RECEIPT_SECRETS=of the file\n")
    Path("secret").write_text("of the shell")
    monkeypatch.setenv("SVC_RECEIPT_SECRETS_FILE", "secret")
    given = lab_environment(Path("lake"))
    assert given["SVC_CHECKOUT_KEY_FILE"] == str(Path.cwd() / "key")
    assert given["SVC_RECEIPT_SECRETS_FILE"] == str(Path.cwd() / "secret")
    assert "SVC_RECEIPT_SECRETS" not in given


def test_the_lab_opens_on_the_notebooks_with_further_arguments(monkeypatch):
    """What is not ours is JupyterLab's."""
    started: list[list[str]] = []
    monkeypatch.setattr("os.execvpe", lambda _, words, __: started.append(words))
    cli.main(["lab", "--no-browser", "--port", "8890"], standalone_mode=False)
    assert started[0][1:3] == ["-m", "jupyterlab"] and started[0][3].endswith("/data/notebooks")
    assert "--LabApp.default_url=/lab/tree/00-close-desk.ipynb" in started[0]
    assert started[0][-3:] == ["--no-browser", "--port", "8890"]


def test_wrong_settings_are_told_before_the_lab_opens(monkeypatch):
    """Not in a cell, minutes later."""
    started: list[list[str]] = []
    monkeypatch.setattr("os.execvpe", lambda _, words, __: started.append(words))
    Path(".env").write_text("SVC_CHECKOUT_KEY=abc\n")
    with pytest.raises(ConfigError, match="SVC_CHECKOUT_KEY is malformed"):
        cli.main(["lab"], standalone_mode=False)
    assert not started


def test_errors_in_a_notebook_are_one_line(shell, capsys):
    """Ours are, and name a Python cell that helps; those of others keep their traceback."""
    shell.run_cell("import svc_analytics as svc\nsvc.open_lake('none').sql('from payments')")
    line = capsys.readouterr().out.strip()
    assert line.startswith("NoLake: no lake in ") and "\n" not in line
    assert "svc.demo_lake('" in line and "svc.extract(lake)" in line
    raised = "raise svc.LakeError(Message('seal.missing', name='a\\n\\x1b[2J.csv'))"
    shell.run_cell(f"from svc_analytics.messages import Message\n{raised}")
    assert capsys.readouterr().out.strip() == "LakeError: a [U+001B][2J.csv is missing"
    shell.run_cell("raise KeyboardInterrupt")
    assert capsys.readouterr().out.strip() == INTERRUPTED
    for code in ("1 / 0", "import pyarrow as pa; pa.array([1, 'a'])"):
        shell.run_cell(code)
        assert "Traceback" in capsys.readouterr().out


def test_without_a_notebook_errors_stay_as_they_are():
    """A script that imports the same lines is not changed."""
    hook = sys.excepthook
    svc.notebook_errors()
    assert sys.excepthook is hook


def test_the_month_to_begin_with_is_the_last_one_read_whole(held):
    """September; offered are the months from the first record to the newest reading."""
    with pytest.raises(LakeError, match="run svc-analytics extract"):
        svc.last_full_month(svc.open_lake("none"))
    assert svc.last_full_month(held.lake) == "2026-09"
    assert svc.last_full_month(held.lake, "Asia/Tehran") == "2026-09"
    assert svc.last_full_month(held.lake, "Asia/Tehran", "jalali") == "1405-06"  # to 22 September
    assert known_months(held.lake) == ["2026-10", "2026-09", "2026-08"]


def test_the_demo_ends_with_the_command_that_opens_the_lab(held):
    """With both extras, and a path that a shell takes as one word."""
    text = what_next(svc.statement(held.lake, "2026-08"), "my data")
    assert "svc-analytics sandbox serve --env-file .env\n" in text
    last = text.splitlines()[-1].strip()
    assert last == f"{install('lab,sandbox')} && svc-analytics lab --data-dir 'my data'"


FRAME = """
from decimal import Decimal
import pandas as pd, pyarrow as pa
money = pd.ArrowDtype(pa.decimal128(38, 18))
q = pd.DataFrame({"a": [Decimal(3), Decimal(5)], "b": [Decimal(1), Decimal(2)]}, dtype=money)
"""


@pytest.mark.parametrize("code", ["q.a.diff()", "q.a.pct_change()", "q.a - q.b", "q.a * q.b"])
def test_arithmetic_that_needs_too_many_digits_is_one_line_that_says_what_to_do(
    shell, capsys, code
):
    """The same in SQL; 40 frames of other people's code help nobody."""
    shell.run_cell(FRAME)
    shell.run_cell(code)
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("ArrowInvalid: the result may need more than")
    assert 'lake.sql("select month, a - b as difference' in lines[0]


def test_the_sql_that_is_named_instead_is_exact(held):
    """To the eighteenth place."""
    query = (
        "select 1::decimal(38,18) - 0.000000000000000001::decimal(38,18) as difference "
        "from payments"
    )
    assert str(held.lake.sql(query).loc[0, "difference"]) == "0.999999999999999999"


ORIGINS: dict[str, tuple[Any, str]] = {
    "a clone": ({"url": "file://{here}", "dir_info": {"editable": True}}, '-e "{here}[lab]"'),
    "a clone that is gone": ({"url": "file:///gone", "dir_info": {}}, '"svc-analytics[lab]"'),
    "a wheel": ({"url": "file://{here}/a%20b.whl", "archive_info": {}}, '"{here}/a b.whl[lab]"'),
    "an index": ({}, '"svc-analytics[lab]"'),
}


@pytest.mark.parametrize(("origin", "command"), ORIGINS.values(), ids=ORIGINS.keys())
def test_an_extra_is_installed_from_where_the_package_is(tmp_path, monkeypatch, origin, command):
    """No index has it for everybody: a clone or a wheel is named as pip takes it."""
    (tmp_path / "a b.whl").touch()
    text = json.dumps(origin).replace("{here}", str(tmp_path))
    monkeypatch.setattr("svc_analytics.errors._origin", lambda: json.loads(text))
    monkeypatch.chdir("/")
    assert install("lab") == f"pip install {command}".replace("{here}", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert install("lab") == f"pip install {command}".replace("{here}[", ".[").replace(
        "{here}", str(tmp_path)
    )
