"""The whole path in one call: sandbox, extraction over HTTP, receipts, a closed month."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from svc_analytics import desk
from svc_analytics.closing import close
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import OnPage
from svc_analytics.periods import month_of
from svc_analytics.statements import Statement, statement
from svc_analytics.verdicts import verify_lake
from svc_analytics.warehouse import AnalyticLake


def demo_lake(
    path: str | os.PathLike[str] = "data",
    *,
    months: int = 12,
    payments: int = 20_000,
    seed: int = 7,
) -> AnalyticLake:
    """Open a lake; fill it with a made-up merchant's history if nothing is in it yet.

    A lake that holds anything is returned as it is. Needs no key; about half a minute.
    """
    from svc_analytics.reports import page_bar

    lake = AnalyticLake(path)
    if not lake.exists:
        with page_bar() as bar:
            run_demo(lake, months, payments, seed, note=_say_nothing, on_page=bar.show)
    return lake


def _say_nothing(_: str) -> None:
    """A notebook shows the bar; that is enough."""


def run_demo(
    lake: AnalyticLake,
    months: int,
    payments: int,
    seed: int,
    *,
    note: Callable[[str], None],
    on_page: OnPage | None = None,
) -> tuple[Statement, Path]:
    """Fill a lake from a sandbox of these parameters; return last month's statement and folder."""
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
            desk.extract(lake, settings, on_page=on_page)
            done = verify_lake(lake, settings)
            note(f"verified {done.checked + done.unchanged:,} receipts offline")
            month = month_of(clock.now()).shift(-1)
            note(f"closing {month.label}")
            closed = close(lake, month.label, settings=settings, grace_hours=0)
    return statement(lake, month.label), closed.folder
