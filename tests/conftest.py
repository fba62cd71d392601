"""Fixtures shared by all tests: a model service, settings for it, an empty lake, the desk.

And how the tests are run: where they write, and how many examples a property is tried with in
either ring.
"""

import fcntl
import gc
import inspect
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings as hypothesis_settings

from svc_analytics.config import Settings
from svc_analytics.lakehouse import Lakehouse
from tests.support import prepared, rings
from tests.support.closings import Closer, closer_by_commands
from tests.support.desks import SETTINGS, Desk, Run, runner
from tests.support.fake_service import FakeService, refund, spread
from tests.support.prepared import keep_readings

EXAMPLES = {"usual": 25, "thorough": 2_000}

# Every usual run tries the same inputs, however slow the machine is: none fails by chance. The deep
# ring draws others each time.
for name, count in EXAMPLES.items():
    hypothesis_settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        derandomize=name == "usual",
        suppress_health_check=[HealthCheck.too_slow],
    )

# They look at what is made of statements; all others read each statement anew. Of the second,
# what a test changes may be how a lake is read.
ALL_KEEP = {"books", "closing", "formatting", "lakes", "matching", "proofs", "render", "unattended"}
SOME_KEEP = {"cli", "docs", "notebook", "statements", "warehouse", "webhooks"}

# The library of JSON's schemas asks this one about addresses, which no schema here names: its
# grammars take three seconds of each process to load.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

MEMORY = Path("/dev/shm")
ROOM = 2 << 30  # bytes that are free there, or the tests keep to the disk


def is_thorough(config: pytest.Config) -> bool:
    return config.option.markexpr == "thorough"


def is_roomy(folder: Path) -> bool:
    """Whether a folder in memory can hold what tests write, and run what they install."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > ROOM and not found.f_flag & os.ST_NOEXEC


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property is tried with, and a quick place for what tests write.

    A lake syncs each file that it writes: a real disk takes half of the time of all tests.
    """
    if is_roomy(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # As users have it: else each command that tests start compiles the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for name in ("SVC_STATE_DIR", "SVC_CACHE_DIR"):  # none reads or writes those of a person
        os.environ[name] = folder = mkdtemp(prefix=f"{name.lower()}-")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell began the tests behind itself
        signal.signal(signal.SIGINT, signal.default_int_handler)  # commands of tests hear Ctrl-C
    hypothesis_settings.load_profile("thorough" if is_thorough(config) else "usual")
    if "not thorough" in config.option.markexpr:
        rings.leave_out_long()
    if hasattr(config, "workerinput"):
        os.environ.pop("LD_PRELOAD", None)  # what tests start runs as it does for users


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """On a fresh clone, let one process collect first: the assertions it rewrites serve all.

    Each would rewrite them anew, which takes longer than to collect.
    """
    with Path(__file__).open() as place:
        if not any(Path(__file__).parent.glob("__pycache__/test_guards.*-pytest-*")):
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(place, fcntl.LOCK_SH)  # had once the first is done
                fcntl.flock(place, fcntl.LOCK_UN)
        gc.disable()  # what is imported and collected stays
        try:
            return (yield)
        finally:
            gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the deep ring, let the properties take part."""
    for item in items if is_thorough(config) else ():
        if is_hypothesis_test(getattr(item, "function", None)):
            item.add_marker("thorough")


def pytest_collection_finish() -> None:
    """Keep the thousands of tests out of every search for garbage."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all be found at the end: a library of ours tells what is not."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def shelf(tmp_path_factory) -> None:
    """Keep what several tests begin with."""
    prepared.keep_in(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch, tmp_path) -> None:
    """Keep the settings and the working folder of whoever runs the tests out of them."""
    for name in (
        "BASE_URL",
        "CHECKOUT_KEY",
        "PAYOUT_KEY",
        "RECEIPT_SECRETS",
        "WEBHOOK_SECRETS",
        "DATA_DIR",
        "ENGINE",
        "ENGINE_DATA",
        "NOTIFY",
        "PING_URL",
        "METRICS_FILE",
        "SIGNING_KEY",
        "TSA_URL",
    ):
        monkeypatch.delenv(f"SVC_{name}", raising=False)
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path.with_name(f"{tmp_path.name}-state")))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def kept_readings(request, monkeypatch) -> None:
    """Read a lake once for a statement, unless a test changes how it is read."""
    own = inspect.signature(request.function).parameters
    kept = ALL_KEEP if "monkeypatch" in own else ALL_KEEP | SOME_KEEP
    if request.path.parent.name in kept:
        keep_readings(monkeypatch)


@pytest.fixture
def kept(monkeypatch) -> None:
    """Read a lake once all the same: what the test changes is not how it is read."""
    keep_readings(monkeypatch)


@pytest.fixture
def no_printer(monkeypatch) -> None:
    """A machine without Typst: most tests of packages and notices need no PDF."""
    monkeypatch.setitem(sys.modules, "typst", None)


@pytest.fixture
def run(monkeypatch, capsys) -> Run:
    """Run a command line in this process, as `svc-analytics` would."""
    return runner(monkeypatch, capsys)


@pytest.fixture
def settings() -> Settings:
    return SETTINGS


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def history(service) -> FakeService:
    """Three months of payments, some of them at one instant, and refunds of a few."""
    service.payments = spread(
        400, datetime(2026, 8, 25, tzinfo=UTC), timedelta(hours=5, microseconds=3)
    )
    same = service.payments[200]["paid_at"]
    for record in service.payments[201:230]:
        record["paid_at"] = same
    service.payouts = [refund(n, service.payments[n], "2026-10-05T00:00:00Z") for n in range(9)]
    return service


@pytest.fixture
def lake(tmp_path) -> Lakehouse:
    return Lakehouse(tmp_path / "data")


@pytest.fixture
def desk(service, settings, lake) -> Desk:
    return Desk(service, settings, lake)


@pytest.fixture
def closer(desk, monkeypatch) -> Closer:
    """What the commands extract comes from the model service, of three months."""
    return closer_by_commands(desk, monkeypatch)


@pytest.fixture
def call(closer, run) -> Run:
    return run


@pytest.fixture
def file_times(lake) -> Iterator[Callable[[], dict[str, int]]]:
    """Tell which month files are which, to see what a run rewrote."""

    def read() -> dict[str, int]:
        return {
            str(path.relative_to(lake.path)): path.stat().st_ino
            for folder in ("payments", "payout_records")
            for path in (lake.path / folder).glob("*.parquet")
        }

    yield read
