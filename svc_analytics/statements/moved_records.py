"""The records of two periods, each with the one reason for which it moves a figure.

The first reason that holds is the record's: it is a one-off, its customer is new or lost, it
refunds an earlier sale, or it is a sale or a refund like others. All of it is counted in SQL.

A part is the difference of two sums in a row of sums: what the old period came to, what the new
one would have come to at the old rates, and what it came to. So the parts add up to the change
whatever the rates are, and however these sums are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from svc_analytics.money import EXACT, SCALE, round_half_up
from svc_analytics.periods import Period
from svc_analytics.schema import MONEY
from svc_analytics.statements.explain import ELSEWHERE, refunded_elsewhere
from svc_analytics.warehouse.sql_text import instant_literal
from svc_analytics.warehouse.warehouse import Warehouse

_LARGEST = 10**38  # a sum at old rates that is larger tells nothing of a new period
_NOTHING = Decimal(0)
SALES, REFUNDS, UNPRICED = "sales", "refunds", "unpriced"
LABELS = {
    SALES: "Sales after fees",
    REFUNDS: "Refunds",
    "payouts": "Payouts",
    "one_off": "One-off records",
    "new_customers": "New customers",
    "lost_customers": "Lost customers",
    "refunds_of_earlier_sales": "Refund timing: of earlier sales",
    "refunds_of_unknown_sales": "Refunds of unknown sales",
    "volume": "Volume",
    "fee_tier": "Fee tier",
    "refunds_of_own_sales": "Refunds of the period's sales",
    "price": "Price: USD per coin",
    UNPRICED: "No USD value",
}
CUSTOMERS = ("new_customers", "lost_customers")
OF = {"": "", "kept": "customers of both periods", "none": "payments without a customer"}
ONE_OFF = 20  # times the middle amount of its kind and coin: a record above that is a one-off
MOST_RECORDS = 10  # that a part names
OLD, NEW, BETWEEN = 0, 1, 2  # sides: a period each, and what moved from one end to the other
_NONE = "null::decimal(38,18)"
_KEYS = ("figure", "currency", "reason", "whose")
_RATES = pa.schema(
    [
        *((name, pa.string()) for name in _KEYS),
        *((name, MONEY) for name in ("base", "amount", "usd_base", "usd_amount", "usd")),
    ]
)
_JUDGED = f"""
    with sizes as (
        select side = {BETWEEN} as is_between, kind, currency,
            quantile_disc(abs(amount), 0.5) as middle
        from moved_records
        group by is_between, kind, currency
    ),
    present as (
        select customer, count(*) filter (where side = {OLD}) > 0 as was_there,
            count(*) filter (where side = {NEW}) > 0 as is_there
        from moved_records
        where customer is not null and side <> {BETWEEN}
        group by customer
    ),
    judged as (
        select moved_records.*,
            coalesce(middle > 0 and try(abs(amount) > {ONE_OFF} * middle), false) as is_one_off,
            case when present.customer is null then 'none' when not was_there then 'new'
                when not is_there then 'lost' else 'kept' end as who
        from moved_records
        inner join sizes on sizes.kind = moved_records.kind
            and sizes.currency = moved_records.currency
            and sizes.is_between = (side = {BETWEEN})
        left join present on present.customer = moved_records.customer
    ),
    reasoned as (
        select *,
            case when is_one_off then 'one_off'
                when side = {BETWEEN} or (who in ('none', 'kept') and sale in ('sale', 'own'))
                    then case kind when 'payment' then 'sales' when 'refund' then 'refunds'
                        else 'payouts' end
                when who in ('new', 'lost') then who || '_customers'
                else 'refunds_of_' || sale || '_sales' end as reason
        from judged
    ),
    named as (
        select *, case when side <> {BETWEEN} and reason in ('sales', 'refunds') then who
            else '' end as whose
        from reasoned
    )
    select *, 'net_settlement' as figure, net as adds,
        case when kind = 'payment' then amount else net end as base,
        case when kind = 'payment' then usd_net else -usd_value end as usd
    from named
    where side <> {BETWEEN}
    union all
    select *, 'payment_fees' as figure, fee as adds, amount as base, usd_fee as usd
    from named
    where side <> {BETWEEN} and kind = 'payment'
    union all
    select *, 'refunds_paid' as figure, amount as adds, amount as base, usd_value as usd
    from named
    where side <> {BETWEEN} and kind = 'refund'
    union all
    select *, 'usd_exposure' as figure, net as adds, amount as base, {_NONE} as usd
    from named
    where side = {BETWEEN}
