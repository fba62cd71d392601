"""Figures of each coin by month, for the months that end with a given one, or a statement's own."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Span
from svc_analytics.errors import ConfigError
from svc_analytics.files import program_digest, read_cached, write_cached
from svc_analytics.instants import now as machine_clock
from svc_analytics.lake.checksums import content_digests, require_whole
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.lake.layout import ORIGIN, data_folders
from svc_analytics.periods import Period, known_until, utc_months
from svc_analytics.render.bridge import stated_rows
from svc_analytics.render.compared.figures import chosen_figures
from svc_analytics.statements.finality import read_until
from svc_analytics.statements.months import count_months, keep_known, months_begun, schema_of
from svc_analytics.statements.tables import materialize_accepted
from svc_analytics.warehouse.acknowledgements import Acceptances
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.figures import PRICED, Figure, read_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, count

MONTHS = 12
_KIND = "trend"  # of what is cached
_STATED = 24  # months of a statement: each month stands beside that of the year before
_ASSERTED = ("asserted_balance", "outside_movement")  # of the days that a person asserted
# What the headline of a month and its year are made of.
_IN_USD = (
    *("usd_gross", "usd_net_sales", "usd_fees", "usd_refunds", "usd_payouts"),
    *("closing_position", "usd_exposure"),
    *(name for pair in PRICED.items() for name in pair),
)
# What every month asks for again, each behind what it is made of: read once.
_MATERIALIZED = (
    *("stg_files", "stg_contents", "stg_totals", "stg_spans", "stg_quarantine", "stg_accepted"),
    *("int_lake", "int_coverage_gaps", "int_omissions", "int_coins", "stg_verified"),
)
# Few records, too: each month's newest rate is a query of its own, and planned much sooner so.
_MATERIALIZED_IF_SMALL = (
    *("payments", "payout_records", "ledger_entries", "int_payment_entries"),
    *("int_payout_entries", "int_priced_entries"),
)


def monthly_figures(
    lake: Lake, figures: Sequence[str], last: Period, months: int = MONTHS, now: int | None = None
) -> pa.Table:
    """Return figures of each coin in each of the last `months`, the oldest first.

    The months are those of the calendar and zone of `last`, from the first that has a record.
    Its columns are `month`, `currency`, the figures (NULL where unknown, zero where a month
    has none of it) and `is_running`: whether the month is not over. Raises
    `ConfigError` for a figure that no statement has.
    """
    chosen = list(map(_chosen, figures))
    local = machine_clock() if now is None else now
    known = set(known_months(lake, last.zone, last.calendar))
    periods = [period for period in map(last.shift, range(1 - months, 1)) if period.label in known]
    if not periods:
        raise ConfigError(f"{lake.place} holds no month up to {last.label}: choose a later one")
    used = models_used_by(select_figures(chosen)) or frozenset()
    bounds = (periods[0].start, periods[-1].end)  # what is needed of other months is there too

    def work(warehouse: Warehouse) -> pa.Table:
        _keep(warehouse, used)
        read_to = read_until(lake, warehouse.coverage(), None)
        clock = max(local, read_to)
        keep_known(warehouse, periods, read_to, clock)
        table = count_months(warehouse, periods, chosen, read_to, clock, every_coin=True)
        running = pa.array([each.label for each in periods if each.end > clock], pa.string())
        return table.append_column("is_running", pc.is_in(table["month"], value_set=running))

    return count(lake, used, work, period=bounds)


def _chosen(name: str) -> Figure:
    """Return the figure of that name or label; asserted balances have no trend."""
    [figure] = chosen_figures([name])
    if figure.name in _ASSERTED:
        raise ConfigError(f"{figure.name} has no trend: a person asserts it for single days")
    return figure


def trend_bounds(period: Period) -> Span:
    """Return the time of all months that the trend of a statement may have."""
    return period.months[0].shift(1 - _STATED).start, period.end


def read_trend(
    lake: Lake,
    period: Period,
    as_of: int,
    clock: int,
    acceptances: Acceptances,
    warehouse: Warehouse | None = None,
    *,
    is_anew: bool = False,
) -> pa.Table:
    """Return a row per coin and each of at most 24 months that end with a statement's last.

    They begin with the first month that has a record. Those before a month's own, and all of a
    longer period, are counted as a statement of each would be, to the instant that it is as of. A
    figure is NULL where it is unknown. A `warehouse` that holds them all is asked, if there is one,
    before anything of a single period is kept in it. Without one the trend is cached, for as long
    as the lake stays as it is, for it takes a third of a statement's time; `is_anew` counts it all
    the same, as a seal and its verification must.
    """
    months = _other_months(lake, period, clock)
    if not months:
        return schema_of(_figures()).empty_table()
    used = models_used_by(select_figures(_figures())) or frozenset()
    accepted = acceptances.table()
    work = partial(_count, months=months, used=used, as_of=as_of, clock=clock, accepted=accepted)
    if warehouse:
        return work(warehouse).cast(schema_of(_figures()))
    known_to = [known_until(month, as_of, clock) for month in months]
    facts = [lake.merchant_id, lake.engine, *months, as_of, known_to, accepted.to_pylist()]
    made_of = "\n".join(map(str, [program_digest(), *facts]))
    span = (months[0].start, months[-1].end)
    ask = partial(count, lake, used, work, period=span)
    return _cached(lake, span, made_of, ask, is_anew=is_anew)


def _cached(
    lake: Lake, span: Span, made_of: str, ask: Callable[[], pa.Table], *, is_anew: bool
) -> pa.Table:
    """Return the trend of a span that was cached, of files that are whole; or ask for it."""
    records = _records(lake)
    content = None if is_anew else read_cached(_KIND, f"{made_of}\n{records}")
    if content:
        labels = {ORIGIN, *(month.label for month in utc_months(*span))}
        for path in filter(lambda path: PurePath(path).stem in labels, records):
            require_whole(lake.path / path)
        return pa.ipc.open_stream(content).read_all()
    table = ask().cast(schema_of(_figures()))
    if records == _records(lake):
        write_cached(_KIND, f"{made_of}\n{records}", lambda: _as_bytes(table))
    return table


def _records(lake: Lake) -> dict[str, str]:
    return content_digests(lake.path, [f"{name}/*.parquet" for name in data_folders()])


def _as_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def with_own_month(trend: pa.Table, period: Period, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Add the month of a statement to those before it; a longer period's are all there."""
    own = [] if period.is_longer else _own(period, tables)
    return pa.concat_tables([trend, pa.Table.from_pylist(own, schema_of(_figures()))])


