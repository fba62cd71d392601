"""What one snapshot of the lake tells of a period: a statement's tables, and up to when.

Its lines may have properties of the payments' metadata as columns, those that were named. Metadata
is the merchant's own (contract, Payment): a cart, a branch, a channel.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from svc_analytics.arguments import as_names
from svc_analytics.coverage import Coverage, Span
from svc_analytics.errors import ConfigError, DataError
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period, known_until
from svc_analytics.records.raw_json import decode_text, members
from svc_analytics.render.bridge import TREND
from svc_analytics.statements.balance_assertions import Assertion
from svc_analytics.statements.explain import metadata_of
from svc_analytics.statements.finality import read_until, require_begun, require_begun_by
from svc_analytics.statements.tables import (
    count_period,
    materialize_accepted,
    read_omissions,
    read_tables,
)
from svc_analytics.statements.trend import read_trend, trend_bounds, with_own_month
from svc_analytics.warehouse.acknowledgements import Acceptances, Sealed
from svc_analytics.warehouse.warehouse import Warehouse

_PREFIX = "metadata."
_BEFORE = "receipt_verdict"  # the column that follows them
# A refund shows the metadata of its payment; a payout has none.
_QUERY = """
    select coalesce(payments.metadata, parents.metadata) as metadata
    from lines
    left join payments
        on payments.payment_id = coalesce(lines.parent_payment_id, lines.record_id)
    left join parents on parents.id = lines.parent_payment_id
    order by lines.line_no
