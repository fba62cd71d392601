"""Every command that touches a lake is killed at any moment, and run again to its end.

A seed says which command, from which lake, and when: so many seconds after it began, or at
one of its calls of the disk. A lake that a command left dead claims only what it holds, and
what is written is whole or not there; then the same command ends as one that was never
killed, with the same figures; and once the next writer is done, nothing of the dead is left.

`notebook` is left out: it is slow, and writes with the means of `statement`.
Many: `pytest -m thorough`.
"""

import base64
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from svc_analytics.closing import seals, seals as register
from svc_analytics.closing.chain import chain_faults
from svc_analytics.instants import SECOND, to_micros
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.sandbox import Quirks, Service, serve
from svc_analytics.schema import SIDE_STREAMS
from svc_analytics.signing.secrets import parse_secrets
from svc_analytics.signing.webhooks import sign_webhook
from tests.simulation.simulate import quick_folder
from tests.support.fork_server import Ended, ForkServer, Kill, fork_server
from tests.support.rings import rings
from tests.support.sandboxes import NOW, check_all, check_claims, stocked

OCTOBER = ("--month", "2026-10")
HIDDEN = {
    *(".lock", ".close.lock", ".receipts.lock", ".views.lock", ".lookups.lock"),
    *(".ids", ".parents", ".views.json"),
}


@dataclass(frozen=True)
class Command:
    """A command, and the lake that it begins with; `out` is a file that it writes beside it."""

    words: tuple[str, ...]
    begins_with: str = "whole"
    out: str | None = None


COMMANDS = {
    "the first extract": Command(("extract",), "nothing"),
    "extract": Command(("extract",), "half"),
    "look-ups": Command(("extract", "--sessions", "--bindings", "{beside}/customers.txt")),
    "receipts": Command(("receipts", "verify")),
    "receipts to a file": Command(
        ("receipts", "verify", "--every", "--out", "{beside}/found.parquet"), out="found.parquet"
    ),
    "statement": Command(("statement", *OCTOBER)),
    "statement again": Command(("statement", *OCTOBER), "stated"),
    "close": Command(("close", *OCTOBER, "--format", "csv"), "half"),
    "close what was stated": Command(("close", "--all-due", "--format", "csv"), "stated"),
    "close again": Command(("close", *OCTOBER, "--format", "csv"), "closed"),
    "statement-verify": Command(("statement-verify", "{lake}/statements/2026-10"), "closed"),
    "webhooks": Command(
        ("webhooks", "verify", "{beside}/log.ndjson", "--out", "{beside}/log.csv"), out="log.csv"
    ),
    "views": Command(("views",)),
    "check": Command(("check",)),
    "sql": Command(("sql", "select * from fees_monthly", "--csv")),
    "status": Command(("status",)),
}
# What makes a lake to begin with of another one.
STAGES: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "half": ("nothing", (("extract", "--to", "2026-10-12"),)),
    "whole": ("half", (("extract",),)),
    "stated": ("half", (("statement", *OCTOBER, "--format", "csv"), ("extract",))),
    "closed": ("whole", (("close", *OCTOBER, "--format", "csv"),)),
}


@dataclass(frozen=True)
class Usual:
    """How a command ends that nobody kills, and what the lake holds then."""

    ended: Ended
    found: dict[str, Any]


