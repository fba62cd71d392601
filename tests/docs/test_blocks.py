"""The commands and the code of the README and of docs/, run as they are written."""

import http.server
import json
import re
import shlex
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import click
import duckdb
import httpx
import pytest
from click.testing import CliRunner

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.sandbox.server import Running
from svc_analytics.signing.secrets import Secret
from svc_analytics.signing.webhooks import sign_webhook
from tests.docs.test_documents import words_of
from tests.support.buckets import serve_bucket
from tests.support.documents import blocks, demo_desk, name_of, write_orders
from tests.support.rings import rings, sample

Desk = tuple[Path, Running]

_ENDLESS = ("demo", "lab", "sandbox")  # they begin a desk of their own, or serve until stopped
_COINS = {"btc", "eth", "sol", "usdt"}  # a small merchant does not sell in all of them
CONSOLE = [
    (command, printed)
    for block in blocks("console")
    for command, printed in re.findall(
        r"^\$ (svc-analytics .+)\n((?:(?!\$ ).*\n)*)", block.text, re.M
    )
]
SCRIPTS = [
    line
    for block in blocks("sh")
    for line in block.text.splitlines()
    if line.startswith("svc-analytics ")
]
# A balance that is written down restates its month: the months are sealed before.
COMMANDS = sorted(
    (
        command
        for command in dict.fromkeys([command for command, _ in CONSOLE] + SCRIPTS)
        if command.split()[1] not in _ENDLESS
    ),
    key=lambda command: command.split()[1] == "assert",
)
_INIT = "svc-analytics books --init"  # others need what it writes
_SHOWN = {command for command, _ in CONSOLE} | {_INIT}
RUN = [command for command in COMMANDS if "--let-go" not in command]  # nothing is lost here
DONE = [command for command in RUN if command in _SHOWN]
PYTHON = [block for block in blocks("python") if "http.server" not in block.text]
[RECEIVER] = [block for block in blocks("python") if "http.server" in block.text]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[Desk]:
    """A folder in which a small demo has run, and the sandbox beside it."""
    folder = tmp_path_factory.mktemp("desk")
    with demo_desk(folder, months=2, payments=120) as running:
        yield folder, running


@pytest.fixture(scope="module")
def whole_demo(tmp_path_factory) -> Iterator[Path]:
    """A folder in which `svc-analytics demo` has run as the pages say."""
    folder = tmp_path_factory.mktemp("whole")
    with demo_desk(folder):
        write_orders(svc.open_lake("data"), Path("orders.csv"))
        yield folder


