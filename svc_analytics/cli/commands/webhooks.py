"""`webhooks`: verify a saved log of deliveries, and list the records that the lake lacks."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import click
import pyarrow as pa

from svc_analytics.cli.console import echo_note
from svc_analytics.cli.options import shared_options
from svc_analytics.config import read_settings
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting.tables import check_form, to_json, write_rows
from svc_analytics.formatting.texts import counted
from svc_analytics.lake.lake import Lake
from svc_analytics.webhooks.delivery_log import INVALID
from svc_analytics.webhooks.reconcile import OUTPUT, ReconciledDelivery, reconcile, to_table


@click.group()
def webhooks() -> None:
    """Verify saved webhook deliveries."""


@webhooks.command("verify")
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write this .csv, .parquet or .json file.")
@shared_options
def verify(file: str, out: str | None, data_dir: str | None, as_json: bool) -> None:
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
    _write(counts.count(batches), counts, out, as_json)
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
        self.missing: dict[tuple[str, str], None] = {}
        self.absent: dict[tuple[str, str], None] = {}
        self.contradicting: dict[tuple[str, str], None] = {}

    def count(self, batches: Iterator[list[ReconciledDelivery]]) -> Iterator[pa.Table]:
        first = next(batches, [])  # a file that cannot be read ends it before the header
        for batch in chain([first], batches):
            for item in batch:
                self._add(item)
            yield to_table(batch)

    def _add(self, item: ReconciledDelivery) -> None:
        self.verdicts[item.delivery.verdict] += 1
        if item.differences:
            self.contradicting[str(item.delivery.subject), str(item.delivery.record_id)] = None
        if item.in_lake is False:
            names = self.missing if item.is_missing else self.absent
            names[str(item.delivery.subject), str(item.delivery.record_id)] = None

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
        if self.missing:
            echo_note(
                f"{counted(len(self.missing), 'record')} missing: the lake was read for that time",
                "missing_records",
                "warning",
                records=len(self.missing),
            )
        if self.contradicting:
            count = len(self.contradicting)
            line = f"{counted(count, 'record')} contradicted by an event: see its differences"
            echo_note(line, "contradicted_records", "warning", records=count)
        if self.absent:
            line = f"{counted(len(self.absent), 'record')} not in the lake yet: run extract"
            echo_note(line, "records_to_extract", records=len(self.absent))
        is_odd = self.invalid or self.missing or self.contradicting
        return EXIT_ATTENTION if is_odd else 0


def _write(
    tables: Iterator[pa.Table], counts: _DeliveryCounts, out: str | None, as_json: bool
) -> None:
    rows = write_rows(tables, OUTPUT, "deliveries", out, as_json)
    if as_json:
        document = {
            "verdicts": dict(sorted(counts.verdicts.items())),
            "invalid": counts.invalid,
            "missing": _named(counts.missing),
            "contradicting": _named(counts.contradicting),
            "not_in_lake_yet": _named(counts.absent),
        }
        click.echo(to_json(document | rows))


def _named(records: dict[tuple[str, str], None]) -> list[dict[str, str]]:
    return [{"subject": subject, "record_id": record_id} for subject, record_id in records]
