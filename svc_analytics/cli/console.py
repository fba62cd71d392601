"""What commands share: exit codes, notes on stderr, opening the lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from svc_analytics.formatting.sanitize import single_line

if TYPE_CHECKING:
    from svc_analytics.statements.statement import Statement


EXIT_ATTENTION = 3  # done, but a person should look


def open_lake(data_dir: str | None) -> Any:
    """Open the lake of the settings, for commands that need no key."""
    from svc_analytics.config import read_data_dir
    from svc_analytics.lakehouse import Lakehouse

    lake = Lakehouse(read_data_dir(data_dir))
    lake.require()
    return lake


def show_statement(made: Statement, folder: Path, *, as_json: bool) -> None:
    """Print a statement: its summary for people, or its manifest and summary as JSON."""
    from svc_analytics.cli import reports

    click.echo(
        reports.statement_json(made, folder) if as_json else reports.statement_text(made, folder)
    )


def echo_note(text: str) -> None:
    """Print a note on stderr."""
    click.echo(f"svc-analytics: {single_line(text)}", err=True)
