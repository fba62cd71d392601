"""The whole path in one call: sandbox, extraction over HTTP, receipts, a closed month."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from svc_analytics.closing.close import close
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import STATEMENTS
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError, LakeBusy
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import OnPage
from svc_analytics.lake.layout import data_folders
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month_of
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.statements.statement import Statement, statement
from svc_analytics.warehouse.database import write_views

FILLING, FILLED, _LOCK = ".demo-filling", ".demo-filled", ".demo.lock"


def demo_lake(
    path: str | os.PathLike[str] = "data",
    *,
    months: int = 12,
    payments: int = 20_000,
    seed: int = 7,
) -> Lakehouse:
    """Open a lake; fill it with a made-up merchant's history if nothing is in it yet.

    A lake that holds anything is returned as it is; one that is filled is filled whole
    or, interrupted, not at all. Needs no key; about half a minute.
    """
    from svc_analytics.extraction.progress import page_bar

    lake = Lakehouse(path)
    finish_filling(lake)
    if not lake.exists:
        with page_bar() as bar:
            run_demo(lake, months, payments, seed, note=bar.say, on_page=bar.show)
    return lake


def run_demo(
    lake: Lakehouse,
    months: int,
    payments: int,
    seed: int,
    *,
    note: Callable[[str], None],
    on_page: OnPage | None = None,
) -> tuple[Statement, Path]:
    """Fill a lake from a sandbox of these parameters; return last month's statement and folder."""
    finish_filling(lake)
    if lake.exists:
        closed = _play(lake, months, payments, seed, note, on_page)
        return statement(lake, closed.label), closed.folder
    with _filling(lake) as beside:
        closed = _play(beside, months, payments, seed, note, on_page)
    folder = lake.path / closed.folder.relative_to(beside.path)
    return statement(lake, closed.label), folder


def _play(
    lake: Lakehouse,
    months: int,
    payments: int,
    seed: int,
    note: Callable[[str], None],
    on_page: OnPage | None,
) -> CloseResult:
    """Extract from a sandbox, verify, and close the last full month."""
    try:
        from svc_analytics import sandbox
        from svc_analytics.sandbox.server import serve
    except ModuleNotFoundError as error:
        message = f'{error.name} is not installed: pip install -e ".[sandbox]"'
        raise ConfigError(message) from error
    clock = sandbox.Clock()
    scenario = sandbox.Scenario(seed=seed, months=months, payments=payments, until=clock.now())
    with sandbox.Store() as store:
        note(f"making a merchant with {months} months and {payments:,} payments (seed {seed})")
        sandbox.seed(store, scenario)
        with serve(sandbox.Service(store, clock)) as running:
            note(f"the sandbox answers at {running.base_url}; extracting over HTTP")
            settings = read_settings(lake.path, environ=running.environment, folder=Path("/"))
            update.extract(lake, settings, on_page=on_page)
            done = verify_lake(lake, settings)
            note(f"verified {done.checked + done.unchanged:,} receipts offline")
            month = month_of(clock.now()).shift(-1)
            note(f"closing {month.label}")
            return close(lake, month.label, settings=settings, grace_hours=0)


@contextmanager
def _filling(lake: Lakehouse) -> Iterator[Lakehouse]:
    """Fill a temporary lake, and move it into place on success; on failure leave nothing.

    Once it is whole it is named FILLED, and the next run finishes the move, so that not
    even a power cut leaves half a lake.
    """
    _make_room(lake)
    beside = lake.path / FILLING
    with FileLock(lake.path / _LOCK):
        if lake.exists:
            raise LakeBusy(f"another run has filled {lake.path} in the meantime: open it")
        shutil.rmtree(beside, ignore_errors=True)  # what a killed run left
        try:
            yield Lakehouse(beside)
            (beside / "analytics.duckdb").unlink(missing_ok=True)  # it names its folder
            beside.replace(lake.path / FILLED)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    finish_filling(lake)


def finish_filling(lake: Lakehouse) -> None:
    """Move a temporary lake that is whole into place, `lake.json` last; else do nothing."""
    whole = lake.path / FILLED
    if not whole.is_dir():
        return
    with FileLock(lake.path / _LOCK):
        if not whole.is_dir():
            return  # another run has done it
        for child in sorted(whole.iterdir(), key=lambda child: child.name == "lake.json"):
            child.replace(lake.path / child.name)
        write_views(lake)
        whole.rmdir()


def _make_room(lake: Lakehouse) -> None:
    try:
        lake.path.mkdir(parents=True, exist_ok=True)
        names = {child.name for child in lake.path.iterdir()}
    except OSError as error:
        raise ConfigError(f"{lake.path} cannot hold a lake: {error.strerror}") from error
    folders = {Path(folder).parts[0] for folder in data_folders()} | {STATEMENTS}
    if taken := sorted(names & folders):
        message = f"{lake.path} holds {taken[0]} but is not a lake: choose another folder"
        raise ConfigError(message)
