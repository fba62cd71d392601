"""The speed and memory of a month's summary over a large lake, as ratios taken in one run.

    python -m tests.benchmarks.statement_benchmark [--payments N] [--months N] [--lake DIR]

The floor is one bare DuckDB scan that sums the summary's columns of the whole lake; the
peer is pandas over `Decimal` objects of the one month alone. Exits 1 when a bound does not hold.
"""

import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import click
import duckdb
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage
from svc_analytics.instants import BEGINNING, to_micros
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.partition import write_partition
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.periods import Period, month_of
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Stream
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.benchmarks.bounds import Bound, note, seconds

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
        (amount * (1 + n % 97) * 1.37)::decimal(38,18) as usd_value,
        uuid_of(n % 50000) as payer_id, null::varchar as metadata,
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
        case when is_payout then 1 else 0 end as fee_percent,
        (amount * (1 + n % 97) * 1.37)::decimal(38,18) as usd_value,
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
        rows = payments // months
        for place in range(months):
            period = last.shift(place - months + 1)
            _write(connection, lake, PAYMENTS, _PAYMENTS, period, place * rows, rows)
            _write(connection, lake, PAYOUT_RECORDS, _RECORDS, period, place * rows, rows)
        start = last.shift(1 - months).start
        for stream in (PAYMENTS, PAYOUT_RECORDS):
            _prove_origin(lake, stream, start)
    return last


def only(lake: Lake, folder: Path, period: Period) -> Lake:
    """Return a lake of one month of another."""
    month = Lake(folder)
    if not month.exists:
        with open_writer(month, MERCHANT, END):
            pass
        for stream in (PAYMENTS, PAYOUT_RECORDS):
            _prove_origin(month, stream, period.start)
            shutil.copy(
                lake.month_path(stream, period.label), month.month_path(stream, period.label)
            )
    return month


