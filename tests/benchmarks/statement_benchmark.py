"""The speed and memory of a month's summary over a large lake, as ratios taken in one run.

    python tests/benchmarks/statement_benchmark.py [--payments N] [--months N] [--lake DIR]

The floor is one bare DuckDB scan that sums the summary's columns of the whole lake; the
peer is pandas over `Decimal` objects of the one month. Exits 1 when a bound does not hold.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import click
import duckdb
import pyarrow.parquet as pq
from extract_benchmark import Bound, note, seconds

from svc_analytics.coverage import Coverage
from svc_analytics.lake import Lake
from svc_analytics.monthfile import ORIGIN, Counter, Footer, Tally, write_month
from svc_analytics.periods import BEGINNING, Period, month_of, to_micros
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Stream
from svc_analytics.warehouse import open_warehouse
from svc_analytics.writer import open_writer

MERCHANT = {"id": "5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f"}
END = to_micros(datetime(2026, 11, 1, tzinfo=UTC))
REPEATS = 3
_COINS = "['usdt','usdt','usdt','btc','eth','sol'][1 + n % 6]"
# Deterministic, and exact in the contract's own sense: text to decimal, never a float.
_PAYMENTS = """
    with numbered as (
        select
            $first + i as n,
            make_timestamptz($start::bigint + i * $step::bigint) as moment
        from range($rows) as t(i)
    ),
    priced as (
        select n, moment, COINS as coin, (1 + (n * 7919) % 999999)::decimal(38,18) * 0.01 as amount
        from numbered
    )
    select
        uuid_of(n) as id, 'SVC-' || n as receipt_no, uuid_of(n + 1000000000) as session_id,
        'order-' || n as reference_id, 'completed' as status, coin as currency, amount,
        amount as charged_amount, (amount * 0.01)::decimal(38,18) as fee_amount,
        'merchant' as fee_bearer, (amount * 0.99)::decimal(38,18) as net_amount,
        amount as usd_value, uuid_of(n % 50000) as payer_id, null::varchar as metadata,
        null::varchar as receipt, moment as paid_at, null::varchar as extra, moment as extracted_at
    from priced
