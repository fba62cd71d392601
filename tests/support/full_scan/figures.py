"""Every figure of a period by coin, and the tables `summary`, `figures` and `exposure`."""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from svc_analytics.warehouse.figures import other_figures, read_figures, summary_figures
from tests.support.full_scan.knowledge import Known, View
from tests.support.full_scan.quotients import ZERO, ratio, total
from tests.support.full_scan.rows import DAY, Row
from tests.support.full_scan.values import Values, values_of

IN_USD = (
    *("usd_gross", "usd_net_sales", "usd_fees", "usd_refunds", "usd_payouts"),
    *("closing_position", "usd_exposure", "payments_count", "usd_gross_priced_count"),
    *("refunds_count", "usd_refunds_priced_count", "payouts_count", "usd_payouts_priced_count"),
)


def summary(view: View) -> list[Row]:
    """The table `summary`."""
    names = [figure.name for figure in summary_figures()]
    return [
        {"period": view.period.label, "currency": coin} | {name: values[name] for name in names}
        for coin, values in figures_by_coin(view).items()
    ]


def figures(view: View) -> list[Row]:
    """The table `figures`."""
    return [
        {
            "name": figure.name,
            "currency": coin,
            "value": _decimal(values[figure.name]),
            "unit": figure.unit,
            "note": values["note"] if figure.note else figure.meaning,
        }
        for coin, values in figures_by_coin(view).items()
        for figure in sorted(other_figures(), key=lambda figure: figure.name)
    ]


def trend(view: View) -> list[Row]:
    """The rows of a month in the table `trend`."""
    return [
        {"month": view.period.label, "currency": coin} | {name: values[name] for name in IN_USD}
        for coin, values in figures_by_coin(view).items()
    ]


def exposure(view: View) -> list[Row]:
    """The table `exposure`."""
    found = figures_by_coin(view)
    worths = {coin: values["usd_exposure"] for coin, values in found.items()}
    known = [abs(each) for each in worths.values() if each is not None]
    whole = total(known) if known and len(known) == len(worths) else None
    rows, so_far = [], ZERO
    for coin in sorted(worths, key=lambda coin: _falling(worths[coin], coin)):
        values, own = found[coin], worths[coin]
        so_far += abs(own or ZERO)
        at = values["implied_rate_at"]
        rows.append(
            {
                "currency": coin,
                "position": values["closing_position"],
                "implied_rate": values["implied_rate"],
                "implied_rate_at": at,
                "rate_record_id": values["rate_record_id"],
                "rate_age_days": None if at is None else (view.end - at) // DAY,
                "usd_exposure": own,
                "share": None if own is None else ratio(abs(own), whole),
                "concentration": None if whole is None else ratio(so_far, whole),
            }
        )
    return rows


def _falling(value: Decimal | None, coin: str) -> tuple[bool, Decimal, str]:
    return value is None, -abs(value or ZERO), coin


@lru_cache(maxsize=1)
def figures_by_coin(view: View) -> dict[str, Values]:
    """Every figure, by coin and name: masked where something may be missing."""
    needs = {figure.name: figure.needs for figure in read_figures().values()}
    found = {}
    for coin in sorted(view.coins):
        values, known = values_of(view, coin), view.known[coin]
        is_shown = values["movements_count"] or values["closing_position"] or known.lacks_records
        if is_shown:
            found[coin] = {
                name: value if _is_known(view, known, values, needs.get(name, ())) else None
                for name, value in values.items()
            }
    return found


def _is_known(view: View, known: Known, values: Values, needs: Iterable[str]) -> bool:
    has_parents = values["refunds_unresolved_count"] == 0
    at, whole_from = values["implied_rate_at"], known.prices_whole_from
    conditions = {
        "payments": known.has_payments,
        "payouts": known.has_payouts,
        "refunds_to_date": known.has_refunds_to_date,
        "parents": has_parents or known.has_payments_before,
        "parents_within": has_parents or known.has_payments,
        "opening": known.has_opening,
        "closing": known.has_closing,
        "verdicts": bool(view.books.verdicts),
        "asserted": True,  # `values_of` leaves out what was not read
        "rate": at is not None and (whole_from is None or at >= whole_from),
    }
    return all(conditions[need] for need in needs)


def _decimal(value: Decimal | int | None) -> Decimal | None:
    return None if value is None else Decimal(value)
