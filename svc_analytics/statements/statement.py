"""Make the statement of a month, a quarter or a year, and say why it is final or provisional.

Nothing here computes a figure: figures come from the table macros of `sql/statement`,
over one snapshot of the lake. Documents are rendered later, from the statement alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import AnyPath, as_names, check, check_path
from svc_analytics.bucket.address import local_path
from svc_analytics.config import read_settings
from svc_analytics.coverage import Coverage
from svc_analytics.external_rates import ExternalRates, read_rates
from svc_analytics.files import hash_file, program_digest
from svc_analytics.formatting.display import Display, names_of
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.status_line import attach
from svc_analytics.formatting.tables import to_frame
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import MESSAGE_COLUMN
from svc_analytics.periods import Period
from svc_analytics.proofs.sealed_zones import offsets_of
from svc_analytics.proofs.statuses import WITHIN
from svc_analytics.render import document
from svc_analytics.render.differences import RESTATEMENT
from svc_analytics.render.document import Document, Hashes
from svc_analytics.render.external import convert
from svc_analytics.render.figures import figures_table
from svc_analytics.render.findings import balances_table, describe_accepted, describe_balances
from svc_analytics.render.folder import FORMAT, Note, Output, write_folder
from svc_analytics.render.month_state import MonthState
from svc_analytics.signing.secrets import Secrets, parse_ring
from svc_analytics.statements.balance_assertions import asserted_within, unread_balances
from svc_analytics.statements.finality import find_reasons, needs_met, unknown_figures
from svc_analytics.statements.reading import Basis, read_period
from svc_analytics.statements.tables import TableDigest, combined_digest, table_digests
from svc_analytics.warehouse.acknowledgements import Acceptances
from svc_analytics.warehouse.figures import definitions_digest
from svc_analytics.webhooks.reconcile import reconcile_log

if TYPE_CHECKING:
    import pandas as pd

_INNER = {"as_version", "content_digest", "converted", "controls", "manifest", "read"}


@dataclass(frozen=True, kw_only=True)
class Statement(Document, Displayable):
    """The figures of one period and their status, as an immutable value.

    `svc.statement` makes one. Its tables are frames, each a new copy of `tables[name]`, an
    Arrow table: `summary`, `figures`, `daily`, `lines`, `checks`, and in `tables` also
    `position`, `fees`, `refunds`, `cohorts`, `payouts`, `exposure` and `receipts`,
    `trend`, up to 24 months in USD, and for a quarter or a year `months`, a row for each of its
    months and coins. Amounts are exact decimals in the coin of their row; columns that begin with
    `usd_` are in US dollars; instants are in UTC; an empty cell is unknown or undefined, and
    `unknown` says why.

    `status` is `final` or `provisional`, and `reasons` say why. `as_of`, `period.start` and
    `period.end` are UTC microseconds.

    Examples:
        >>> st = svc.statement(lake, "2026-10")  # doctest: +SKIP
        >>> st.status, [reason.text for reason in st.reasons]  # doctest: +SKIP
        >>> st.summary[["currency", "net_settlement"]]  # doctest: +SKIP
    """

    coverage: dict[str, Coverage]
    read: frozenset[str] = frozenset()  # what figures need that was read, whatever the coin

    def __post_init__(self) -> None:
        status_line = document.document_status_line(self)
        marked = {name: attach(table, status_line) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", marked)  # the class is frozen

    @property
    def receipts_state(self) -> document.ReceiptsState:
        """`checked`, `partly_checked` or `not_checked`; `none` where there is no receipt."""
        return document.receipts_state(self.tables)

    @property
    def needs_attention(self) -> bool:
        """Whether anything but the running month keeps the statement from being final."""
        return any(not reason.is_unfinished for reason in self.reasons)

    @property
    def summary(self) -> pd.DataFrame:
        """Return the figures by coin: a frame with a row per currency, a column per figure.

        `lake.explain` shows where each figure comes from; `svc-analytics figures` defines them.
        """
        return to_frame(self.tables["summary"])

    @property
    def lines(self) -> pd.DataFrame:
        """Return the movements: a frame with a row per movement of money, in stable order.

        `gross`, `fee` and `net` are in the coin of the row; plus is into the wallet.
        """
        return to_frame(self.tables["lines"])

    @property
    def daily(self) -> pd.DataFrame:
        """Return the days: a frame with a row per local day and currency."""
        return to_frame(self.tables["daily"])

    @property
    def figures(self) -> pd.DataFrame:
        """Return further figures: a frame of name, currency, value, unit and note."""
        return to_frame(self.tables["figures"].drop_columns([MESSAGE_COLUMN]))

    @property
    def balances(self) -> pd.DataFrame:
        """One row per coin whose balance was asserted, with its outside movement."""
        return to_frame(balances_table(self.tables))

    @property
    def checks(self) -> pd.DataFrame:
        """Return the findings of the period: a frame with a row for each.

        The code and the values of each `detail` are in the column `message` of its table.
        """
        return to_frame(self.tables["checks"].drop_columns([MESSAGE_COLUMN]))

    def __dir__(self) -> list[str]:
        """Offer what a person needs; what seals are made of stays out of Tab's list."""
        return sorted(set(super().__dir__()) - _INNER)

    def _display(self) -> Display:
        period = self.period
        lines = [
            f"{period.title}: {period.local_bounds}; "
            f"{len(self.tables['lines']):,} movements; data as of {format_instant(self.as_of)}",
            document.status_note(self),
            *document.proof_lines(self),
        ]
        lines += [unknown.text for unknown in self.unknown]
        lines += describe_accepted(self.tables)
        lines += describe_balances(self.tables)
        table = figures_table(self)
        title = single_line(f"Statement {period.folder} of {names_of(self.merchant)}")
        return Display(title, lines, [table] if table.rows else [])

    def __repr__(self) -> str:
        status, count = document.status_word(self), len(self.tables["lines"])
        return f"Statement({self.period.folder}, {status}, {count} lines)"

    def as_version(self, version: int) -> Statement:
        """Return it as a sealed version of its month says it, in a form that the seal covers."""
        end = self.period.end
        state = MonthState(self.period, "sealed", end, version=version, statuses=WITHIN)
        return replace(self, state=state)

    def in_currency(self, currency: str, rates: AnyPath) -> Statement:
        """Return it with a second figure beside each in USD, by the rates of a file.

        `currency` is a code, such as `EUR`, or `toman`. `rates` is a CSV file with the columns
        date, currency, rate and source: how many units of the currency 1 USD was on a day. What
        moved is taken at the rate of its day, a position at that of the period's last day. The
        tables stay as they are; html, pdf and xlsx show these figures, called external.

        Raises:
            ConfigError: for a line of the file that is wrong, and for days without a rate.

        Examples:
            >>> st.in_currency("EUR", "rates.csv").save("out", ["html"])  # doctest: +SKIP
        """
        check("currency", currency, str, 'the code of a currency, such as "EUR"')
        check_path("rates", rates, "rates.csv")
        return self.converted(read_rates(local_path("rates", rates), currency))

    def converted(self, rates: ExternalRates) -> Statement:
        """Return it with a second figure beside each in USD, by rates that were read."""
        external = convert(self.tables, self.period, self.as_of, rates)
        return replace(self, external=external)

    def manifest(self, files: dict[str, Any], hashes: Hashes | None = None) -> dict[str, Any]:
        """Describe the statement and its files; nothing in it depends on the clock."""
        period = self.period
        controls = table_digests(self.tables, self._names, hashes) if hashes else self.controls
        return {
            "format": FORMAT,
            "status": self.status,
            **self._open_facts(),
            "merchant": {key: value for key, value in self.merchant.items() if key != "read_at"},
            "label": period.folder,
            "version": 1,
            "calendar": period.calendar,
            "zone": period.zone,
            **offsets_of(period),
            "start": format_instant(period.start),
            "end": format_instant(period.end),
            "as_of": format_instant(self.as_of),
            "coverage": {
                name: [[*map(format_instant, span), state] for *span, state in coverage.intervals()]
                for name, coverage in self.coverage.items()
            },
            "options": self.options,
            **program_facts(),
            "files": files,
            "control": controls,
            "content_digest": combined_digest(controls),
            "supersedes": None,
            "previous_seal": None,
            **({"month_seals": None} if period.is_longer else {}),
            "seal": None,
        }

    def _open_facts(self) -> dict[str, Any]:
        """Describe what the statement leaves open."""
        unknown = {"unknown": [each.to_json() for each in self.unknown]}
        return document.reason_facts(self.reasons) | unknown | {"receipts": self.receipts_state}

    @cached_property
    def controls(self) -> dict[str, TableDigest]:
        """The control totals of each table: rows, sums of money and a hash."""
        return table_digests(self.tables, self._names)

    @property
    def _names(self) -> list[str]:
        """The tables that its content is; what differs from an earlier version is none."""
        return [name for name in self.tables if name != RESTATEMENT]

    def content_digest(self) -> str:
        """Return one hash over every table."""
        return combined_digest(self.controls)

    def save(
        self,
        out: str | Path,
        formats: Collection[str] = ("csv", "parquet"),
        *,
        lang: str = "en",
        digits: str = "latin",
        note: Note = lambda text: None,
    ) -> Path:
        """Write the statement into a folder of its own and return the folder.

        `formats` are csv, parquet, xlsx, html, json, journal, books and pdf, in a list; a month
        that is not final has no books. Replaces an earlier unsealed statement there. `note` is
        called with what is being written.

        `lang` is the language of xlsx, html and pdf: `en`, `fa` (Persian) or `en+fa` (both);
        `digits` are `latin` or `fa`. The other formats are the same in every language.

        Returns:
            The folder's path. It holds a file per table and format, and `manifest.json`.

        Raises:
            ConfigError: for an unknown format or language, or a text in place of a list.
            LakeError: when the folder is sealed, or holds anything else, or cannot be written.
            PeriodNotClosed: for the books of a month that is not final.

        Examples:
            >>> st.save("out/2026-10", formats=["xlsx", "html"])  # doctest: +SKIP
        """
        check_path("out", out, "out/2026-10")
        language, forms = Language(lang, digits), as_names("formats", formats, "csv")
        return write_folder(self, local_path("out", out), Output(forms, language, note))