@dataclass
class Bench:
    """A place to kill commands in, each time with a lake as it is to begin with."""

    service: Service
    server: ForkServer
    place: Path
    _usual: dict[str, Usual] = field(default_factory=dict)

    @property
    def beside(self) -> Path:
        """The folder in which the lake lies, and the files beside it."""
        return self.place / "disk"

    @property
    def lake(self) -> Lake:
        return Lake(self.beside / "data")

    def kill(self, number: int) -> str:
        """Live through a kill and what comes after it; return the name of the command."""
        chance = random.Random(number)
        name = list(COMMANDS)[number % len(COMMANDS)]
        command, usual = COMMANDS[name], self.usual(name)
        is_at_call = chance.random() < 0.5 and usual.ended.calls > 0
        call = chance.randint(1, usual.ended.calls) if is_at_call else None
        after = None if is_at_call else chance.uniform(0, usual.ended.seconds)
        self.begin(command.begins_with)
        ended = self.run(command.words, Kill(after, call))
        assert ended.was_killed or ended.code == usual.ended.code, ended
        self.check_dead(command, usual)
        again = self.run(command.words)
        assert again.code == usual.ended.code, again
        found = self.found(command)
        different = {part for part, value in usual.found.items() if found[part] != value}
        assert not different, (found["statements"], usual.found["statements"])
        self.check_next_writer()
        return name

    def usual(self, name: str) -> Usual:
        """Run a command once as it should be, and count its calls of the disk."""
        if name not in self._usual:
            command = COMMANDS[name]
            self.begin(command.begins_with)
            ended = self.run(command.words, Kill(call=0))
            assert ended.code in (0, 3), ended
            self._usual[name] = Usual(ended, self.found(command))
        return self._usual[name]

    def begin(self, stage: str) -> None:
        """Copy a lake to begin with, or make it first, on a machine that knows no other."""
        if stage in STAGES and not (self.place / stage).exists():
            before, steps = STAGES[stage]
            self.begin(before)
            for words in steps:
                ended = self.run(words)
                assert ended.code in (0, 3), ended
            shutil.copytree(self.lake.path, self.place / stage)
        shutil.rmtree(self.beside, ignore_errors=True)
        shutil.rmtree(self.place / "server" / "state", ignore_errors=True)
        self.beside.mkdir()
        if stage in STAGES:
            shutil.copytree(self.place / stage, self.lake.path)
        for file in (self.place / "files").iterdir():
            shutil.copy(file, self.beside)

    def run(self, words: tuple[str, ...], kill: Kill | None = None) -> Ended:
        known = {"lake": str(self.lake.path), "beside": str(self.beside)}
        given = [word.format_map(known) for word in words]
        counting = None if kill is None or kill.call is None else self.beside
        options = ["--data-dir", str(self.lake.path)]
        return self.server.run([*given, *options], kill, counting=counting)

    # ---------- what must hold

    def check_dead(self, command: Command, usual: Usual) -> None:
        """What a dead command left is whole or not there, and claims nothing that is not so."""
        check_claims(self.lake, self.service)
        for folder in self._statements():
            manifest = seals.read_manifest(folder)
            assert not seals.broken_files(folder, manifest)
            assert not seals.foreign_files(folder, manifest)
            assert not manifest["seal"] or seals.seal_of(manifest) == manifest["seal"]
        known = register.read_register(self.lake.path / "statements")
        made = [seals.read_manifest(folder)["seal"] for folder in self._statements()]
        assert all(known.has(seal) for seal in made if seal)
        assert not chain_faults(self.lake)
        for path in (self.lake.path / VERDICTS_FOLDER).glob("[!.]*.parquet"):
            require_whole(path)
        if (self.lake.path / "analytics.duckdb").exists():
            assert_answers(self.lake.path / "analytics.duckdb")
        if command.out and (self.beside / command.out).exists():
            assert (self.beside / command.out).read_bytes() == usual.found["out"]

    def found(self, command: Command) -> dict[str, Any]:
        """All that matters of what a lake holds: two runs that do the same leave the same."""
        lake = self.lake.path
        statements = {path.name: seals.read_manifest(path) for path in self._statements()}
        verdicts = sorted((lake / VERDICTS_FOLDER).glob("[!.]*.parquet"))
        keys = {name: stream.columns[0].name for name, stream in SIDE_STREAMS.items()}
        sides = {name: sorted((lake / name).glob("*.parquet")) for name in keys}
        return {
            "statements": {
                name: (manifest["status"], manifest["version"], figures_of(manifest))
                for name, manifest in statements.items()
            },
            "verdicts": columns_of(verdicts, "payment_id", "verdict"),
            "objects": {name: columns_of(files, keys[name]) for name, files in sides.items()},
            "out": (self.beside / command.out).read_bytes() if command.out else None,
        }

    def check_next_writer(self) -> None:
        """The next writer completes the lake, and leaves nothing of the dead."""
        ended = self.run(("extract",))
        assert ended.code == 0, ended
        check_all(self.lake, self.service)
        assert_answers(self.lake.path / "analytics.duckdb")
        left = {path.relative_to(self.beside).as_posix() for path in self.hidden()}
        assert not left

    def hidden(self) -> list[Path]:
        found = (path for path in self.beside.rglob(".*") if path.name not in HIDDEN)
        return [*found, *self.beside.rglob("*.wal")]

    def _statements(self) -> list[Path]:
        folder = self.lake.path / "statements"
        return sorted(path for path in folder.glob("[!.]*") if path.is_dir())


def assert_answers(path: Path) -> None:
    """A database of views is whole: other tools get answers by it."""
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("select count(*) from payments").fetchone()


def figures_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """All that a statement says, but when and how its records were read."""
    control = {name: dict(digest) for name, digest in manifest["control"].items()}
    for name in ("lines", "reading"):
        del control[name]["sha256"]
    return control


def columns_of(files: list[Path], *names: str) -> list[tuple[Any, ...]]:
    """Read some columns of Parquet files, in order."""
    rows = [row for file in files for row in pq.read_table(file, columns=list(names)).to_pylist()]
    return sorted(tuple(row[name] for name in names) for row in rows)


def write_files(folder: Path, service: Service, environment: dict[str, str]) -> None:
    """Write what commands read besides the lake: customers, and a log of deliveries."""
    folder.mkdir()
    (folder / "customers.txt").write_text("".join(f"customer-{n}\n" for n in range(40)))
    secrets = [one.secret for one in parse_secrets(environment["SVC_WEBHOOK_SECRETS"])]
    lines = []
    for number, record in enumerate(service.records("payments")):
        names = {"event_id": f"e-{number}", "type": "payment.completed"}
        body = json.dumps(names | {"payment_id": record["id"]}).encode()
        signature = sign_webhook(body, secrets, to_micros(NOW) // SECOND)
        texts = {"signature": signature, "body_base64": base64.b64encode(body).decode()}
        lines.append(json.dumps({"received_at": "2026-11-20T12:00:00Z"} | texts))
    (folder / "log.ndjson").write_text("\n".join(lines))


@contextmanager
def open_bench() -> Iterator[Bench]:
    """Serve two months of a sandbox, and be ready to kill."""
    with (
        quick_folder() as place,
        stocked(5, 2, 100, Quirks(page_size=20)) as service,
        serve(service) as running,
        fork_server(place / "server", running.environment) as server,
    ):
        write_files(place / "files", service, running.environment)
        yield Bench(service, server, place)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as bench:
        yield bench


SOME = len(COMMANDS)
USUAL = [list(COMMANDS).index("close")]  # it reads, writes and seals; simulations kill what reads
ALL = [range(first, first + SOME) for first in range(0, 500, SOME)]


@pytest.mark.parametrize("numbers", rings([USUAL], ALL), ids=lambda numbers: str(numbers[-1]))
def test_a_command_killed_at_any_moment_ends_well_when_run_again(bench, numbers):
    """E1, I1 to I3: nothing is lost, nothing doubled, nothing half written, nothing left over."""
    for number in numbers:
        try:
            bench.kill(number)
        except BaseException as error:
            error.add_note(f"kill {number}: {list(COMMANDS)[number % SOME]}")
            raise