"""
# In two parts each, as `total` has them: so no sum is too large to be told.
_AMOUNTS = {"base": "base", "adds": "amount", "usd": "usd", "usd_known": "value"}
_SUMMED = ", ".join(
    f"coalesce(sum({part}_part({{column}})), 0::decimal(38,18)) as {{name}}_{part}"
    for part in ("small", "large")
)
_SUMS = f"""
    select figure, currency, reason, whose, side, usd is not null as is_priced,
        count(*) as records,
        {", ".join(_SUMMED.format(column=column, name=name) for column, name in _AMOUNTS.items())}
    from (select *, case when usd is not null then usd_value end as usd_known from moved) as known
    group by figure, currency, reason, whose, side, is_priced
    order by figure, currency, reason, whose, side, is_priced
"""
_NEWEST = "select currency, record_id, kind, amount, usd_value from int_newest_priced({0}, {0})"
# What each record adds to each part: at old rates, as the parts are.
_EFFECTS = f"""
    with rated as (
        select moved.*, rates.base as old_base, rates.amount as old_amount,
            coalesce(muldiv18(moved.base, rates.amount, rates.base), adds) as at_old_fees,
            case when side = {BETWEEN} then muldiv18(adds, rates.usd, usd_amount)
                else coalesce(muldiv18(moved.base, rates.usd, usd_base), moved.usd)
            end as at_old_rates,
            coalesce(muldiv18(adds, rates.usd, usd_amount), moved.usd) as at_old_prices
        from moved
        left join rates on rates.figure = moved.figure and rates.currency = moved.currency
            and rates.reason = moved.reason and rates.whose = moved.whose
    ),
    effects as (
        select *, 'coin' as unit, case when whose = '' then reason
            when reason = 'refunds' then 'refunds_of_own_sales' else 'volume' end as part,
            case when side = {NEW} then case when whose <> '' then at_old_fees else adds end
                when side = {BETWEEN} then adds else -adds end as effect
        from rated
        union all
        select *, 'coin', 'fee_tier', try(adds - at_old_fees)
        from rated
        where side = {NEW} and reason = 'sales' and whose <> ''
        union all
        select *, 'USD', case when whose = '' then reason
            when reason = 'refunds' then 'refunds_of_own_sales' else 'volume' end,
            case when side = {NEW} and whose <> '' then at_old_rates when side = {OLD} then -usd
                else usd end
        from rated
        where usd is not null
        union all
        select *, 'USD', 'fee_tier', try(at_old_prices - at_old_rates)
        from rated
        where usd is not null and side = {NEW} and reason = 'sales' and whose <> ''
        union all
        select *, 'USD', 'price', try(usd - at_old_prices)
        from rated
        where usd is not null and side = {NEW} and whose <> ''
        union all
        select *, 'USD', 'unpriced', {_NONE}
        from rated
        where usd is null and side <> {BETWEEN}
        union all
        select *, 'USD', reason, at_old_rates
        from rated
        where side = {BETWEEN}
    ),
    ranked as (
        select *, row_number() over (
            partition by figure, currency, unit, part, whose
            order by coalesce(abs(effect), abs(adds)) desc, side, kind, record_id
        ) as place
        from effects
        where effect is null or effect <> 0
    )
    select figure, currency, unit, part, whose, place, side, kind, record_id, occurred_at,
        customer, order_reference, receipt_no, adds::decimal(38,18) as amount,
        effect::decimal(38,18) as effect
    from ranked
    where place <= {MOST_RECORDS}
    order by figure, currency, unit, part, whose, place