@pytest.fixture(scope="module")
def bucket(tmp_path_factory) -> Iterator[None]:
    """The bucket that the pages name, still empty, on a server of this machine."""
    with serve_bucket() as server, pytest.MonkeyPatch.context() as patch:
        server.make_bucket("finance")
        patch.setenv("SVC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def filled(demo, bucket) -> Path:
    """The files that the pages take as given, in the folder of the desk."""
    folder, running = demo
    lake = svc.open_lake("data")
    svc.backup(lake, "backups/finance", progress=False)
    tokens = lake.sql("select payment_id as ticket, receipt from payments limit 5")
    tokens.to_csv("tickets.csv", index=False)
    Path("customers.txt").write_text("C-1\n")
    write_orders(lake, Path("orders.csv"))
    days = ["2026-09-30", *(f"2026-10-{day:02}" for day in range(1, 32))]
    lines = [f"{day},{rate},made up\n" for day in days for rate in ("EUR,0.92", "IRT,112500")]
    Path("data/rates.csv").write_text("".join(["date,currency,rate,source\n", *lines]))
    body = b'{"event_id":"e-1","type":"test.ping"}'
    secret = running.environment["SVC_WEBHOOK_SECRETS"].split(",")[0].partition("@")[0]
    now = time.time_ns() // 10**9
    delivery = {
        "received_at": "2026-11-20T12:00:00Z",
        "signature": sign_webhook(body, [Secret(secret)], now),
        "body_base64": b64encode(body).decode(),
    }
    Path("deliveries.ndjson").write_text(json.dumps(delivery) + "\n")
    invoke(_INIT)
    return folder


@pytest.fixture
def files(filled, monkeypatch) -> None:
    """Work at the desk."""
    monkeypatch.chdir(filled)


def shown(command: str) -> str:
    """Return what a command of the pages prints; the demo prints the statement of its month."""
    return invoke("svc-analytics statement --last-month" if "demo" in command else command)


def invoke(command: str) -> str:
    """Run a command in this process, once in each folder, and return what it printed."""
    return _invoke(command, Path.cwd())


@cache
def _invoke(command: str, _folder: Path) -> str:
    done = CliRunner().invoke(
        cli, shlex.split(command, comments=True)[1:], auto_envvar_prefix="SVC"
    )
    is_open = command.startswith("svc-analytics match ") and "--init" not in command
    assert done.exit_code == (3 if is_open else 0), done.stderr + done.output
    return done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_is_understood(command):
    """Its name, its options and what these take."""
    group: click.Command = cli
    context, words = None, shlex.split(command, comments=True)[1:]
    while words and isinstance(group, click.Group):
        name, found, words = group.resolve_command(click.Context(group), words)
        assert found is not None
        context, group = click.Context(found, info_name=name), found
    assert context is not None
    group.parse_args(context, words)


# Each run does what is shown with its output; each command has tests of its own, too.
@pytest.mark.usefixtures("no_printer", "files")
@pytest.mark.parametrize("command", rings(DONE, RUN))
def test_every_command_shown_runs(command):
    """What a reader copies works, and says something."""
    assert invoke(command.replace("-v2", ""))  # the month of these runs was not restated


@pytest.mark.usefixtures("no_printer", "files")
@pytest.mark.parametrize(("command", "printed"), CONSOLE, ids=name_of)
def test_what_is_shown_has_the_words_that_are_printed(command, printed):
    """A label that was renamed is renamed on the page too; the amounts are those of the demo."""
    said = set(re.findall(r"\b[a-z_]{3,}\b", shown(command)))
    assert set(re.findall(r"\b[a-z_]{3,}\b", printed)) <= said | {"srv", "finance"} | _COINS


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "printed"), CONSOLE, ids=name_of)
def test_what_is_shown_is_what_is_printed(whole_demo, command, printed, monkeypatch):
    """To the last digit, for the merchant of the demo; a line of dots stands for more lines."""
    monkeypatch.chdir(whole_demo)
    monkeypatch.delenv("COLUMNS", raising=False)  # tests that run side by side have it set
    lines = shown(command).replace(str(whole_demo), "/srv/finance").splitlines()
    assert not [line for line in printed.splitlines() if line not in [*lines, "..."]]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("block", sample(PYTHON, 6), ids=name_of)
def test_the_python_shown_runs(block, capsys):
    """The Python door opens as written."""
    exec(compile(block.text, block.page, "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("block", blocks("sh"), ids=name_of)
def test_the_shell_shown_can_be_read(block):
    """A shell takes it; what is safe of it runs above."""
    done = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True)
    assert not done.stderr


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("block", blocks("sql"), ids=name_of)
def test_the_sql_for_other_tools_runs(block):
    """Other tools read the views, and the Parquet, from the working folder."""
    with duckdb.connect("data/analytics.duckdb", read_only=True) as connection:
        assert connection.execute(block.text).fetchall()


@pytest.mark.usefixtures("files")
def test_the_keys_of_the_manifest_are_described():
    """An auditor finds every key of the file on the page."""
    manifest = json.loads(Path("data/statements/2026-10/manifest.json").read_text())
    assert manifest["seal"] and set(manifest) <= words_of("files.md")


def test_the_receiver_shown_keeps_a_log(tmp_path, monkeypatch):
    """What it was sent is authentic by the secret that signed it, and answered with a 2xx."""
    made: list[Any] = []
    monkeypatch.setattr(http.server.HTTPServer, "serve_forever", lambda server: made.append(server))
    exec(RECEIVER.text.replace("8701", "0"), {})
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
