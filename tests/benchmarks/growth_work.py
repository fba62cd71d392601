"""The pieces of work whose growth is measured, each on a lake of `growth_lakes`."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from svc_analytics import ExtractionResult, Period, Settings, close, statement
from svc_analytics.coverage import Span
from svc_analytics.extraction.workers import BUFFER_LIMIT
from svc_analytics.instants import DAY, HOUR
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import LakeWriter, open_writer
from svc_analytics.notebook.desk.records import MonthRecords, View, Wanted
from svc_analytics.receipts.verify_lake import verify_month
from svc_analytics.schema import PAYMENTS, STREAMS, Stream
from svc_analytics.signing.secrets import Secret, SigningSecret
from svc_analytics.statements.rules import find_exceptions
from svc_analytics.warehouse import connection
from svc_analytics.warehouse.figure_sql import counted_apart
from svc_analytics.warehouse.figures import summary_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.benchmarks.growth_lakes import END, MERCHANT, NEWEST, Part, Shape, batches, parts

NOW = END + 2 * DAY
PAGE = 2_000  # records that arrive together: some pages of the list
NEW = 100  # payments that a refresh brings

Page = tuple[Stream, pa.Table, Span]  # records, and the time that they are all of


def summarize(folder: Path, period: Period = NEWEST, memory: str | None = None) -> None:
    """Make the summary of a period alone, as a statement does, within so much memory."""
    if memory:
        connection.MOST_MEMORY = memory
    bounds = "(make_timestamptz($s::bigint), make_timestamptz($e::bigint))"
    edges = {"s": period.start, "e": period.end}
    with open_warehouse(Lake(folder), period=(period.start, period.end)) as warehouse:
        for name, signature in counted_apart(summary_figures()).items():
            warehouse.keep(name, f"from {name}{bounds}", edges, signature)
        warehouse.query(f"from statement_summary{bounds}", edges)


def state(folder: Path) -> None:
    """Make the newest month's whole statement."""
    assert statement(Lake(folder), NEWEST.label, now=NOW).status == "final"


def close_newest(folder: Path) -> None:
    """Close the newest month: as `close` does, but that no service is read before."""
    with tempfile.TemporaryDirectory() as out:
        result = ExtractionResult(MERCHANT["id"], NOW, is_confirmed=True)
        closed = close(Lake(folder), NEWEST.label, read=lambda request: result, out=f"{out}/month")
        assert closed.seal


def verify_newest(folder: Path) -> None:
    """Verify the newest month's receipts, as `close` does where it has a secret.

    No secret signed them, which takes longer to find than that one did.
    """
    secret = SigningSecret(Secret("of the benchmark, of no merchant's receipt"))
    settings = Settings(receipt_secrets=(secret,))
    assert verify_month(Lake(folder), settings, NEWEST.start, NEWEST.end).checked


def check(folder: Path) -> None:
    """Check the whole lake, as the command `check` does."""
    with open_warehouse(Lake(folder)) as warehouse:
        assert not len(find_exceptions(warehouse))


def query(folder: Path, text: str = "from fees_monthly") -> None:
    """Answer a query, as the command `sql` does."""
    with open_warehouse(Lake(folder), models_used_by(text)) as warehouse:
        warehouse.query_readonly(text)


def drill(folder: Path) -> None:
    """Look behind a figure of the newest month, and at one record, as the close desk does."""
    records = MonthRecords(Lake(folder), NEWEST)
    view = View(column="net", is_descending=True)
    found = records.behind(Wanted("net_settlement", "usdt"), view)
    assert found.count and records.find(*found.record(0))
    records.close()


def refresh(folder: Path, shape: Shape) -> None:
    """Publish some payments more of the newest month, as a run of `extract` does."""
    newest = parts(shape)[-1]
    more = Part(newest.place, newest.period, shape.payments, NEW)
    with open_writer(Lake(folder), MERCHANT, NOW) as writer:
        writer.begin_run(watermark=END, is_open_ended=True, judged_at=NOW)
        for rows in batches(PAYMENTS, more, NEW):
            writer.buffer(PAYMENTS).add(_records(PAYMENTS, rows))
        writer.buffer(PAYMENTS).cover((newest.period.end - HOUR, newest.period.end))
        writer.publish()


def extract(folder: Path, shape: Shape) -> float:
    """Hand all records to the writer of a new lake, newest first.

    Returns the writer's own processor time: making the records takes some too.
    """
    with open_writer(Lake(folder), MERCHANT, NOW) as writer:
        writer.begin_run(watermark=END, is_open_ended=True, judged_at=NOW)
        worked = sum(
            _taken(writer, page) for part in reversed(parts(shape)) for page in _newest_first(part)
        )
        began = time.process_time()
        writer.publish()
        return worked + time.process_time() - began


def _newest_first(part: Part) -> Iterator[Page]:
    """Yield a month's records, the newest first, and with each page the time down to it."""
    for stream in STREAMS.values():
        top = part.period.end
        for rows in batches(stream, part, PAGE, is_reversed=True):
            first = int(stream.instants(rows)[0])
            yield stream, _records(stream, rows), (first, top)
            top = first
        yield stream, stream.no_rows, (part.period.start, top)


def _records(stream: Stream, rows: pa.Table) -> pa.Table:
    """Return rows as they are read, without what a month file adds to them."""
    return rows.select(stream.record_schema.names)


def _taken(writer: LakeWriter, page: Page) -> float:
    """Hand over a page as the extraction's writing thread does; return the processor time."""
    began = time.process_time()
    stream, rows, span = page
    buffer = writer.buffer(stream)
    buffer.add(rows, (), rows.nbytes)
    buffer.cover(span)
    if writer.buffered_bytes >= BUFFER_LIMIT:
        writer.publish(holds_back=True)
    return time.process_time() - began