"""


@dataclass(frozen=True)
class Sums:
    """The sums of some records of a period."""

    records: int = 0
    base: Decimal = _NOTHING  # what fees are charged on, and what is sold
    amount: Decimal = _NOTHING  # what they add to the figure, in coin
    usd: Decimal = _NOTHING  # the same in USD, each record at its own rate
    value: Decimal = _NOTHING  # the USD value of the base

    def plus(self, other: Sums) -> Sums:
        """Add other records to these."""
        return Sums(
            self.records + other.records,
            EXACT.add(self.base, other.base),
            EXACT.add(self.amount, other.amount),
            EXACT.add(self.usd, other.usd),
            EXACT.add(self.value, other.value),
        )


@dataclass(frozen=True)
class Group:
    """Records of both periods that move a figure for one reason; `of` says whose they are."""

    reason: str
    of: str = ""

    @property
    def is_split(self) -> bool:
        """Whether what they moved is split further, by their rates."""
        return self.of != ""


@dataclass(frozen=True)
class Part:
    """A part of a change; None where it has no value, as of records without a USD value."""

    name: str
    of: str
    amount: Decimal | None
    old_records: int
    new_records: int


Sides = tuple[Sums, Sums]  # of the old period, and of the new one


def coin_parts(groups: Mapping[Group, Sides]) -> Iterator[Part]:
    """Yield the parts of a change in coin: of sales at old fees the volume, then the fee tier."""
    for group, (old, new) in groups.items():
        if not group.is_split:
            yield _part(group.reason, group, (old, new), (old.amount, new.amount))
        elif group.reason == REFUNDS:
            yield _part("refunds_of_own_sales", group, (old, new), (old.amount, new.amount))
        else:
            at_old_fees = _at_rate(new.base, old.amount, old.base, new.amount)
            yield _part("volume", group, (old, new), (old.amount, at_old_fees))
            yield _part("fee_tier", group, (old, new), (at_old_fees, new.amount))


def usd_parts(priced: Mapping[Group, Sides], unpriced: Sides) -> Iterator[Part]:
    """Yield the parts of a change in USD: volume and fee tier at old prices, then the price.

    They are of records with a USD value. Those without one are a part without a value.
    """
    for group, (old, new) in priced.items():
        if not group.is_split:
            yield _part(group.reason, group, (old, new), (old.usd, new.usd))
            continue
        at_old_rates = _at_rate(new.base, old.usd, old.base, new.usd)
        at_old_prices = at_old_rates if group.reason == REFUNDS else _at_old_prices(old, new)
        name = "refunds_of_own_sales" if group.reason == REFUNDS else "volume"
        yield _part(name, group, (old, new), (old.usd, at_old_rates))
        if group.reason != REFUNDS:
            yield _part("fee_tier", group, (old, new), (at_old_rates, at_old_prices))
        yield _part("price", group, (old, new), (at_old_prices, new.usd))
    if unpriced[0].records or unpriced[1].records:
        yield Part(UNPRICED, "", None, unpriced[0].records, unpriced[1].records)


def _at_old_prices(old: Sums, new: Sums) -> Decimal:
    """Return the new amount at old prices: without an old amount, at those of what was sold."""
    if not old.base:
        return new.usd
    if not old.amount:
        return _at_rate(new.amount, old.value, old.base, new.usd)
    return _at_rate(new.amount, old.usd, old.amount, new.usd)


@dataclass(frozen=True)
class Position:
    """A closing position, its worth in USD, and the record that gives its rate."""

    coins: Decimal
    usd: Decimal
    rate_value: Decimal | None = None  # the record's USD value
    rate_amount: Decimal | None = None


def position_parts(old: Position, new: Position, moved: Mapping[Group, Sums]) -> Iterator[Part]:
    """Yield the parts of a change of worth: each movement at the old rate, then the price."""
    rate = old if old.rate_amount else new
    coins, worth = old.coins, old.usd
    for group, sums in moved.items():
        coins = EXACT.add(coins, sums.amount)
        next_worth = _worth(coins, rate)
        amount = EXACT.subtract(next_worth, worth)
        yield Part(group.reason, "", amount, 0, sums.records)
        worth = next_worth
    yield Part("price", "", EXACT.subtract(new.usd, worth), 0, 0)


def _worth(coins: Decimal, rate: Position) -> Decimal:
    """Return coins in USD at a rate, half up at 8 places, as the figure is."""
    if not rate.rate_amount or rate.rate_value is None:
        return _NOTHING
    exact = Fraction(coins) * Fraction(rate.rate_value) / Fraction(rate.rate_amount)
    return round_half_up(exact, 8)


def _part(name: str, group: Group, sides: Sides, sums: tuple[Decimal, Decimal]) -> Part:
    old, new = sides
    amount = EXACT.subtract(sums[1], sums[0])
    return Part(name, group.of, amount, old.records, new.records)


def _at_rate(new: Decimal, part: Decimal, whole: Decimal, otherwise: Decimal) -> Decimal:
    """Return a new amount at the old rate of part to whole; `otherwise` where there is none."""
    if not whole:
        return otherwise
    exact = Fraction(new) * Fraction(part) / Fraction(whole)
    return otherwise if abs(exact) >= _LARGEST else round_half_up(exact, SCALE)


def _sales(side: int, start: str, end: str, net: str) -> str:
    return f"""
    select
        {side} as side, 'payment' as kind, payment_id as record_id, paid_at as occurred_at,
        currency, amount, {net}net_amount as net, fee_amount as fee, usd_value, usd_net, usd_fee,
        customer_in(metadata) as customer, reference_id as order_reference, receipt_no,
        'sale' as sale
    from int_period_payments({start}, {end})"""


def _refunds(side: int, start: str, end: str, net: str) -> str:
    metadata = "coalesce(payments.metadata, elsewhere.metadata)"
    return f"""
    select
        {side}, 'refund', refunds.payout_id, refunds.settled_at,
        refunds.currency, refunds.amount, {net}-refunds.debited_amount, {_NONE}, refunds.usd_value,
        {_NONE}, {_NONE}, customer_in({metadata}), payment_reference_id, payment_receipt_no,
        case when payment_paid_at is null then 'unknown'
            when payment_paid_at < {start} then 'earlier' else 'own' end
    from int_period_refunds({start}, {end}) as refunds
    left join payments on payments.payment_id = refunds.payment_id
    left join {ELSEWHERE} as elsewhere on elsewhere.id = refunds.payment_id"""


def _payouts(side: int, start: str, end: str, net: str) -> str:
    return f"""
    select
        {side}, 'payout', payout_id, settled_at, currency, amount, {net}-debited_amount, {_NONE},
        usd_value, {_NONE}, {_NONE}, null, reference_id, null, 'payout'
    from int_period_payouts({start}, {end})"""


@dataclass(frozen=True)
class Moved:
    """The sums of all records by figure, coin and reason, and the rates at both ends."""

    sums: list[dict[str, object]]
    rates: tuple[dict[str, dict[str, object]], dict[str, dict[str, object]]]  # by coin

    def groups(self, figure: str, coin: str, *, is_priced: bool) -> dict[Group, Sides]:
        """Return the sums of a coin's records by their reason: of all, or those with a USD value.

        Records that move nothing in one of the periods have sums of zero there.
        """
        groups: dict[Group, dict[int, Sums]] = {}
        for row in self._rows(figure, coin):
            if is_priced and not row["is_priced"]:
                continue
            group = Group(str(row["reason"]), str(row["whose"]))
            sides = groups.setdefault(group, {})
            side = int(str(row["side"]))
            sides[side] = sides.get(side, Sums()).plus(_sums(row))
        return {
            group: (sides.get(OLD, Sums()), sides.get(NEW, sides.get(BETWEEN, Sums())))
            for group, sides in groups.items()
        }

    def unpriced(self, figure: str, coin: str) -> Sides:
        """Return how many of a coin's records have no USD value, in either period."""
        counts = [0, 0]
        for row in self._rows(figure, coin):
            if not row["is_priced"]:
                counts[min(int(str(row["side"])), NEW)] += int(str(row["records"]))
        return Sums(counts[0]), Sums(counts[1])

    def _rows(self, figure: str, coin: str) -> list[dict[str, object]]:
        return [row for row in self.sums if (row["figure"], row["currency"]) == (figure, coin)]


