"""The whole path in one call: sandbox, extraction over HTTP, statement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from svc_analytics import desk
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import OnPage
from svc_analytics.periods import month_of
from svc_analytics.statements import Statement, statement
from svc_analytics.warehouse import AnalyticLake


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
    month = month_of(clock.now()).shift(-1)
    note(f"making the statement of {month.label}")
    made = statement(lake, month.label)
    return made, made.save(lake.path / "statements" / month.folder)
