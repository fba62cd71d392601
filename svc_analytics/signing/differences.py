"""What a receipt and its record say differently: each fact with both values, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from svc_analytics.errors import DataError
from svc_analytics.formatting.ids import canonical_id
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.instants import format_instant, parse_instant
from svc_analytics.messages import Message
from svc_analytics.money import format_amount, group_digits, parse_amount
from svc_analytics.signing.token_form import FACTS, MONEY_FACTS

ID_FACTS = frozenset({"payment_id", "merchant_id"})  # UUIDs: capitals are no other id
_TOLD = 3  # facts whose values are told; a receipt of another payment differs in nearly all
_LONGEST = 100  # characters of a value in a sentence


@dataclass(frozen=True)
class FactDifference:
    """One fact on which a receipt and the record disagree."""

    fact: str
    in_receipt: str
    in_record: str | None


def compare_facts(
    facts: Mapping[str, str], record: Mapping[str, Any]
) -> tuple[FactDifference, ...]:
    """Return the facts that differ; amounts and instants are compared by value."""
    return tuple(
        FactDifference(fact, facts[fact], _as_text(fact, record.get(fact)))
        for fact in FACTS
        if not _is_equal(fact, facts[fact], record.get(fact))
    )


def tell_differences(differences: Sequence[FactDifference], coin: str) -> Iterator[Message]:
    """Say what a receipt in a coin and its record say of each fact, and name those of many.

    >>> [*tell_differences([FactDifference("amount", "1173.3", "173.3")], "usdt")]
    ['amount: the receipt says 1,173.3 usdt, the record says 173.3']
    """
    first, others = differences[:_TOLD], differences[_TOLD:]
    for each in first:
        yield _tell(each, coin)
    if others:
        yield Message("receipt.record_differs_in", fields=", ".join(each.fact for each in others))


def _tell(difference: FactDifference, coin: str) -> Message:
    fact, is_money = difference.fact, difference.fact in MONEY_FACTS
    values = {"FACT": fact.replace("_", " "), "stated": _shown(difference.in_receipt, is_money)}
    values |= {"coin": _shown(coin)} if is_money else {}
    if difference.in_record is None:
        code = "receipt.amount_is_missing" if is_money else "receipt.fact_is_missing"
        return Message(code, **values)
    code = "receipt.amount_differs" if is_money else "receipt.fact_differs"
    return Message(code, **values, recorded=_shown(difference.in_record, is_money))


def _shown(text: str, is_money: bool = False) -> str:
    """Return a value for people, without half a surrogate pair, which no file can hold."""
    if is_money and not _is_wrong(text):
        return group_digits(text)
    shown = single_line(text.encode("utf-8", "replace").decode())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _is_wrong(amount: str) -> bool:
    try:
        parse_amount(amount)
    except DataError:
        return True
    return False


def _is_equal(fact: str, stated: str, recorded: Any) -> bool:
    try:
        if fact in MONEY_FACTS:
            amount = recorded if isinstance(recorded, Decimal) else parse_amount(recorded)
            return parse_amount(stated) == amount
        if fact == "paid_at":
            at = recorded if isinstance(recorded, int) else parse_instant(recorded)[0]
            return parse_instant(stated)[0] == at
        if fact in ID_FACTS:
            return canonical_id(stated) == canonical_id(str(recorded))
    except DataError:
        return False  # the record breaks the contract, so it does not hold this fact
    return bool(stated == recorded)


def _as_text(fact: str, recorded: Any) -> str | None:
    if fact == "paid_at" and isinstance(recorded, int):
        return format_instant(recorded)
    if isinstance(recorded, Decimal):
        return format_amount(recorded)
    return None if recorded is None else str(recorded)
