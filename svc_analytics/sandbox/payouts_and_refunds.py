"""Payouts and refunds: coin from the business wallet to a customer, each at most once.

A payment's refunds never exceed its charged amount; the limits of payouts are counted
since the seeding and include payouts made in the console.
"""

import hmac
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from svc_analytics.instants import DAY, MINUTE
from svc_analytics.sandbox import validation
from svc_analytics.sandbox.account import Key, read_signed, write_signed
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.coins import CENT, ENABLED, Coin, is_plain, stored_units, units_of
from svc_analytics.sandbox.customers import BUSINESS, FEES, Person, customer
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.sales import StoredRecord, Transfer
from svc_analytics.sandbox.sessions import value_in_usd
from svc_analytics.schema import PAYOUT_RECORDS

TOKEN_LIFETIME = 10 * MINUTE  # Limits: recipient_token valid 10 minutes
_PURPOSE = "recipient"


class RecipientLookup:
    """Find recipients by email within the lookup budgets."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def create(self, key: Key, body: object) -> validation.Record:
        """Return a recipient token and the masked name for an email address."""
        platform, now = self._platform, self._platform.now()
        platform.authorizer.authorize(key, "payout")
        request = validation.read_body(body, {"email": validation.text(320)})
        platform.authorizer.require_payouts()
        platform.authorizer.require_any_scope()
        platform.open_wallets()
        self._spend()
        person = platform.customers.by_email(request["email"])
        if person is None or not self._is_payable(person):
            raise validation.invalid_recipient()
        expires_at = now + TOKEN_LIFETIME
        facts = msgspec.json.encode([person.payer_id, expires_at])
        return {
            "recipient_token": write_signed(facts, _PURPOSE, platform.account.cursor_secret),
            "masked_name": person.masked_name,
            "expires_at": instant_text(expires_at),
        }

    def resolve(self, token: str, confirm: str) -> str:
        """Return the `payer_id` in a valid token, if the masked name is confirmed."""
        facts = read_signed(token, _PURPOSE, self._platform.account.cursor_secret)
        if facts is None:
            raise validation.invalid_recipient()
        payer_id, expires_at = msgspec.json.decode(facts, type=tuple[str, int])
        person = self._platform.customers.find(payer_id)
        if person is None or not self._is_payable(person):
            raise validation.invalid_recipient()
        is_confirmed = hmac.compare_digest(person.masked_name.encode(), confirm.encode())
        if expires_at <= self._platform.now() or not is_confirmed:
            raise validation.invalid_recipient()
        return payer_id

    def _spend(self) -> None:
        """Count a lookup, or refuse it if the budget of the minute or day is used up."""
        platform, now = self._platform, self._platform.now()
        with platform.store.transaction():
            for length, name in (MINUTE, "lookups_per_minute"), (DAY, "lookups_per_day"):
                sql = "select count(*) from lookups where at > ? and at <= ?"
                [(used,)] = platform.store.fetch(sql, (now - length, now))
                if used >= platform.settings[name]:
                    raise validation.Refusal(429, "PAY_LOOKUP_THROTTLED")
            platform.store.insert("lookups", now)

    def _is_payable(self, person: Person) -> bool:
        return person.can_receive and person.payer_id != self._platform.account.merchant_id


_KIND = "payout record"  # payouts and refunds share their references
_REFERENCE = {"reference_id": validation.text(128)}
_REFUND = {**_REFERENCE, "amount": is_plain}
_PAYOUT = {"currency": validation.text(32), "amount": is_plain}
_COMMENT = {"comment": validation.text(512, minimum=0)}
_OPTIONAL = {
    **_COMMENT,
    "payer_id": validation.is_uuid,
    "recipient_token": validation.text(2048, minimum=0),
    "recipient_confirm": validation.text(128, minimum=0),
}
_RECIPIENTS = ({"payer_id"}, {"recipient_token", "recipient_confirm"})
_USD = 100 * CENT  # a dollar in microdollars


class Payouts:
    """Make payouts and refunds; each returns the id of its record."""

    def __init__(self, platform: Platform, lookups: RecipientLookup) -> None:
        self._platform = platform
        self._lookups = lookups

    def create(self, key: Key, body: object) -> str:
        """Pay out; a repeated request pays nothing more."""
        self._platform.authorizer.authorize(key, "payout")
        request = validation.read_body(body, {**_REFERENCE, **_PAYOUT}, _OPTIONAL)
        if "payer_id" in request:
            request["payer_id"] = validation.uuid_form(request["payer_id"])  # one id, one spelling
        return self._once(request, request, lambda: self._pay(request))

    def create_in_console(self, body: object) -> str:
        """Pay out without a reference."""
        request = validation.read_body(body, _PAYOUT, _OPTIONAL)
        self._platform.open_wallets()
        with self._platform.store.transaction():
            return self._pay(request)

    def refund(self, payment: StoredRecord, body: object) -> str:
        """Refund a payment; a repeated request moves nothing more."""
        request = validation.read_body(body, _REFUND, _COMMENT)
        # The payment is part of the request: with another payment it is another request.
        payload = {**request, "payment_id": payment["id"]}
        return self._once(request, payload, lambda: self._return(payment, request))

    def _once(self, request: Any, payload: object, make: Callable[[], str]) -> str:
        """Make a payout or refund unless the same request did."""
        platform, reference_id = self._platform, request["reference_id"]
        platform.open_wallets()
        with platform.store.transaction():
            is_replay = platform.idempotency_keys.is_replay(_KIND, reference_id, payload)
            sql = "select id from payout_records where reference_id = ?"
            held = platform.store.first(sql, reference_id)
            if is_replay and held:
                return str(held[0])
            if held:
                raise validation.duplicate_reference()  # the reference belongs to the seeded past
            record_id = make()
            platform.idempotency_keys.keep(_KIND, reference_id, payload)
            return record_id

    def _pay(self, request: dict[str, Any]) -> str:
        platform, now = self._platform, self._platform.now()
        platform.authorizer.require_payouts()
        coin = ENABLED.get(request["currency"])
        if coin is None:
            raise validation.Refusal(422, "PAY_CURRENCY_NOT_ACCEPTED")
        units = _units(request, coin)
        payer_id = self._recipient(request)
        self._count_volume(coin, units)
        transfer = Transfer(coin, units, platform.scenario.fee_tier(now), payer_id)
        return self._settle(transfer, request)

    def _return(self, payment: StoredRecord, request: dict[str, Any]) -> str:
        self._platform.authorizer.require_sales()
        coin = ENABLED[payment["currency"]]
        units = _units(request, coin)
        refunded = self._platform.wallet.refunded(payment["id"], coin, self._platform.shown_until())
        if refunded + units > stored_units(payment["charged_amount"], coin.decimals):
            raise validation.Refusal(422, "PAY_REFUND_EXCEEDS_PAYMENT")
        return self._settle(Transfer(coin, units, 0, payment["payer_id"], payment["id"]), request)

    def _recipient(self, request: dict[str, Any]) -> str:
        """Return the `payer_id` to pay, given directly or by a recipient token."""
        named = request.keys() & set.union(*_RECIPIENTS)
        if named not in _RECIPIENTS:
            raise validation.invalid_recipient()
        if "payer_id" in named:
            payer_id: str = validation.uuid_form(request["payer_id"])
            if not self._platform.customers.is_payable(payer_id):
                raise validation.invalid_recipient()
            return payer_id
        self._platform.authorizer.require_any_scope()
        return self._lookups.resolve(request["recipient_token"], request["recipient_confirm"])

    def _count_volume(self, coin: Coin, units: int) -> None:
        """Check a payout against both limits and count it; this needs a rate."""
        platform, now = self._platform, self._platform.now()
        price = platform.price(coin, now)
        if price is None:
            raise validation.Refusal(503, "PAY_RATE_UNAVAILABLE")
        value = -(-units * price // 10**coin.decimals)  # rounded up, so that limits hold
        past = "select microdollars from payout_volume where at > ? and at <= ?"
        spent = sum(row[0] for row in platform.store.fetch(past, (now - DAY, now)))
        is_over = value > platform.settings["payout_max_usd"] * _USD
        if is_over or spent + value > platform.settings["payout_day_usd"] * _USD:
            raise validation.Refusal(422, "PAY_PAYOUT_LIMIT")
        platform.store.insert("payout_volume", now, value)

    def _settle(self, transfer: Transfer, request: dict[str, Any]) -> str:
        """Move the money, add the completed record, emit the event."""
        platform, now, coin = self._platform, self._platform.now(), transfer.coin
        if platform.wallet.available(coin, platform.shown_until()) < transfer.debited:
            raise validation.Refusal(422, "INSUFFICIENT_BALANCE")
        flows = {BUSINESS: -transfer.debited, customer(transfer.payer_id): transfer.units}
        flows |= {FEES: transfer.fee} if transfer.fee else {}
        record = {
            "id": str(uuid.uuid4()),
            "reference_id": request.get("reference_id"),
            "kind": transfer.kind,
            "status": "completed",
            **transfer.figures,
            "usd_value": value_in_usd(platform, coin, transfer.units, now),
            "payer_id": transfer.payer_id,
            "payment_id": transfer.payment_id,
            "comment": request.get("comment", ""),
            "created_at": now,
            "settled_at": now,
        }
        platform.wallet.move(f"{transfer.kind} {record['id']}", now, coin.slug, flows)
        platform.store.add(PAYOUT_RECORDS, record)
        platform.wallet.drop_what_no_longer_fits(coin, platform.shown_until())
        event = {name: record[name] for name in ("reference_id", "kind", "status")}
        platform.outbox.emit("payout.completed", now, payout_id=record["id"], **event)
        return str(record["id"])


def _units(request: dict[str, Any], coin: Coin) -> int:
    units = units_of(request["amount"], coin.decimals)
    if units is None:
        raise validation.invalid_amount()
    return units
