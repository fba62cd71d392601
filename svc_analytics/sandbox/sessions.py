"""Checkout sessions: created, read, cancelled, expired (contract, Sessions)."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from svc_analytics.instants import MINUTE
from svc_analytics.sandbox import coins, validation
from svc_analytics.sandbox.account import Key
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.coins import ENABLED, MAX_USD, MICRODOLLARS, USD_DECIMALS, Coin
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.validation import Body, Record, Refusal

_REQUIRED = {"reference_id": validation.text(128), "title": validation.text(128)}
_OPTIONAL = {
    "description": validation.text(512, minimum=0),
    "return_url": validation.https_uri,
    "cancel_url": validation.https_uri,
    "metadata": validation.is_object,
    "ttl_minutes": validation.json_integer(5, 1440),
    "customer": validation.is_object,
    "price_usd": coins.is_plain,
    "amounts": lambda value: isinstance(value, list) and 1 <= len(value) <= 10,
}
# The contract shows no limits for the customer block; these are our choice.
_CUSTOMER = {
    "id": validation.text(128),
    "name": validation.text(256),
    "email": validation.text(320),
}
_AMOUNT = {"currency": validation.text(32), "amount": coins.is_plain}


def schema_codes(body: Body) -> set[str]:
    """Return the error codes of a body that depend on no setting."""
    codes = set()
    if not _has_good_schema(body):
        codes.add("VALIDATION_FAILED")
    if "customer" not in body:
        codes.add("PAY_CUSTOMER_REQUIRED")
    if ("amounts" in body) == ("price_usd" in body) or not _has_good_amounts(body):
        codes.add("PAY_AMOUNT_INVALID")
    return codes


def currency_codes(body: Body, accepted: list[str]) -> set[str]:
    """Return the error code for a coin that the merchant does not accept."""
    unknown = [
        entry["currency"]
        for entry in _entries(body)
        if entry["currency"] not in ENABLED or entry["currency"] not in accepted
    ]
    return {"PAY_CURRENCY_NOT_ACCEPTED"} if unknown else set()


def _has_good_schema(body: Body) -> bool:
    customer, amounts = body.get("customer"), body.get("amounts")
    if not validation.is_valid(body, _REQUIRED, _OPTIONAL):
        return False
    if customer is not None and not validation.is_valid(customer, _CUSTOMER, {}):
        return False
    return amounts is None or len(amounts) == len(list(_entries(body)))


def _has_good_amounts(body: Body) -> bool:
    price = body.get("price_usd", "")
    if coins.is_plain(price) and coins.units_of(price, USD_DECIMALS, MAX_USD) is None:
        return False
    slugs = [entry["currency"] for entry in _entries(body)]
    return len(slugs) == len(set(slugs)) and all(
        coins.units_of(entry["amount"], ENABLED[entry["currency"]].decimals) is not None
        for entry in _entries(body)
        if entry["currency"] in ENABLED
    )


def _entries(body: Body) -> Iterator[dict[str, Any]]:
    """Yield the entries of `amounts` that obey the schema."""
    amounts = body.get("amounts")
    for entry in amounts if isinstance(amounts, list) else ():
        if isinstance(entry, dict) and validation.is_valid(entry, _AMOUNT, {}):
            yield entry


USD_PLACES = 6

Quote = dict[str, Any]


def quotes_of(platform: Platform, body: Body, now: int) -> list[Quote]:
    """Return the entries of a session's `amounts`.

    With `price_usd`: each accepted coin at its current rate; coins without a rate are
    omitted. With `amounts`: the given amounts; a coin without a rate has no `usd_value`.
    """
    if "amounts" in body:
        return [_of_amount(platform, entry, now) for entry in body["amounts"]]
    cents = coins.units_of(body["price_usd"], USD_DECIMALS, MAX_USD) or 0
    accepted = [ENABLED[slug] for slug in platform.settings["accepted_currencies"]]
    quotes = [_quoted(platform, coin, cents, now) for coin in accepted]
    if not any(quotes):
        raise Refusal(503, "PAY_RATE_UNAVAILABLE")
    return [quote for quote in quotes if quote]


def value_in_usd(platform: Platform, coin: Coin, units: int, now: int) -> str | None:
    """Return the value of units in US dollars, or None if the coin has no rate."""
    price = platform.rates.price(coin, now)
    return None if price is None else coins.usd_text(units, coin, price, USD_PLACES)


def _of_amount(platform: Platform, entry: Body, now: int) -> Quote:
    coin = ENABLED[entry["currency"]]
    units = coins.units_of(entry["amount"], coin.decimals) or 0
    quote = {"currency": coin.slug, "amount": coins.decimal_text(units, coin.decimals)}
    usd_value = value_in_usd(platform, coin, units, now)
    return quote if usd_value is None else {**quote, "usd_value": usd_value}


def _quoted(platform: Platform, coin: Coin, price_usd: int, now: int) -> Quote | None:
    """Quote a price, given with 8 decimals, at the coin's current rate."""
    rate = platform.rates.price(coin, now)
    if rate is None:
        return None
    scale = 10 ** (coin.decimals + MICRODOLLARS)
    units = max(1, coins.half_up(price_usd * scale, rate * 10**USD_DECIMALS))
    return {
        "currency": coin.slug,
        "amount": coins.decimal_text(units, coin.decimals),
        "usd_value": coins.usd_text(units, coin, rate, USD_PLACES),
    }