def _write(
    connection: duckdb.DuckDBPyConnection,
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
    table = table.select(stream.record_schema.names).cast(stream.record_schema)
    table = table.sort_by([(stream.instant, "ascending"), ("id", "ascending")])
    span = (period.start, period.end)
    path = lake.month_path(stream, period.label)
    write_partition(lake.storage, path, stream, [table], _footer(stream, span))


def _prove_origin(lake: Lake, stream: Stream, start: int) -> None:
    path = lake.month_path(stream, ORIGIN)
    write_partition(lake.storage, path, stream, (), _footer(stream, (BEGINNING, start)))


def _footer(stream: Stream, span: tuple[int, int]) -> PartitionFooter:
    return PartitionFooter(stream.name, MERCHANT["id"], span, Coverage((span,)), 0, END)


def scan(lake: Lake) -> None:
    """Sum the same columns of the whole lake, and nothing else."""
    with duckdb.connect() as connection:
        folders = {
            "payments": str(lake.folder(PAYMENTS) / "*.parquet"),
            "records": str(lake.folder(PAYOUT_RECORDS) / "*.parquet"),
        }
        connection.execute(_SCAN, folders).fetchall()


def summarize(lake: Lake, period: Period) -> float:
    """Return how long summary and cohorts take in an open warehouse."""
    bounds = "(make_timestamptz($s::bigint), make_timestamptz($e::bigint))"
    edges = {"s": period.start, "e": period.end}
    with open_warehouse(lake) as warehouse:
        return seconds(
            lambda: [
                warehouse.query(f"from {macro}{bounds}", edges)
                for macro in ("statement_summary", "statement_cohorts")
            ]
        )


def with_pandas(lake: Lake, period: Period) -> None:
    """Make the one month's figures the way of pandas: Decimal objects in object columns.

    What lies before the month, positions and refunds of earlier payments, is spared it.
    """
    paid, moved = (
        pq.read_table(lake.month_path(stream, period.label), columns=names).to_pandas()
        for stream, names in ((PAYMENTS, _PAID), (PAYOUT_RECORDS, _MOVED))
    )
    for name, part in (("usd_net", "net_amount"), ("usd_fees", "fee_amount")):
        paid[name] = _share(paid["usd_value"], paid[part], paid["amount"])
    refunds = moved[moved["kind"] == "refund"].merge(
        paid, left_on="payment_id", right_on="id", suffixes=("", "_paid")
    )
    refunds["leakage"] = _share(
        refunds["fee_amount_paid"], refunds["amount"], refunds["charged_amount"]
    )
    paid.groupby("currency")[[*_SUMS, "usd_net", "usd_fees"]].sum()
    paid.groupby("currency")["payer_id"].nunique()
    moved.groupby(["kind", "currency"])[["amount", "debited_amount", "fee_amount"]].sum()
    refunds.groupby("currency")[["amount", "leakage"]].sum()
    refunds.groupby(["payment_id", "currency"])["amount"].sum()


_SUMS = ["amount", "charged_amount", "fee_amount", "net_amount", "usd_value"]
_PAID = ["id", "payer_id", "currency", *_SUMS]
_MOVED = ["kind", "payment_id", "currency", "amount", "debited_amount", "fee_amount"]
_WIDE = Context(prec=80, rounding=ROUND_HALF_UP)
_UNIT = Decimal("1e-18")


def _share(values: Any, parts: Any, wholes: Any) -> list[Decimal]:
    """Multiply, divide once, and round once, record by record."""
    return [
        _WIDE.divide(_WIDE.multiply(value, part), whole).quantize(_UNIT, context=_WIDE)
        for value, part, whole in zip(values, parts, wholes, strict=True)
    ]


def weigh(work: str, folder: Path) -> tuple[float, float]:
    """Return the peak memory of a process that does one of the two, and without its libraries.

    In MB. What loading the libraries takes is the same for a month of any size.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_do_and_weigh, work, folder).result()


def _do_and_weigh(work: str, folder: Path) -> tuple[float, float]:
    import_module({"summary": "duckdb", "pandas": "pandas"}[work])
    before = _memory("VmRSS")
    {"summary": summarize, "pandas": with_pandas}[work](Lake(folder), month_of(END - 1))
    peak = _memory("VmHWM")
    return peak, peak - before


def _memory(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1000


def measure(lake: Lake, month: Lake) -> list[Bound]:
    """Compare a month's figures with a bare scan of all, and with pandas on the month alone."""
    period = month_of(END - 1)
    scan(lake)  # the files are in the page cache from here on
    runs = [
        (
            seconds(lambda: scan(lake)),
            summarize(lake, period),
            summarize(month, period),
            seconds(lambda: with_pandas(month, period)),
        )
        for _ in range(REPEATS)
    ]
    floor, whole, own, peer = (median(times) for times in zip(*runs, strict=True))
    whole_mb, _ = weigh("summary", lake.path)
    own_all, own_mb = weigh("summary", month.path)
    peer_all, peer_mb = weigh("pandas", month.path)
    note(f"bare scan {floor:.2f} s, summary and cohorts {whole:.2f} s, {whole_mb:.0f} MB")
    note(f"of a lake of that month alone: {own:.2f} s, {own_mb:.0f} MB of {own_all:.0f}")
    note(f"pandas on that month alone: {peer:.2f} s, {peer_mb:.0f} MB of {peer_all:.0f}")
    return [
        Bound("summary and cohorts of a month / bare scan of all", whole / floor, 8, "x"),
        Bound("peak memory of them", whole_mb, 2000, "MB"),
        Bound("the month alone / pandas over Decimal objects", own / peer, 1, "x"),
        Bound("memory without libraries, the month alone / pandas", own_mb / peer_mb, 0.34, "x"),
    ]


@click.command()
@click.option("--payments", default=10_000_000, show_default=True, type=click.IntRange(10_000))
@click.option("--months", default=36, show_default=True, type=click.IntRange(1))
@click.option("--lake", "folder", metavar="DIR", help="Keep the lakes here, and use them again.")
def main(payments: int, months: int, folder: str | None) -> None:
    """Measure a month's summary and compare the figures with their bounds."""
    place: Any = nullcontext(folder) if folder else tempfile.TemporaryDirectory()
    with place as path:
        lake, began = Lake(Path(path) / "lake"), time.monotonic()
        period = month_of(END - 1)
        if not lake.exists:
            generate(lake, payments, months)
            note(f"{payments:,} payments written in {time.monotonic() - began:.0f} s")
        bounds = measure(lake, only(lake, Path(path) / "month", period))
    for bound in bounds:
        click.echo(bound)
    raise SystemExit(not all(bound.holds for bound in bounds))


if __name__ == "__main__":
    sys.exit(main())
