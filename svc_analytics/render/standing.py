"""What a statement is worth: its period, zone and status, and what the status rests on."""

from svc_analytics.formatting.numbers import coin_scales
from svc_analytics.formatting.standing import Standing
from svc_analytics.instants import from_micros
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.periods import load_zone, month_of
from svc_analytics.render.document import Document

_RESTS = "payments and payout records were read up to its end, and no blocking finding is open"
_LATER = "Final is not sealed: a late record can still change these figures."
_FINAL = (
    f"Final: the month is over, {_RESTS}. {_LATER} "
    "svc-analytics close reads the month twice and seals it, a day after its end."
)
_SEALED = (
    f"Sealed: the month is over, {_RESTS}; two readings saw the same records. The seal fixes every "
    "file: a later change makes a new version beside this one."
)
_LONGER_FINAL = (
    "Final: the {} is over, "
    f"{_RESTS}. {_LATER} "
    "svc-analytics close seals a quarter or a year when each of its months is sealed."
)
_LONGER_SEALED = (
    "Sealed: the {} is over, "
    f"{_RESTS}; each of its months was read twice and sealed before. The "
    "seal fixes every file: a later change makes a new version beside this one."
)
_PROVISIONAL = "Provisional: its figures can still change, because"
_AMOUNTS = ("currency", "gross", "fee", "net")  # of a line: the places of its coin


def document_standing(
    statement: Document, *, is_sealed: bool = False, language: Language = ENGLISH
) -> Standing:
    """Return what every table and picture of a statement says of itself."""
    period, at = statement.period, from_micros(statement.as_of)
    lines = statement.tables["lines"]
    amounts = lines.select([name for name in _AMOUNTS if name in lines.column_names])
    return Standing(
        text=standing_text(statement, is_sealed=is_sealed),
        first_open_day=f"{at.astimezone(load_zone(period.zone)):%Y-%m-%d}",
        first_open_month=month_of(statement.as_of, period.zone, period.calendar).label,
        scales=coin_scales([statement.tables["summary"], amounts]),
        calendar=period.calendar,
        language=language.code,
        digits=language.digits,
    )


def standing_text(statement: Document, *, is_sealed: bool = False) -> str:
    """Return a statement's period, zone and status in one line, with the first reason."""
    period = statement.period
    calendar = "" if period.calendar == "gregorian" else f" ({period.calendar})"
    head = f"{period.label}{calendar}, {period.zone} · "
    if not statement.reasons:
        return head + ("sealed" if is_sealed else statement.status)
    others = len(statement.reasons) - 1
    more = f", and {others} more reason{'s' * (others > 1)}" if others else ""
    read = f"read up to {from_micros(statement.as_of):%Y-%m-%d %H:%MZ}"
    return f"{head}{statement.status}, {read}: {statement.reasons[0].text}{more}"


def status_note(statement: Document, *, is_sealed: bool = False) -> str:
    """Return what a statement's status rests on, in sentences for people."""
    if statement.reasons:
        return f"{_PROVISIONAL} {'; '.join(reason.text for reason in statement.reasons)}."
    period = statement.period
    if period.is_longer:
        return (_LONGER_SEALED if is_sealed else _LONGER_FINAL).format(period.noun)
    return _SEALED if is_sealed else _FINAL
