"""Make a month's statement: its tables, and whether it is final or why it is provisional.

Nothing here computes a figure: figures come from the table macros of `sql/statement`,
over one snapshot of the lake. Documents are rendered later, from the statement alone.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import Instant, as_instant, as_names, check_path
from svc_analytics.config import read_settings
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.formatting.display import Display, names_of
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.standing import attach
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.periods import Period, known_until, named_month
from svc_analytics.render.document import Reason, Unknown
from svc_analytics.render.figures import figures_table
from svc_analytics.render.folder import write_folder
from svc_analytics.render.standing import document_standing, status_note
from svc_analytics.signing.secrets import Secrets, parse_ring
from svc_analytics.statements import balance_assertions as asserted
from svc_analytics.statements.digests import TableDigest, combined_digest, hash_file, table_digest
from svc_analytics.statements.metadata import check_names, with_metadata
from svc_analytics.statements.reasons import find_reasons
from svc_analytics.statements.tables import TABLES, read_omissions, read_tables
from svc_analytics.statements.unknown import unknown_figures
from svc_analytics.warehouse.acknowledgements import (
    acknowledge,
    read_acknowledgements,
)
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from svc_analytics.webhooks.findings import reconcile_log

if TYPE_CHECKING:
    import pandas as pd

_INNER = {"content_digest", "controls", "manifest"}


@dataclass(frozen=True)
class Statement(Displayable):
    """The figures of one period and their status, as an immutable value."""

    period: Period
    merchant: dict[str, Any]
    as_of: int
    coverage: dict[str, Coverage]
    reasons: tuple[Reason, ...]
    unknown: tuple[Unknown, ...]
    tables: dict[str, pa.Table]
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        standing = document_standing(self)
        marked = {name: attach(table, standing) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", marked)  # the class is frozen

    @property
    def status(self) -> str:
        """`final`, or `provisional` when there are reasons."""
        return "provisional" if self.reasons else "final"

    @property
    def needs_attention(self) -> bool:
        """Whether anything but the running month keeps the statement from being final."""
        return any(not reason.is_unfinished for reason in self.reasons)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per currency; `lake.explain` shows where each figure comes from."""
        return to_frame(self.tables["summary"])

    @property
    def lines(self) -> pd.DataFrame:
        """One row per movement of money, in stable order with the running position."""
        return to_frame(self.tables["lines"])

    @property
    def daily(self) -> pd.DataFrame:
        """One row per local day and currency, adding up to the summary."""
        return to_frame(self.tables["daily"])

    @property
    def figures(self) -> pd.DataFrame:
        """One row per currency and figure that the summary has no column for."""
        return to_frame(self.tables["figures"])

    @property
    def balances(self) -> pd.DataFrame:
        """One row per coin whose balance was asserted, with its outside movement."""
        return to_frame(asserted.balances_table(self.tables))

    @property
    def checks(self) -> pd.DataFrame:
        """One row per finding that concerns the period; none when all is well."""
        return to_frame(self.tables["checks"])

    def __dir__(self) -> list[str]:
        """Offer what a person needs; what seals are made of stays out of Tab's list."""
        return sorted(set(super().__dir__()) - _INNER)

    def _display(self) -> Display:
        period = self.period
        lines = [
            f"{period.title}: {period.local_bounds}; "
            f"{len(self.tables['lines']):,} movements; data as of {format_instant(self.as_of)}",
            status_note(self),
        ]
        lines += [unknown.text for unknown in self.unknown]
        lines += asserted.describe_balances(self.tables)
        table = figures_table(self)
        title = single_line(f"Statement {period.folder} of {names_of(self.merchant)}")
        return Display(title, lines, [table] if table.rows else [])

    def __repr__(self) -> str:
        return f"Statement({self.period.folder}, {self.status}, {len(self.tables['lines'])} lines)"

    def manifest(self, files: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Describe the statement and its files; nothing in it depends on the clock."""
        period = self.period
        return {
            "status": self.status,
            "reasons": [reason.text for reason in self.reasons],
            "unknown": [unknown.to_json() for unknown in self.unknown],
            "merchant": {key: value for key, value in self.merchant.items() if key != "read_at"},
            "label": period.folder,
            "version": 1,
            "calendar": period.calendar,
            "zone": period.zone,
            "start": format_instant(period.start),
            "end": format_instant(period.end),
            "as_of": format_instant(self.as_of),
            "coverage": {
                name: [[*map(format_instant, span), state] for *span, state in coverage.intervals()]
                for name, coverage in self.coverage.items()
            },
            "options": self.options,
            "tool_version": version("svc-analytics"),
            "files": files,
            "control": self.controls,
            "content_digest": self.content_digest(),
            "supersedes": None,
            "previous_seal": None,
            "seal": None,
        }

    @cached_property
    def controls(self) -> dict[str, TableDigest]:
        """The control totals of each table: rows, sums of money and a hash."""
        return {name: table_digest(self.tables[name]) for name in TABLES}

    def content_digest(self) -> str:
        """Return one hash over every table."""
        return combined_digest(self.controls)

    def save(self, out: str | Path, formats: Collection[str] = ("csv", "parquet")) -> Path:
        """Write the statement into a folder of its own and return the folder.

        Replaces an earlier unsealed statement; refuses a folder with anything else in it.
        """
        check_path("out", out, "out/2026-10")
        return write_folder(self, Path(out), as_names("formats", formats, "csv"))


def statement(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    now: Instant | None = None,
    as_of: Instant | None = None,
    webhooks: str | Path | None = None,
    webhook_secrets: Secrets | None = None,
    metadata: Collection[str] = (),
) -> Statement:
    """Make the statement of a month, such as `2026-10`, `oct 2026` or `last month`.

    Jalali months, such as `1405-08` or `aban 1405`, need no `calendar`; the last month
    and this month do. A figure that needs unread time is
    NULL. `as_of` (UTC microseconds) makes the statement of an earlier instant again; by
    default it is the end of the newest read. `now` (UTC microseconds) replaces this
    machine's clock. `webhooks` is a log of deliveries: a record that it names and the
    lake lacks becomes a finding; `webhook_secrets` verify it, by default those of the
    settings. `metadata` names properties of the payments' metadata to add to `lines` as
    columns.

    Raises `ConfigError` for a month that does not exist or has not begun.
    """
    check_lake(lake)
    chosen = check_names(metadata)
    local = as_instant("now", time.time_ns() // 1000 if now is None else now)
    as_of = None if as_of is None else as_instant("as_of", as_of)
    period = named_month(month, local, zone, calendar)
    with open_warehouse(lake, as_written=True) as warehouse:
        coverage = warehouse.coverage()
        read_to = _read_to(lake, coverage, as_of)
        clock = max(local, read_to)
        _require_begun(period, clock)
        known_to, as_of = known_until(period, read_to, clock), read_to if as_of is None else as_of
        tables = _read(warehouse, lake, period, as_of, known_to, chosen)
        omissions = read_omissions(warehouse, period)
    options: dict[str, Any] = {"metadata": [*chosen]} if chosen else {}
    options |= _add_findings(tables, webhooks, webhook_secrets, lake, period)
    reasons = find_reasons(period, coverage, tables["checks"], known_to, period.end <= clock)
    clipped = {name: found.clip(period.start, period.end) for name, found in coverage.items()}
    unknown = unknown_figures(tables, omissions)
    return Statement(period, lake.merchant, as_of, clipped, reasons, unknown, tables, options)


def _require_begun(period: Period, clock: int) -> None:
    """Raise `ConfigError` for a month that lies in the future."""
    if period.start >= clock:
        raise ConfigError(f"{period.folder} has not begun: choose a month up to now")


def _read_to(lake: Lake, coverage: dict[str, Coverage], as_of: int | None) -> int:
    """Return the end of the newest read; refuse an `as_of` that is later than that."""
    read_to = max((end for found in coverage.values() for _, end in found.read), default=None)
    if read_to is None:
        raise ConfigError(f"nothing was read into {lake.path} yet: run svc-analytics extract")
    if as_of is not None and read_to < as_of:
        message = f"{lake.path} was read only up to {format_instant(read_to)}: run extract first"
        raise LakeError(message)
    return read_to


def _read(
    warehouse: Warehouse,
    lake: Lake,
    period: Period,
    as_of: int,
    known_to: int,
    names: tuple[str, ...],
) -> dict[str, pa.Table]:
    """Read every table of the statement."""
    tables = read_tables(warehouse, period, as_of, known_to, asserted.read_assertions(lake.path))
    return tables | {"lines": with_metadata(warehouse, tables["lines"], names)}


def _add_findings(
    tables: dict[str, pa.Table],
    log: str | Path | None,
    secrets: Secrets | None,
    lake: Lake,
    period: Period,
) -> dict[str, Any]:
    """Add a webhook log's findings to `checks`, and who accepted what; return facts of the log."""
    checks, facts = tables["checks"], {}
    if log is not None:
        ring = read_settings(lake.path).webhook_secrets if secrets is None else parse_ring(secrets)
        result = reconcile_log(log, lake, period, ring)
        findings = pa.Table.from_pylist(result.findings, schema=checks.schema)
        checks = pa.concat_tables([checks, findings])
        facts = {"webhooks": result.facts | {"sha256": hash_file(Path(log))}}
    tables["checks"] = acknowledge(checks, read_acknowledgements(lake.path))
    return facts