def program_facts() -> dict[str, str]:
    """Name the program that makes a statement, and its definitions of figures."""
    return {
        "tool_version": version("svc-analytics"),
        "program_digest": program_digest(),
        "definitions_digest": definitions_digest(),
    }


def prepare(
    lake: Lake,
    period: Period,
    basis: Basis,
    webhooks: str | Path | None = None,
    webhook_secrets: Secrets | None = None,
) -> Statement:
    """Make the statement of a period on a basis, with the findings of a log of webhooks."""
    reading = read_period(lake, period, basis)
    tables, seen = reading.tables, reading.assertions
    options: dict[str, Any] = {"metadata": [*basis.metadata]} if basis.metadata else {}
    options["assertions"] = [each.to_json() for each in asserted_within(seen, period)]
    options |= add_findings(tables, (webhooks, webhook_secrets), lake, period, reading.acceptances)
    is_over = period.end <= reading.clock
    coins = tables["summary"]["currency"].to_pylist()
    unread = unread_balances(seen, period, coins, reading.read_to)
    return Statement(
        period=period,
        merchant=lake.merchant,
        as_of=reading.as_of,
        coverage=reading.within,
        reasons=find_reasons(period, reading.coverage, tables["checks"], reading.known_to, is_over),
        unknown=(*unknown_figures(tables, reading.omissions), *unread),
        tables=tables,
        options=options,
        read=needs_met(reading.omissions),
    )


# ---------- The findings of a statement
# Those of its checks, of a log of webhooks, and who accepted any.


def add_findings(
    tables: dict[str, pa.Table],
    webhooks: tuple[str | Path | None, Secrets | None],
    lake: Lake,
    period: Period,
    acceptances: Acceptances,
) -> dict[str, Any]:
    """Add a webhook log's findings to `checks`, and who accepted what; return facts of the log."""
    (log, secrets), checks, facts = webhooks, tables["checks"], {}
    if log is not None:
        ring = read_settings(lake.path).webhook_secrets if secrets is None else parse_ring(secrets)
        result = reconcile_log(log, lake, period, ring)
        findings = pa.Table.from_pylist(result.findings, schema=checks.schema)
        checks = pa.concat_tables([checks, findings])
        facts = {"webhooks": result.facts | {"sha256": hash_file(Path(log))}}
    accepted = acceptances.applied_to(checks)
    people_read = [name for name in accepted.column_names if name != MESSAGE_COLUMN]
    tables["checks"] = accepted.select([*people_read, MESSAGE_COLUMN])
    return facts
