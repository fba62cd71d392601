"""`receipts`, `webhooks`: verify what the service signed, in the lake or in files.

Of a saved log of deliveries, also list the records that the lake lacks.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import click
import pyarrow as pa
from tqdm import tqdm

from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import EXIT_ATTENTION, ConfigError
from svc_analytics.formatting.tables import check_form, to_json, write_rows
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.periods import GREGORIAN, month as utc_month, parse_month
from svc_analytics.receipts import verify_files
from svc_analytics.receipts.bulk import OnlineVerifier, VerifyOnline
from svc_analytics.receipts.lake_months import count_codes
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.receipts.verify_files import IDENTICAL, OUTPUT, SAME_PAYMENT, Wanted
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import PROVEN, VERDICT_WORDS, WEBHOOK_SIGNED
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse
from svc_analytics.webhooks import reconcile as deliveries
from svc_analytics.webhooks.delivery_log import INVALID
from svc_analytics.webhooks.reconcile import ReconciledDelivery, reconcile, to_table

EVERY_COLUMN = "*"  # what --keep is without names
MANY = 300_000  # payments; below, starting processes costs more than it saves
# The lake's verdicts, of every payment or of the payments that are not proven.
_VERDICTS = """
select
    'payments/' || month || '.parquet' as source,
    null::bigint as line_no,
    verdict,
    reason,
    payment_id,
    receipt_no,
    differences
from receipt_status
where ($month is null or month = $month)
    and ($every or not list_contains($proven, verdict))
order by month, payment_id
"""
_COUNTS = """
select verdict, count(*) as receipts
from receipt_status
where $month is null or month = $month
group by verdict
"""


@click.group()
def receipts() -> None:
    """Verify the signed receipts of payments."""


@dataclass
class Report:
    """The rows, the JSON document, the summary on stderr and the exit code of one run."""

    out: str | None
    as_json: bool
    verdicts: Counter[str] = field(default_factory=Counter, init=False)
    codes: Counter[str] = field(default_factory=Counter, init=False)  # of the reasons

    @property
    def unproven(self) -> int:
        """How many receipts are not proven."""
        return sum(count for name, count in self.verdicts.items() if name not in PROVEN)

    def write(self, tables: Iterable[pa.Table], schema: pa.Schema = OUTPUT) -> None:
        """Write the rows as they come, then the JSON document."""
        rows = write_rows(tables, schema, "receipts", self.out, self.as_json)
        if self.as_json:
            counts = {"verdicts": dict(sorted(self.verdicts.items())), "unproven": self.unproven}
            click.echo(to_json(counts | rows))

    def conclude(self) -> int:
        """Sum up on stderr; return the exit code."""
        total = self.verdicts.total()
        common = self.verdicts.most_common()
        counts = ", ".join(f"{VERDICT_WORDS.get(name, name)} {count:,}" for name, count in common)
        proven = total - self.unproven
        line = f"{counted(total, 'receipt')}, {proven:,} of them proven ({counts or 'none'})"
        echo_note(line, "receipts", receipts=total, proven=proven, verdicts=self.verdicts)
        if repeated := self.codes[IDENTICAL] + self.codes[SAME_PAYMENT]:
            echo_note(
                "the token or the payment of another row is repeated in "
                f"{counted(repeated, 'row')}: see the reasons",
                "repeated_rows",
                rows=repeated,
            )
        self._doubt_secrets()
        return EXIT_ATTENTION if self.unproven else 0

    def _doubt_secrets(self) -> None:
        """Say that the secrets, and not the receipts, may be wrong."""
        total, not_signed = self.verdicts.total(), self.verdicts["bad_signature"]
        if webhook_signed := self.codes[WEBHOOK_SIGNED.code]:
            echo_note(
                f"settings error: {counted(webhook_signed, 'receipt')} signed with a webhook "
                "secret; put the receipt secret into SVC_RECEIPT_SECRETS",
                "webhook_secret",
                "warning",
                receipts=webhook_signed,
            )
        elif not_signed > 1 and self.unproven == total:
            line = "no receipt is signed with a secret of SVC_RECEIPT_SECRETS: check whose it is"
            echo_note(line, "other_secret", "warning", receipts=not_signed)


@receipts.command("verify")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--month", metavar="MONTH", help="Verify only this UTC month of the lake: 2026-10.")
@click.option(
    "--column", metavar="NAME", help="The column that holds the tokens.  [default: found]"
)
@click.option(
    "--keep",
    is_flag=False,
    flag_value=EVERY_COLUMN,
    metavar="[NAME,...]",
    help="Carry these columns of FILEs into the answer; without names, every one.",
)
@click.option(
    "--online", is_flag=True, help="Ask the service about receipts that are unsure offline."
)
@click.option("--out", metavar="FILE", help="Write this .csv, .parquet or .json file.")
@click.option("--every", is_flag=True, help="List the lake's proven payments too.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes that verify the lake.  [default: one per core; 1 for a small lake]",
)
@shared_options.patience_option
@shared_options.shared_options
def verify(
    *,
    files: tuple[str, ...],
    month: str | None,
    column: str | None,
    keep: str | None,
    online: bool,
    out: str | None,
    every: bool,
    workers: int | None,
    patience: int | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Verify the receipts of the lake, or the tokens in FILEs.

    FILEs are CSV, Parquet, JSON, NDJSON or text; - is stdin. Tokens may stand among words.
    Prints source, line_no, verdict, reason, payment_id, receipt_no and differences as CSV:
    of files, a row for each token, with the columns of --keep behind; of the lake, the
    payments that are not proven. The lake keeps the verdicts, and a later run checks only
    new and changed payments. Works offline without --online. Exits 3 when a receipt is not
    proven.
    """
    if out:
        check_form(out)
    if files and (month or every):
        raise ConfigError("--month and --every are for the lake: give no files with them")
    if keep and not files:
        raise ConfigError("--keep is for files: write their names before it")
    settings = read_settings(data_dir, patience=patience)
    settings.require_receipt_secrets()
    report = Report(out, as_json)
    with _online_verifier(settings, online) as verify_online:
        if files:
            is_plain = keep in (None, EVERY_COLUMN)
            wanted = keep is not None if is_plain else shared_options.split_names(keep)
            _verify_files(files, column, wanted, settings, verify_online, report)
        else:
            lake = shared_options.open_lake(data_dir)
            label = month and parse_month(month, now(), calendar=GREGORIAN).label
            _verify_lake(lake, label, workers, settings, verify_online)
            _report_lake(lake, label, every, report)
    raise SystemExit(report.conclude())