"""
_quick_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Basis:
    """On what a statement is prepared, beside the records: which clock, which balances."""

    clock: int  # this machine's in UTC microseconds, or up to when a close has read
    assertions: Collection[Assertion]  # balances to compare with
    metadata: tuple[str, ...] = ()  # properties of payments to add to the lines
    as_of: int | None = None  # the instant to state; by default the end of the newest read
    has_trend: bool = True  # whether the months before are wanted beside the period's own tables
    now: int | None = None  # what replaces this machine's clock for what people accepted
    sealed: Sealed = frozenset()  # what the statement that is made again says was accepted
    may_be_cached: bool = False  # whether a cached trend will do; what is sealed is counted anew


@dataclass(frozen=True)
class PeriodReading:
    """The reading of a period: its tables, and the coverage that they rest on."""

    coverage: dict[str, Coverage]
    within: dict[str, Coverage]  # the same, of the period alone
    clock: int  # as_of, if it is given; else the later of this machine's and the newest reading
    as_of: int
    known_to: int
    read_to: int
    tables: dict[str, pa.Table]
    omissions: list[dict[str, Any]]
    acceptances: Acceptances
    assertions: Collection[Assertion]  # that are of the past


def read_period(lake: Lake, period: Period, basis: Basis) -> PeriodReading:
    """Read every table of a period.

    As of an instant within the period, it ends there: what came later was not known then.
    """
    if basis.as_of is not None:
        require_begun_by(period, basis.as_of)
        period = replace(period, end=min(period.end, basis.as_of))
    wider = trend_bounds(period) if basis.has_trend else None
    acceptances = Acceptances.of(lake, basis.now, basis.sealed)
    past = tuple(each for each in basis.assertions if each.counts_from <= acceptances.clock)
    basis = replace(basis, assertions=past)
    work = partial(_read, lake, period, basis, wider, acceptances)
    reading = count_period(lake, period, work, wider)
    if not basis.has_trend:
        return reading
    trend = reading.tables.get(TREND)
    if trend is None:
        at, is_anew = (reading.as_of, reading.clock), not basis.may_be_cached
        trend = read_trend(lake, period, *at, acceptances, is_anew=is_anew)
    own = with_own_month(trend, period, reading.tables)
    return replace(reading, tables=reading.tables | {TREND: own})


def _instants(basis: Basis, read_to: int) -> tuple[int, int]:
    """Return as of when a period is read, and how late it was then."""
    if basis.as_of is not None:
        return basis.as_of, basis.as_of
    return read_to, max(basis.clock, read_to)


def _read(
    lake: Lake,
    period: Period,
    basis: Basis,
    wider: Span | None,
    acceptances: Acceptances,
    warehouse: Warehouse,
) -> PeriodReading:
    """Read the tables of a period, and its trend too where all records of both are there."""
    coverage = warehouse.coverage()
    read_to = read_until(lake, coverage, basis.as_of)
    as_of, clock = _instants(basis, read_to)
    require_begun(period, clock)
    known_to = known_until(period, read_to, clock)
    has_all = wider is not None and warehouse.is_small and warehouse.sources.holds(wider)
    own_trend = partial(read_trend, lake, period, as_of, clock, acceptances, warehouse)
    trend = {TREND: own_trend()} if has_all else {}
    materialize_accepted(warehouse, acceptances.table())
    tables = read_tables(warehouse, period, as_of, known_to, basis.assertions) | trend
    tables |= {"lines": with_metadata(warehouse, tables["lines"], basis.metadata)}
    return PeriodReading(
        coverage=coverage,
        within={name: each.clip(period.start, period.end) for name, each in coverage.items()},
        clock=clock,
        as_of=as_of,
        known_to=known_to,
        read_to=read_to,
        tables=tables,
        omissions=read_omissions(warehouse, period),
        acceptances=acceptances,
        assertions=basis.assertions,
    )


def check_names(names: Collection[str]) -> tuple[str, ...]:
    """Return the names of properties in the order given; refuse empty and repeated names."""
    names = as_names("metadata", names, "cart")
    if any(name != name.encode("utf-8", "replace").decode() for name in names):
        raise ConfigError("the name of a property is not UTF-8: in the locale C, set PYTHONUTF8=1")
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError("name each property of the metadata once: --metadata cart,channel")
    return names


def with_metadata(warehouse: Warehouse, lines: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the lines with a column `metadata.NAME` for each name, NULL where a line has none.

    A text is given as it is, any other value as the JSON that the service wrote.
    """
    if not names:
        return lines
    refunded = lines["parent_payment_id"].drop_null().to_pylist()
    tables = {"lines": lines, "parents": metadata_of(warehouse.sources, refunded)}
    metadata = warehouse.query(_QUERY, tables=tables)["metadata"].to_pylist()
    rows = [read_properties(text, names) for text in metadata]
    place = lines.schema.get_field_index(_BEFORE)
    for offset, name in enumerate(names):
        values = pa.array([row.get(name) for row in rows], pa.string())
        lines = lines.add_column(place + offset, f"{_PREFIX}{name}", values)
    return lines


def name_empty(lines: pa.Table, noun: str) -> list[Message]:
    """Name in words the metadata columns that are empty in every line, perhaps misspelt."""
    chosen = [name for name in lines.column_names if name.startswith(_PREFIX)]
    empty = [name for name in chosen if len(lines) and lines[name].null_count == len(lines)]
    text = "{name} is empty in every line: no payment of the {NOUN} has this metadata"
    return [Message(text, name=name, noun=translated(noun)) for name in empty]


def read_properties(metadata: str | None, names: Collection[str]) -> dict[str, str | None]:
    """Return these properties of one payment's metadata, as text.

    >>> read_properties('{"cart": 7.10, "channel": "web", "tags": ["a"]}', ["cart", "channel"])
    {'cart': '7.10', 'channel': 'web'}
    """
    properties = _split((metadata or "{}").encode())
    return {
        name: decode_text(value) if value.startswith(b'"') else value.decode()
        for name, value in properties.items()
        if name in names and value != b"null"
    }


def _split(metadata: bytes) -> dict[str, bytes]:
    try:
        return {name: bytes(value) for name, value in _quick_members.decode(metadata).items()}
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return members(metadata)
    except DataError:  # not a JSON object, so it has no properties
        return {}
