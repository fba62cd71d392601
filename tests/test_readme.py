"""The README's commands and code, run as they are written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
COMMANDS = re.findall(r"^\$ svc-analytics (.+)$", README, re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)
SQL = re.findall(r"^```sql\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("desk")
    run(folder, "-m", "svc_analytics", "demo", "--months", "3", "--payments", "300")
    return folder


def run(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "demo"])
def test_every_command_shown_runs(desk: Path, command: str) -> None:
    """What a reader copies works."""
    assert run(desk, "-m", "svc_analytics", *shlex.split(command))


@pytest.mark.parametrize("code", PYTHON, ids=["python"])
def test_the_python_shown_runs(desk: Path, code: str) -> None:
    """The Python door opens as written."""
    assert "net_settlement" in run(desk, "-c", code)
    assert (desk / "out" / "2026-10" / "manifest.json").exists()


@pytest.mark.parametrize("code", SQL, ids=["sql"])
def test_the_sql_for_other_tools_runs(desk: Path, code: str) -> None:
    """Other tools read the views, and the Parquet, from the working folder."""
    script = (
        "import duckdb, sys\n"
        "with duckdb.connect('data/analytics.duckdb', read_only=True) as connection:\n"
        "    print(connection.execute(sys.argv[1]).fetchall())"
    )
    assert "[(" in run(desk, "-c", script, code)