def _other_months(lake: Lake, period: Period, clock: int) -> list[Period]:
    """Return the months that a trend counts; what a longer period leaves out, they do too."""
    known = set(known_months(lake, period.zone, period.calendar))
    begun = months_begun(period, clock)
    first = period.months[0]
    before = map(first.shift, range(max(len(begun), 1) - _STATED, 0))
    return [each for each in (*before, *begun) if each.label in known]


def _count(
    warehouse: Warehouse,
    months: Sequence[Period],
    used: frozenset[str],
    as_of: int,
    clock: int,
    accepted: pa.Table,
) -> pa.Table:
    materialize_accepted(warehouse, accepted)
    _keep(warehouse, used)
    keep_known(warehouse, months, as_of, clock)
    return count_months(warehouse, months, _figures(), as_of, clock)


def _keep(warehouse: Warehouse, used: frozenset[str]) -> None:
    names = (*(_MATERIALIZED_IF_SMALL if warehouse.is_small else ()), *_MATERIALIZED)
    for name in filter(used.__contains__, names):
        warehouse.keep(name, f"from {name}", {}, "")


def _own(period: Period, tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """Return the rows of the statement's own month."""
    return [
        {"month": period.label, **{name: row.get(name) for name in ("currency", *_IN_USD)}}
        for row in stated_rows(tables)
    ]


def _figures() -> list[Figure]:
    return [read_figures()[name] for name in _IN_USD]
