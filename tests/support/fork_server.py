"""Commands as processes that begin at once: forked from one that has loaded everything.

Starting Python and its libraries takes longer than most commands do. So one process loads
them all and does nothing else: it has one thread, and a fork of it is as good as a new
process. Each child runs one command, and may be killed: at a moment, or at a call of the disk.

All children believe that they have one and the same process number, as commands in
containers do.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from svc_analytics.cli import app
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.simulation.disk import Disk

# Libraries that would start threads of their own when they load are told not to.
ALONE = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
LATER = ("duckdb", "numpy", "pandas", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet")
PROCESS = 7  # the number that every child believes to have


@dataclass(frozen=True)
class Kill:
    """When a command is killed: so many seconds after it began, or at a call of the disk."""

    after: float | None = None
    call: int | None = None


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative when it was killed, and what it said."""

    code: int
    seconds: float
    calls: int  # of the disk, where they were counted
    out: str
    err: str

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL


class ForkServer:
    """The process that has loaded everything, seen from the tests."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(
        self, words: list[str], kill: Kill | None = None, *, counting: Path | None = None
    ) -> Ended:
        """Run a command to its end, or until it is killed.

        `counting` is the folder below which its calls of the disk are counted; a kill at a call
        needs it.
        """
        kill = kill or Kill()
        order = {"words": words, "after": kill.after, "call": kill.call}
        self._say(order | {"counting": str(counting) if counting else None})
        answer = self._process.stdout and self._process.stdout.readline()
        assert answer, "the fork server is gone"
        told = json.loads(answer)
        out, err = ((self._folder / name).read_text() for name in ("out", "err"))
        return Ended(told["code"], told["seconds"], told["calls"], out, err)

    def _say(self, order: dict[str, Any]) -> None:
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()


@contextmanager
def fork_server(folder: Path, environment: dict[str, str]) -> Iterator[ForkServer]:
    """Start the process, with a folder of its own and the settings of all its commands."""
    folder.mkdir()
    own = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    own["SVC_STATE_DIR"] = str(folder / "state")
    given = own | environment | ALONE | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", __name__, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=given, cwd=folder, stdin=pipe, stdout=pipe, text=True
    ) as process:
        yield ForkServer(process, folder)
        process.stdin.close()


# ---------- in that process


def load() -> None:
    """Load what commands load, and refuse to go on with more than one thread."""
    for name in LATER:
        import_module(name)
    for path in sorted(Path(app.__file__).parents[1].rglob("*.py")):
        name = ".".join(path.relative_to(Path(app.__file__).parents[2]).with_suffix("").parts)
        if not any(part in name for part in ("sandbox", "notebook", "lab", "demo", "__")):
            import_module(name)
    make_views()
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    if threads != 1:
        raise SystemExit(f"{threads} threads: a fork would have only one of them")


def make_views() -> None:
    """Make the views once, over no records: each child has them by a copy."""
    with TemporaryDirectory() as folder:
        lake = Lake(folder)
        with open_writer(lake, {"id": "nobody"}, now=0):
            pass
        with open_warehouse(lake):
            pass


def serve(folder: Path) -> None:
    """Run one command after another, as told on stdin."""
    load()
    for line in sys.stdin:
        order = json.loads(line)
        began = time.monotonic()
        for name in ("out", "err", "calls"):
            (folder / name).write_text("")
        child = os.fork()
        if not child:
            run_child(folder, **order)
        code = wait_or_kill(child, order["after"])
        told = {"code": code, "seconds": time.monotonic() - began}
        calls = int((folder / "calls").read_text() or 0)
        print(json.dumps(told | {"calls": calls}), flush=True)  # noqa: T201


def wait_or_kill(child: int, after: float | None) -> int:
    """Wait for a child, not longer than told; return its exit code."""
    watched = os.pidfd_open(child)
    if not select.select([watched], [], [], after)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_child(
    folder: Path, words: list[str], after: float | None, call: int | None, counting: str | None
) -> None:
    """Be the command, and end as it does."""
    own = os.getpid()
    os.getpid = lambda: PROCESS
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["svc-analytics", *words]

    def fate(place: int, kind: str, path: str) -> None:
        if place == call:
            os.kill(own, signal.SIGKILL)

    disk: Any = Disk(Path(counting), fate) if counting else SimpleNamespace(calls=())
    code: object = 70
    try:
        if counting:
            with disk.installed():
                app.main()
        else:
            app.main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        (folder / "calls").write_text(str(len(disk.calls)))
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