"""
_RECORDS = """
    with numbered as (
        select
            $first + i * 20 as n,
            make_timestamptz($start::bigint + i * 20 * $step::bigint) as moment
        from range($rows // 20) as t(i)
    ),
    sized as (
        select
            *, n % 3 = 0 as is_payout, COINS as coin,
            (1 + (n * 7919) % 999999)::decimal(38,18) * 0.005 as amount
        from numbered
    )
    select
        uuid_of(n + 2000000000) as id, 'out-' || n as reference_id,
        case when is_payout then 'payout' else 'refund' end as kind, 'completed' as status,
        coin as currency, amount,
        case when is_payout then (amount * 1.01)::decimal(38,18) else amount end as debited_amount,
        case when is_payout then (amount * 0.01)::decimal(38,18) else 0 end as fee_amount,
        case when is_payout then 1 else 0 end as fee_percent, amount as usd_value,
        uuid_of(n % 50000) as payer_id,
        case when not is_payout then uuid_of(n) end as payment_id, null::varchar as comment,
        moment + interval 1 hour as created_at, moment + interval 1 hour as settled_at,
        null::varchar as extra, moment as extracted_at
    from sized
"""
_SCAN = """
    select currency, sum(amount), sum(charged_amount), sum(fee_amount), sum(net_amount),
        sum(usd_value), count(distinct payer_id)
    from read_parquet($payments) group by currency
    union all
    select currency, sum(amount), sum(debited_amount), sum(fee_amount), sum(fee_percent),
        sum(usd_value), count(distinct payment_id)
    from read_parquet($records) group by currency
"""


def generate(lake: Lake, payments: int, months: int) -> Period:
    """Write a lake straight into month files; return its last month."""
    last = month_of(END - 1)
    with open_writer(lake, MERCHANT, END):
        pass  # folders, and the files without rows
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        connection.execute(
            "create macro uuid_of(n) as md5(n::varchar)[:8] || '-' || md5(n::varchar)[9:12] || '-4'"
            " || md5(n::varchar)[14:16] || '-a' || md5(n::varchar)[18:20] || '-' ||"
            " md5(n::varchar)[21:32]"
        )
        counter, rows = Counter(), payments // months
        for place in range(months):
            period = last.shift(place - months + 1)
            _write(connection, counter, lake, PAYMENTS, _PAYMENTS, period, place * rows, rows)
            _write(connection, counter, lake, PAYOUT_RECORDS, _RECORDS, period, place * rows, rows)
        start = last.shift(1 - months).start
        for stream in (PAYMENTS, PAYOUT_RECORDS):
            _prove_origin(lake, stream, start, counter)
    return last


def _write(
    connection: duckdb.DuckDBPyConnection,
    counter: Counter,
    lake: Lake,
    stream: Stream,
    query: str,
    period: Period,
    first: int,
    rows: int,
) -> None:
    step = (period.end - period.start - 7_200_000_000) // rows
    named = {"first": first, "rows": rows, "start": period.start, "step": step}
    used = {name: value for name, value in named.items() if f"${name}" in query}
    table = connection.sql(query.replace("COINS", _COINS), params=used).to_arrow_table()
    table = table.select(stream.schema.names).cast(stream.schema)
    table = table.sort_by([(stream.instant, "ascending"), ("id", "ascending")])
    span = (period.start, period.end)
    path = lake.month_path(stream, period.label)
    write_month(path, stream, [table], _describe(stream, span), counter)


def _prove_origin(lake: Lake, stream: Stream, start: int, counter: Counter) -> None:
    path = lake.month_path(stream, ORIGIN)
    write_month(path, stream, (), _describe(stream, (BEGINNING, start)), counter)


def _describe(stream: Stream, span: tuple[int, int]) -> Callable[[Tally], Footer]:
    def describe(tally: Tally) -> Footer:
        return Footer(
            stream.name, MERCHANT["id"], span, Coverage((span,)), tally, 0, END, "benchmark"
        )

    return describe


def scan(lake: Lake) -> None:
    """Sum the same columns of the whole lake, and nothing else."""
    with duckdb.connect() as connection:
        folders = {
            "payments": str(lake.folder(PAYMENTS) / "*.parquet"),
            "records": str(lake.folder(PAYOUT_RECORDS) / "*.parquet"),
        }
        connection.execute(_SCAN, folders).fetchall()


def summarize(lake: Lake, period: Period) -> float:
    """Return how long the summary takes in an open warehouse."""
    query = "from statement_summary(make_timestamptz($s::bigint), make_timestamptz($e::bigint))"
    with open_warehouse(lake) as warehouse:
        return seconds(lambda: warehouse.fetch(query, {"s": period.start, "e": period.end}))


def with_pandas(lake: Lake, period: Period) -> None:
    """Sum the one month's payments the way of pandas: Decimal objects in object columns."""
    names = ["currency", "amount", "charged_amount", "fee_amount", "net_amount", "usd_value"]
    frame = pq.read_table(lake.month_path(PAYMENTS, period.label), columns=names).to_pandas()
    frame["usd_net"] = [
        value * net / amount if amount else Decimal()
        for value, net, amount in zip(
            frame["usd_value"], frame["net_amount"], frame["amount"], strict=True
        )
    ]
    frame.groupby("currency").sum()


def weigh(work: str, folder: Path, label: str) -> float:
    """Return the peak memory, in MB, of a process that does one of the two."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_do_and_weigh, work, folder, label).result()


def _do_and_weigh(work: str, folder: Path, label: str) -> float:
    lake, period = Lake(folder), month_of(END - 1)
    {"summary": summarize, "pandas": with_pandas}[work](lake, period)
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000


def measure(lake: Lake, period: Period) -> list[Bound]:
    """Compare a summary with a bare scan, and with pandas."""
    scan(lake)  # the files are in the page cache from here on
    runs = [(seconds(lambda: scan(lake)), summarize(lake, period)) for _ in range(REPEATS)]
    floor, whole = (median(times) for times in zip(*runs, strict=True))
    peer = seconds(lambda: with_pandas(lake, period))
    ours, theirs = (weigh(work, lake.path, period.label) for work in ("summary", "pandas"))
    note(f"bare scan {floor:.2f} s, summary {whole:.2f} s, pandas {peer:.2f} s of one month")
    note(f"peak memory: summary {ours:.0f} MB, pandas {theirs:.0f} MB")
    return [
        Bound("summary of a month / bare scan of all", whole / floor, 8, "x"),
        Bound("peak memory of the summary", ours, 2000, "MB"),
        Bound("summary / pandas over Decimal objects", whole / peer, 1, "x"),
        Bound("memory, summary / pandas", ours / theirs, 0.34, "x"),
    ]


@click.command()
@click.option("--payments", default=10_000_000, show_default=True, type=click.IntRange(10_000))
@click.option("--months", default=36, show_default=True, type=click.IntRange(1))
@click.option("--lake", "folder", metavar="DIR", help="Keep the lake here, and use it again.")
def main(payments: int, months: int, folder: str | None) -> None:
    """Measure a month's summary and hold the figures against their bounds."""
    place: Any = nullcontext(folder) if folder else tempfile.TemporaryDirectory()
    with place as path:
        lake, began = Lake(Path(path) / "lake" if not folder else Path(path)), time.monotonic()
        period = month_of(END - 1)
        if not lake.exists:
            period = generate(lake, payments, months)
            note(f"{payments:,} payments written in {time.monotonic() - began:.0f} s")
        bounds = measure(lake, period)
    for bound in bounds:
        click.echo(bound)
    raise SystemExit(not all(bound.holds for bound in bounds))


if __name__ == "__main__":
    sys.exit(main())