def keep_moved(warehouse: Warehouse, old: Period, new: Period) -> Moved:
    """Keep the records of both periods, each with its reason, and return their sums."""
    ends = sorted([old.end, new.end])
    spans = {OLD: (old.start, old.end), NEW: (new.start, new.end), BETWEEN: (ends[0], ends[1])}
    queries = []
    for side, span in spans.items():
        start, end = map(instant_literal, span)
        # From a later period back to an earlier one, what moved between their ends is undone.
        net = "-1 * " if side == BETWEEN and new.end < old.end else ""
        makers = [_sales, _refunds, *([_payouts] if side == BETWEEN else [])]
        queries += [make(side, start, end, net) for make in makers]
    tables = {ELSEWHERE: refunded_elsewhere(warehouse)}
    warehouse.keep("moved_records", " union all ".join(queries), {}, "", tables)
    warehouse.keep("moved", _JUDGED, {}, "")
    newest = [warehouse.query(_NEWEST.format(instant_literal(each.end))) for each in (old, new)]
    rates = [{row["currency"]: row for row in table.to_pylist()} for table in newest]
    return Moved(warehouse.query(_SUMS).to_pylist(), (rates[0], rates[1]))


def largest_records(warehouse: Warehouse, moved: Moved) -> pa.Table:
    """Return the ten records that add most to each part, behind `keep_moved`."""
    keys = dict.fromkeys(tuple(str(row[name]) for name in _KEYS) for row in moved.sums)
    rates = [_rate(moved, *key) for key in keys]
    table = pa.Table.from_pylist([row for row in rates if row], schema=_RATES)
    return warehouse.query(_EFFECTS, tables={"rates": table})