@contextmanager
def _online_verifier(settings: Settings, online: bool) -> Iterator[VerifyOnline | None]:
    """Connect to the service for receipts that are unsure offline; None without --online."""
    if not online:
        yield None
        return
    from svc_analytics.api.client import Client

    settings.require_service()
    with Client(settings, workers=1) as client:
        yield OnlineVerifier(client, settings.receipt_secrets).verify


def _verify_files(
    files: Sequence[str],
    column: str | None,
    wanted: Wanted,
    settings: Settings,
    verify_online: VerifyOnline | None,
    report: Report,
) -> None:
    """Verify the tokens in files, and write a row for each as it comes."""

    def counted(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            report.verdicts.update(table["verdict"].to_pylist())
            bar.update(len(table))
            yield table

    with (
        verify_files.open_passed(files, column, wanted, OUTPUT.names) as (sources, columns),
        verify_files.open_payments(Lake(settings.data_dir)) as payments,
        _bar() as bar,
    ):
        batches = read_sources(sources, column, columns.names)
        tables = verify_files.verify_batches(
            batches, payments, settings, verify_online, columns, report.codes
        )
        report.write(counted(tables), columns.output)


def _verify_lake(
    lake: Lake,
    month: str | None,
    workers: int | None,
    settings: Settings,
    verify_online: VerifyOnline | None,
) -> None:
    """Verify the lake's new and changed receipts; the lake keeps their verdicts."""
    with _bar() as bar:
        run = verify_lake(
            lake,
            settings,
            [month] if month else None,
            workers=workers or _workers_for(lake),
            verify_online=verify_online,
            on_rows=bar.update,
        )
    echo_note(
        f"{counted(run.checked, 'receipt')} checked, {run.unchanged:,} kept from an earlier check",
        "receipts_checked",
        checked=run.checked,
        unchanged=run.unchanged,
    )


def _report_lake(lake: Lake, month: str | None, every: bool, report: Report) -> None:
    """Write the verdicts that the lake keeps; of one month, without reading the others."""
    period = utc_month(month) if month else None
    bounds = (period.start, period.end) if period else None
    with open_warehouse(lake, models_used_by(_VERDICTS, _COUNTS), period=bounds) as warehouse:
        rows = warehouse.query(_VERDICTS, {"month": month, "every": every, "proven": PROVEN})
        counts = warehouse.query(_COUNTS, {"month": month}).to_pylist()
        files = warehouse.sources.files[VERDICTS_FOLDER]
        report.codes = count_codes(file for file in files if month in (None, file.stem))
    report.verdicts.update({row["verdict"]: row["receipts"] for row in counts})
    report.write([rows])


def _workers_for(lake: Lake) -> int:
    """Return how many processes to start: one for a small lake, else one per core."""
    rows = sum(footer.totals.rows for footer in lake.footers(PAYMENTS).values())
    has_affinity = hasattr(os, "sched_getaffinity")  # the cores this process may use
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return cores if rows >= MANY else 1


def _bar() -> Any:
    return tqdm(desc="verifying", unit=" receipts", disable=None, leave=False)


@click.group()
def webhooks() -> None:
    """Verify saved webhook deliveries."""


@webhooks.command("verify")
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write this .csv, .parquet or .json file.")
@shared_options.shared_options
def verify_deliveries(*, file: str, out: str | None, data_dir: str | None, as_json: bool) -> None:
    """Verify a log of deliveries; list the payments and payouts the lake lacks.

    FILE is NDJSON or a JSON list, packed with gzip or not, or - for stdin; each object holds
    received_at, signature (the header x-pay-signature) and body_base64 (the exact raw body).
    A file that is no such log is refused. Prints line_no, event_id,
    event_type, verdict, reason, subject, record_id, in_lake and differences as CSV. Exits 3
    when a delivery is not valid or contradicts its record (another order, kind or status), or
    the lake lacks a record of time that was read.
    """
    if out:
        check_form(out)
    settings = read_settings(data_dir)
    lake = Lake(settings.data_dir)
    counts = _DeliveryCounts()
    batches = reconcile(file, lake, settings.webhook_secrets)
    _write_deliveries(counts.count(batches), counts, out, as_json)
    if not counts.verdicts:
        name = "stdin" if file == "-" else file
        echo_note(f"{name} is empty: it holds no delivery", "empty_log", "warning", file=name)
    if not lake.exists:
        line = f"no lake in {lake.place}: in_lake is unknown for every delivery"
        echo_note(line, "no_lake", place=lake.place)
    raise SystemExit(counts.conclude())


class _DeliveryCounts:
    """Counts of deliveries and missing records, for the summary and the exit code."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        # The subject and the id of each, once, as the deliveries name them.
        kinds = ("missing", "contradicting", "not_in_lake_yet")
        self.records: dict[str, dict[tuple[str, str], None]] = {name: {} for name in kinds}

    def count(self, batches: Iterator[list[ReconciledDelivery]]) -> Iterator[pa.Table]:
        first = next(batches, [])  # a file that cannot be read ends it before the header
        for batch in chain([first], batches):
            for item in batch:
                self._add(item)
            yield to_table(batch)

    def _add(self, item: ReconciledDelivery) -> None:
        self.verdicts[item.delivery.verdict] += 1
        record = (str(item.delivery.subject), str(item.delivery.record_id))
        if item.differences:
            self.records["contradicting"][record] = None
        if item.in_lake is False:
            self.records["missing" if item.is_missing else "not_in_lake_yet"][record] = None

    @property
    def invalid(self) -> int:
        return sum(self.verdicts[name] for name in INVALID)

    def conclude(self) -> int:
        """Sum up on stderr; return the exit code."""
        counts = ", ".join(f"{name} {count:,}" for name, count in self.verdicts.most_common())
        total = self.verdicts.total()
        deliveries = counted(total, "delivery", "deliveries")
        line = f"{deliveries}, {self.invalid:,} of them not valid ({counts or 'none'})"
        echo_note(line, "deliveries", deliveries=total, verdicts=self.verdicts)
        missing, contrary, absent = map(len, self.records.values())
        if missing:
            line = f"{counted(missing, 'record')} missing: the lake was read for that time"
            echo_note(line, "missing_records", "warning", records=missing)
        if contrary:
            line = f"{counted(contrary, 'record')} contradicted by an event: see its differences"
            echo_note(line, "contradicted_records", "warning", records=contrary)
        if absent:
            line = f"{counted(absent, 'record')} not in the lake yet: run extract"
            echo_note(line, "records_to_extract", records=absent)
        is_odd = self.invalid or missing or contrary
        return EXIT_ATTENTION if is_odd else 0


def _write_deliveries(
    tables: Iterator[pa.Table], counts: _DeliveryCounts, out: str | None, as_json: bool
) -> None:
    rows = write_rows(tables, deliveries.OUTPUT, "deliveries", out, as_json)
    if as_json:
        document = {"verdicts": dict(sorted(counts.verdicts.items())), "invalid": counts.invalid}
        named = {
            name: [{"subject": subject, "record_id": record_id} for subject, record_id in records]
            for name, records in counts.records.items()
        }
        click.echo(to_json(document | named | rows))
