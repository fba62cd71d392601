"""The commands and code of the README and of docs/, run as they are written."""

import http.server
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.signing.secrets import Secret
from svc_analytics.signing.webhooks import sign_webhook

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text() for page in PAGES)
COMMANDS = re.findall(r"^\$ svc-analytics (.+)$", TEXT, re.MULTILINE)
PYTHON, RECEIVER = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SQL = re.findall(r"^```sql\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)


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
def test_every_command_shown_runs(
    desk: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a reader copies works: after the demo, which was a process, each in this one."""
    monkeypatch.chdir(desk)
    done = CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    assert done.output


def test_the_python_shown_runs(desk: Path) -> None:
    """The Python door opens as written."""
    assert "net_settlement" in run(desk, "-c", PYTHON)
    assert (desk / "out" / "2026-10" / "manifest.json").exists()


def test_the_receiver_shown_keeps_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was sent is authentic by the secret that signed it, and answered with a 2xx."""
    made: list[Any] = []
    monkeypatch.setattr(http.server.HTTPServer, "serve_forever", lambda server: made.append(server))
    exec(RECEIVER.replace("8701", "0"), {})
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    body, now = b'{"event_id":"e-1","type":"test.ping"}', int(time.time())
    headers = {"x-pay-signature": sign_webhook(body, [Secret("whsec_a")], now)}
    with made[0] as server:
        answering = Thread(target=server.handle_request)
        answering.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        assert httpx.post(url, content=body, headers=headers).status_code == 204
        answering.join()
    found = svc.verify_webhooks("deliveries.ndjson", secrets=["whsec_a"])
    assert list(found["verdict"]) == ["valid"]


@pytest.mark.parametrize("code", SQL, ids=["sql"])
def test_the_sql_for_other_tools_runs(desk: Path, code: str) -> None:
    """Other tools read the views, and the Parquet, from the working folder."""
    script = (
        "import duckdb, sys\n"
        "with duckdb.connect('data/analytics.duckdb', read_only=True) as connection:\n"
        "    print(connection.execute(sys.argv[1]).fetchall())"
    )
    assert "[(" in run(desk, "-c", script, code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    """And to a heading of it, where the link names one."""
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        name, _, heading = link.partition("#")
        target = page.parent / name
        assert target.is_file(), link
        titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
        assert not heading or heading in [title.lower().replace(" ", "-") for title in titles]


def test_the_readme_leads_to_every_page() -> None:
    """A page that nothing links to is not found."""
    assert all(f"(docs/{page.name}" in PAGES[0].read_text() for page in PAGES[1:])
