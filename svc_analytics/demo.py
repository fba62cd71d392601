"""A lake with a made-up merchant: sandbox, extraction, receipts and a closed month."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from filelock import FileLock

from svc_analytics.arguments import check, check_path
from svc_analytics.closing.close import close
from svc_analytics.closing.month_states import LakeContents, keep_results, with_state
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import STATEMENTS
from svc_analytics.closing.stated import statement
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError, LakeBusy, needs_extra, system_refusals
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import OnPage
from svc_analytics.extraction.update import page_bar
from svc_analytics.files import PRIVATE, make_folder
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import now
from svc_analytics.lake.layout import data_folders
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month_of
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.images import write_views

FILLING, FILLED, _LOCK = ".demo-filling", ".demo-filled", ".demo.lock"


def demo_lake(
    path: str | os.PathLike[str] = "data",
    *,
    months: int = 12,
    payments: int = 20_000,
    seed: int = 7,
) -> Lakehouse:
    """Open a lake; fill it with a made-up merchant's history if it is empty.

    A lake that holds anything is returned as it is; an interrupted run fills nothing. Needs no
    key; takes about half a minute. The same `seed` makes the same merchant.

    Returns:
        The lake, with its last full month closed and sealed.

    Raises:
        ConfigError: when the folder holds something else, or the sandbox is not installed.
        LakeBusy: when another run fills it.

    Examples:
        >>> lake = svc.demo_lake("data", months=3, payments=2_000)  # doctest: +SKIP
    """
    check_path("path", path, "data")
    for name, count in (("months", months), ("payments", payments), ("seed", seed)):
        check(name, count, int, "a whole number")
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
    """Fill a lake from a sandbox; return last month's statement and its folder."""
    play = partial(_play, months=months, payments=payments, seed=seed, note=note, on_page=on_page)
    finish_filling(lake)
    closed = play(lake) if lake.exists else _fill(lake, play)
    write_views(lake)
    folder = (lake.path / STATEMENTS / closed.folder.name).absolute()
    # What the close found holds where its lake lies now: no byte of it is another.
    moved, contents = replace(closed, folder=folder), {closed.label: LakeContents.read(lake)}
    keep_results(lake, contents, [moved])
    if closed.statement is None:
        return statement(lake, closed.label), folder
    return with_state(lake, closed.statement, now()), folder


def _play(
    lake: Lakehouse,
    *,
    months: int,
    payments: int,
    seed: int,
    note: Callable[[str], None],
    on_page: OnPage | None,
) -> CloseResult:
    """Extract from a sandbox, verify the receipts, and close the last full month."""
    with needs_extra("sandbox"):
        from svc_analytics import sandbox  # an optional extra, as is its web server
        from svc_analytics.sandbox.server import serve
    clock = sandbox.Clock()
    month = month_of(clock.now()).shift(-1).label
    with sandbox.Store() as store:
        size = f"{counted(months, 'month')} and {counted(payments, 'payment')}"
        note(f"making a merchant with {size} (seed {seed})")
        sandbox.seed(store, sandbox.Scenario(seed, months, payments, until=clock.now()))
        with serve(sandbox.Service(store, clock)) as running:
            note(f"the sandbox answers at {running.base_url}; extracting over HTTP")
            settings = read_settings(lake.path, environ=running.environment, folder=Path("/"))
            # No views are written here: the lake may move, and they name its folder.
            read = partial(update.read_again, lake, settings)
            read(on_page=on_page)
            done = verify_lake(lake, settings)
            note(f"verified {counted(done.checked + done.unchanged, 'receipt')} offline")
            note(f"closing {month}")
            return close(lake, month, settings=settings, read=read, grace_hours=0)


def _fill(lake: Lakehouse, play: Callable[[Lakehouse], CloseResult]) -> CloseResult:
    """Fill a temporary lake and move it into place on success; else leave nothing.

    Its new name FILLED says that it is whole: after a power cut the next run moves it.
    """
    _check_is_free(lake.path)
    temporary = lake.path / FILLING
    with FileLock(lake.path / _LOCK):
        if lake.exists:
            raise LakeBusy(f"another run has filled {lake.place} in the meantime: open it")
        shutil.rmtree(temporary, ignore_errors=True)  # what a killed run left
        try:
            closed = play(Lakehouse(temporary))
            temporary.replace(lake.path / FILLED)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    finish_filling(lake)
    return closed


def finish_filling(lake: Lakehouse) -> None:
    """Move a whole temporary lake into place, `lake.json` last, if there is one."""
    whole = lake.path / FILLED
    if not whole.is_dir():
        return
    with FileLock(lake.path / _LOCK):
        if whole.is_dir():  # no other run has moved it in the meantime
            for child in sorted(whole.iterdir(), key=lambda child: child.name == "lake.json"):
                child.replace(lake.path / child.name)
            lake.storage.put_new()
            write_views(lake)
            whole.rmdir()


def _check_is_free(path: Path) -> None:
    """Make the folder, and refuse one that holds folders of our names but is no lake."""
    with system_refusals(ConfigError, f"{path} cannot hold a lake"):
        make_folder(path, PRIVATE)
        names = {child.name for child in path.iterdir()}
    folders = {Path(folder).parts[0] for folder in data_folders()} | {STATEMENTS}
    if taken := sorted(names & folders):
        raise ConfigError(f"{path} holds {taken[0]} but is not a lake: choose another folder")
