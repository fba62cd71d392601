"""Checkout sessions: created, read, cancelled, expired (contract, Sessions)."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from svc_analytics.instants import MINUTE
from svc_analytics.sandbox.core.errors import Refusal, duplicate_reference, not_found
from svc_analytics.sandbox.core.exact_json import as_integer, decode_exactly
from svc_analytics.sandbox.core.validation import Body, as_object, uuid_form
from svc_analytics.sandbox.resources.quotes import Quote, quotes_of
from svc_analytics.sandbox.resources.session_validation import currency_codes, schema_codes
from svc_analytics.sandbox.state.api_keys import Key
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.records import Record, instant_text

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
        request = _plain(as_object(body))
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
            self._stored("id", uuid_form(id_or_reference))
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
        request, amounts = map(decode_exactly, (request, amounts))
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
            raise duplicate_reference()  # the reference belongs to the seeded past
        minutes = as_integer(request.get("ttl_minutes")) or platform.settings["session_minutes"]
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
        names = uuid_form(id_or_reference), id_or_reference
        for row in self._platform.store.fetch(sql, (*names, self._platform.shown_until())):
            payment_id, id_, reference, currency, amount, usd, metadata, paid_at = row
            request = {"title": reference, "metadata": decode_exactly(metadata)}
            quote = {"currency": currency, "amount": amount, "usd_value": usd}
            expires_at, status = paid_at + 30 * MINUTE, "completed"
            return Session(
                id_, reference, status, request, [quote], payment_id, expires_at, paid_at
            )
        raise not_found()


def _plain(request: Body) -> Body:
    """Return a request with its minutes as a whole number: 30.0 and 30 are one request."""
    minutes = as_integer(request.get("ttl_minutes"))
    return request if minutes is None else {**request, "ttl_minutes": minutes}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