_ECHOED = ("title", "description", "price_usd", "return_url", "cancel_url")

PaymentOf = Callable[[str], Record]


@dataclass(frozen=True)
class Session:
    """Hold a stored session; `request` is the body that created it."""

    id: str
    reference_id: str
    status: str
    request: Body
    amounts: list[Quote]
    payment_id: str | None
    expires_at: int
    created_at: int


class Sessions:
    """Create, read, cancel and expire sessions; `payment_of` reads a payment."""

    def __init__(self, platform: Platform, payment_of: PaymentOf) -> None:
        self._platform = platform
        self._payment_of = payment_of

    def create(self, key: Key, body: object) -> Record:
        """Create a session, or return the one that the same request created before."""
        self._platform.authorizer.authorize(key, "checkout")
        request = _plain(validation.as_object(body))
        self.expire()
        with self._platform.store.transaction():
            self._check(request)
            made_before = self._stored("reference_id", request["reference_id"])
            return self.form(made_before or self._insert(request))

    def read(self, key: Key, id_or_reference: str) -> Record:
        """Return one session, with its payment if it is completed."""
        self._platform.authorizer.authorize(key, "checkout")
        return self.form(self.find(id_or_reference))

    def cancel(self, key: Key, id_or_reference: str) -> Record:
        """Cancel an open session; return a cancelled one unchanged."""
        self._platform.authorizer.authorize(key, "checkout")
        self.expire()
        with self._platform.store.transaction():
            session = self.find(id_or_reference)
            if session.status not in ("open", "cancelled"):
                raise Refusal(409, "PAY_SESSION_STATE")
            self._set("status = 'cancelled'", session.id)
            return self.form(self.find(session.id))

    def complete(self, session: Session, payment_id: str) -> None:
        """Complete a session and tell it; call inside the transaction that moves the money."""
        self._set("status = 'completed', payment_id = ?", payment_id, session.id)
        event = {"session_id": session.id, "reference_id": session.reference_id}
        event |= {"payment_id": payment_id, "status": "completed"}
        self._platform.outbox.emit("payment.completed", self._platform.now(), **event)

    def find(self, id_or_reference: str) -> Session:
        """Find a session by UUID, or else by the merchant's reference."""
        self.expire()
        return (
            self._stored("id", validation.uuid_form(id_or_reference))
            or self._stored("reference_id", id_or_reference)
            or self._past(id_or_reference)
        )

    def expire(self) -> None:
        """Expire every open session that is due, and emit one event for each."""
        platform, now = self._platform, self._platform.now()
        due = "from sessions where status = 'open' and expires_at <= ?"
        if not platform.store.fetch(f"select 1 {due} limit 1", (now,)):
            return
        with platform.store.transaction():
            for id_, reference in platform.store.fetch(f"select id, reference_id {due}", (now,)):
                self._set("status = 'expired'", id_)
                named = {"session_id": id_, "reference_id": reference}
                platform.outbox.emit("session.expired", now, **named, status="expired")

    def form(self, session: Session) -> Record:
        """Return a session as the API shows it."""
        request = session.request
        echoed = {name: request[name] for name in _ECHOED if name in request}
        record = {
            "id": session.id,
            "reference_id": session.reference_id,
            "status": session.status,
            **echoed,
            "amounts": session.amounts,
            "pricing_mode": "usd" if "price_usd" in request else "amounts",
            "checkout_url": f"{self._platform.base_url}/checkout/{session.id}",
            "metadata": request.get("metadata", {}),
            "expires_at": instant_text(session.expires_at),
            "created_at": instant_text(session.created_at),
        }
        if session.payment_id:
            record["payment"] = self._payment_of(session.payment_id)
        return record

    def _stored(self, column: str, value: str) -> Session | None:
        row = self._platform.store.first(f"select * from sessions where {column} = ?", value)
        if row is None:
            return None
        id_, reference, status, request, amounts, *rest = row
        request, amounts = map(validation.decode_exactly, (request, amounts))
        return Session(id_, reference, status, request, amounts, *rest)

    def _check(self, request: Body) -> None:
        """Refuse an invalid request; let a repeated valid one pass in any case."""
        platform, codes = self._platform, schema_codes(request)
        reference_id = str(request.get("reference_id"))
        if not codes and platform.idempotency_keys.is_replay("session", reference_id, request):
            return
        codes |= currency_codes(request, platform.settings["accepted_currencies"])
        if codes:
            raise Refusal(422, *sorted(codes))
        platform.authorizer.require_sales()

    def _insert(self, request: Body) -> Session:
        platform, now = self._platform, self._platform.now()
        reference_id = request["reference_id"]
        if platform.store.first("select 1 from payments where reference_id = ?", reference_id):
            raise validation.duplicate_reference()  # the reference belongs to the seeded past
        asked = validation.as_integer(request.get("ttl_minutes"))
        minutes = asked or platform.settings["session_minutes"]
        amounts = _json(quotes_of(platform, request, now))
        named = (str(uuid.uuid4()), reference_id, "open", _json(request), amounts, None)
        platform.store.insert("sessions", *named, now + minutes * MINUTE, now)
        platform.idempotency_keys.keep("session", reference_id, request)
        return self.find(named[0])

    def _set(self, change: str, *values: str) -> None:
        self._platform.store.fetch(f"update sessions set {change} where id = ?", values)

    def _past(self, id_or_reference: str) -> Session:
        """Return the session of a payment in the seeded past, as far as it is known."""
        sql = (
            "select id, session_id, reference_id, currency, amount, usd_value, metadata, paid_at"
            " from payments where (session_id = ?1 or reference_id = ?2) and paid_at <= ?3"
        )
        names = validation.uuid_form(id_or_reference), id_or_reference
        for row in self._platform.store.fetch(sql, (*names, self._platform.shown_until())):
            payment_id, id_, reference, currency, amount, usd, metadata, paid_at = row
            request = {"title": reference, "metadata": validation.decode_exactly(metadata)}
            quote = {"currency": currency, "amount": amount, "usd_value": usd}
            expires_at, status = paid_at + 30 * MINUTE, "completed"
            return Session(
                id_, reference, status, request, [quote], payment_id, expires_at, paid_at
            )
        raise validation.not_found()


def _plain(request: Body) -> Body:
    """Return a request with its minutes as a whole number: 30.0 and 30 are one request."""
    minutes = validation.as_integer(request.get("ttl_minutes"))
    return request if minutes is None else {**request, "ttl_minutes": minutes}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
