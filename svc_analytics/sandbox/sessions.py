"""Checkout sessions: created, read, paid, cancelled, expired (contract, Sessions)."""

import hmac
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from svc_analytics.instants import MINUTE
from svc_analytics.sandbox import coins, validation
from svc_analytics.sandbox.account import Key
from svc_analytics.sandbox.bindings import Binding, Bindings
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.customers import BUSINESS, FEES, Person, customer
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.sales import StoredRecord, payment_figures, receipt_no
from svc_analytics.sandbox.validation import Body, Record, Refusal
from svc_analytics.schema import PAYMENTS

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
        if entry["currency"] not in coins.ENABLED or entry["currency"] not in accepted
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
    if coins.is_plain(price) and coins.units_of(price, coins.USD_DECIMALS, coins.MAX_USD) is None:
        return False
    slugs = [entry["currency"] for entry in _entries(body)]
    return len(slugs) == len(set(slugs)) and all(
        coins.units_of(entry["amount"], coins.ENABLED[entry["currency"]].decimals) is not None
        for entry in _entries(body)
        if entry["currency"] in coins.ENABLED
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
    cents = coins.units_of(body["price_usd"], coins.USD_DECIMALS, coins.MAX_USD) or 0
    accepted = [coins.ENABLED[slug] for slug in platform.settings["accepted_currencies"]]
    quotes = [_quoted(platform, coin, cents, now) for coin in accepted]
    if not any(quotes):
        raise Refusal(503, "PAY_RATE_UNAVAILABLE")
    return [quote for quote in quotes if quote]


def value_in_usd(platform: Platform, coin: coins.Coin, units: int, now: int) -> str | None:
    """Return the value of units in US dollars, or None if the coin has no rate."""
    price = platform.price(coin, now)
    return None if price is None else coins.usd_text(units, coin, price, USD_PLACES)


def _of_amount(platform: Platform, entry: Body, now: int) -> Quote:
    coin = coins.ENABLED[entry["currency"]]
    units = coins.units_of(entry["amount"], coin.decimals) or 0
    quote = {"currency": coin.slug, "amount": coins.decimal_text(units, coin.decimals)}
    usd_value = value_in_usd(platform, coin, units, now)
    return quote if usd_value is None else {**quote, "usd_value": usd_value}


def _quoted(platform: Platform, coin: coins.Coin, price_usd: int, now: int) -> Quote | None:
    """Quote a price, given with 8 decimals, at the coin's current rate."""
    rate = platform.price(coin, now)
    if rate is None:
        return None
    scale = 10 ** (coin.decimals + coins.MICRODOLLARS)
    units = max(1, coins.half_up(price_usd * scale, rate * 10**coins.USD_DECIMALS))
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
            " from payments where (session_id = ? or reference_id = ?) and paid_at <= ?"
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


# ---------- A payer links an account and pays a session, in one transaction


# Our choice: nobody can try all the codes of a second factor.
WRONG_CODES = 10
WRONG_CODES_SPAN = 15 * MINUTE


class Checkout:
    """Link accounts and take payments, as the widget asks."""

    def __init__(self, platform: Platform, sessions: Sessions, bindings: Bindings) -> None:
        self._platform = platform
        self._sessions = sessions
        self._bindings = bindings

    def link(self, session_id: str, payer_id: str) -> Binding:
        """Bind a signed-in account to the customer of an open session."""
        self._platform.authorizer.require_service()
        session = self._sessions.find(session_id)
        _require_open(session)
        self._platform.authorizer.require_sales()
        return self._bindings.bind(session.request["customer"], payer_id)

    def confirm(
        self, session_id: str, payer_id: str, currency: str, totp: str | None = None
    ) -> str:
        """Pay a session in one of its coins and return the payment id."""
        self._platform.authorizer.require_service()
        self._sessions.expire()
        self._platform.open_wallets()
        with self._platform.store.transaction():
            session = self._sessions.find(session_id)
            payer = self._allowed_payer(session, payer_id)
            quote = next((one for one in session.amounts if one["currency"] == currency), None)
            if quote is None:
                raise Refusal(422, "PAY_CURRENCY_NOT_ACCEPTED")
            if self._is_confirmed(payer, totp):
                return self._pay(session, payer, quote)
        raise Refusal(422, "TOTP_INVALID")  # after the commit: the wrong code is counted

    def _allowed_payer(self, session: Session, payer_id: str) -> Person:
        _require_open(session)
        self._platform.authorizer.require_sales()
        payer = self._platform.customers.require_payer(payer_id)
        self._bindings.require(session.request["customer"]["id"], payer.payer_id)
        return payer

    def _is_confirmed(self, payer: Person, totp: str | None) -> bool:
        """Check the second factor if the setting `asks_totp` is on; count a wrong code."""
        if not self._platform.settings["asks_totp"]:
            return True
        if payer.totp is None:
            raise Refusal(403, "TOTP_NOT_ENROLLED")
        if not totp:
            raise Refusal(403, "TOTP_REQUIRED")
        store, now = self._platform.store, self._platform.now()
        past = "select count(*) from wrong_codes where payer_id = ? and at > ? and at <= ?"
        [(wrong,)] = store.fetch(past, (payer.payer_id, now - WRONG_CODES_SPAN, now))
        if wrong >= WRONG_CODES:
            raise Refusal(429, "RATE_LIMITED")
        if not hmac.compare_digest(payer.totp.encode(), totp.encode("utf-8", "replace")):
            store.insert("wrong_codes", payer.payer_id, now)
            return False
        store.fetch("delete from wrong_codes where payer_id = ?", (payer.payer_id,))
        return True

    def _pay(self, session: Session, payer: Person, quote: Quote) -> str:
        platform, now = self._platform, self._platform.now()
        coin = coins.ENABLED[quote["currency"]]
        units = coins.stored_units(quote["amount"], coin.decimals)
        if platform.wallet.balance(customer(payer.payer_id), coin.slug) < units:
            raise Refusal(422, "INSUFFICIENT_BALANCE")
        fee = coins.half_up(units * platform.scenario.fee_tier(now), coins.BASIS_POINTS)
        record: StoredRecord = {
            "id": str(uuid.uuid4()),
            "receipt_no": self._next_receipt_no(),
            "session_id": session.id,
            "reference_id": session.reference_id,
            "status": "completed",
            **payment_figures(coin, units, fee),
            "usd_value": quote.get("usd_value"),
            "payer_id": payer.payer_id,
            "metadata": msgspec.json.encode(session.request.get("metadata", {})).decode(),
            "paid_at": now,
        }
        flows = {customer(payer.payer_id): -units, BUSINESS: units - fee, FEES: fee}
        platform.wallet.move(f"payment {record['id']}", now, coin.slug, flows)
        platform.store.add(PAYMENTS, record)
        self._sessions.complete(session, record["id"])
        return str(record["id"])

    def _next_receipt_no(self) -> str:
        """Return the next receipt number, after those of the seeded days to come."""
        [(last,)] = self._platform.store.fetch("select max(receipt_no) from payments")
        return receipt_no(int(last.rpartition("-")[2]) + 1 if last else 1)


def _require_open(session: Session) -> None:
    if session.status == "expired":
        raise Refusal(422, "PAY_SESSION_EXPIRED")
    if session.status != "open":
        raise Refusal(409, "PAY_SESSION_STATE")