def _rate(
    moved: Moved, figure: str, coin: str, reason: str, whose: str
) -> dict[str, object] | None:
    """Return the sums of the old period by which a group's records are rated, if it has any."""
    row: dict[str, object] = dict(zip(_KEYS, (figure, coin, reason, whose), strict=True))
    if figure == "usd_exposure":
        rate = moved.rates[0].get(coin) or moved.rates[1].get(coin)
        return row | {"usd": rate["usd_value"], "usd_amount": rate["amount"]} if rate else None
    group = Group(reason, whose)
    whole, priced = (moved.groups(figure, coin, is_priced=flag) for flag in (False, True))
    old = whole.get(group, (Sums(), Sums()))[0]
    row |= {"base": _held(old.base), "amount": _held(old.amount)}
    if group in priced:
        old = priced[group][0]
        row |= {"usd_base": _held(old.base), "usd_amount": _held(old.amount), "usd": _held(old.usd)}
    return row


def _held(value: Decimal) -> Decimal | None:
    """Return a sum that a column holds; None for a larger one.

    >>> _held(Decimal("-99999999999999999999.999999999999999999"))
    Decimal('-99999999999999999999.999999999999999999')
    """
    return value if value.copy_abs() < Decimal(10) ** 20 else None


def _sums(row: dict[str, object]) -> Sums:
    """Return the sums of a row, each of both of its parts."""
    amounts = [
        EXACT.add(Decimal(str(row[f"{name}_small"])), Decimal(str(row[f"{name}_large"])))
        for name in _AMOUNTS.values()
    ]
    return Sums(int(str(row["records"])), *amounts)
