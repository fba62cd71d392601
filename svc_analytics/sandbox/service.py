"""Service: the Merchant Payments API without HTTP, an operation per method."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.instants import BEGINNING
from svc_analytics.sandbox import validation
from svc_analytics.sandbox.account import Account, Key, read_signed, write_signed
from svc_analytics.sandbox.behaviour import Behaviour
from svc_analytics.sandbox.bindings import Bindings
from svc_analytics.sandbox.clock import Clock, instant_text
from svc_analytics.sandbox.payouts_and_refunds import Payouts, RecipientLookup
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.sales import StoredRecord
from svc_analytics.sandbox.sessions import Checkout, Sessions
from svc_analytics.sandbox.store import FILTERS, Position, Slice, Store
from svc_analytics.sandbox.validation import Record
from svc_analytics.sandbox.webhooks import WebhookSender
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from svc_analytics.signing.receipt_tokens import (
    ATTESTED,
    MalformedToken,
    parse_receipt,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret


class Service:
    """Serve one merchant's API; `behaviour` and the clock may be changed at any time.

    Every operation takes the key of the request first, None if there is none, and raises
    `Refusal` for the contract's errors.
    """

    def __init__(
        self, store: Store, clock: Clock | None = None, behaviour: Behaviour | None = None
    ) -> None:
        scenario = store.scenario()
        if scenario is None:
            raise ConfigError(f"{store.name} holds no scenario yet: seed it first")
        self.store = store
        self.clock = clock or Clock()
        self.behaviour = behaviour or Behaviour()
        self.platform = Platform(store, scenario, self.clock)
        self._paginator = Paginator(store, self.account.cursor_secret)
        self.lookups = RecipientLookup(self.platform)
        self._payouts = Payouts(self.platform, self.lookups)
        self.bindings = Bindings(self.platform)
        self.sessions = Sessions(self.platform, self.payment_record)
        self.webhooks = WebhookSender(self.platform)
        self.checkout = Checkout(self.platform, self.sessions, self.bindings)

    @property
    def account(self) -> Account:
        """The account of the merchant with its current secrets."""
        return self.platform.account

    def environment(self, base_url: str) -> dict[str, str]:
        """Return the settings of a client of this merchant, without a key that is revoked."""
        settings = self.account.environment(base_url)
        keys = {name: key for name, key in settings.items() if name.endswith("_KEY")}
        dead = {name for name, key in keys.items() if not self.platform.api_keys.class_of(key)}
        return {name: value for name, value in settings.items() if name not in dead}

    def me(self, key: Key) -> Record:
        """Return the merchant profile."""
        self.platform.authorizer.authorize(key, "checkout", "payout")
        return self.profile()

    def profile(self) -> Record:
        """Return the merchant profile without asking for a key."""
        settings = self.platform.settings
        return {
            "id": self.account.merchant_id,
            "display_name": "Saffron & Tile",
            "display_name_fa": "زعفران و کاشی",
            "logo_url": settings["logo_url"],
            "status": "suspended" if settings["is_suspended"] else "active",
            "accepted_currencies": settings["accepted_currencies"],
            "webhook_url": settings["webhook_url"],
        }

    def payments(self, key: Key, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payments; `query` holds the query parameters as text."""
        self.platform.authorizer.authorize(key, "checkout", "payout")
        return self._page(PAYMENTS, query)

    def payment(self, key: Key, id_or_receipt_no: str) -> Record:
        """Return one payment."""
        self.platform.authorizer.authorize(key, "checkout", "payout")
        return self.payment_record(id_or_receipt_no)

    def payouts(self, key: Key, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payouts and refunds."""
        self.platform.authorizer.authorize(key, "payout")
        return self._page(PAYOUT_RECORDS, query)

    def payout(self, key: Key, id_or_reference: str) -> Record:
        """Return one payout or refund."""
        self.platform.authorizer.authorize(key, "payout")
        return self.payout_record(id_or_reference)

    def pay_out(self, key: Key, body: object) -> Record:
        """Pay a customer and return the record; a replay returns the first one."""
        return self.payout_record(self._payouts.create(key, body))

    def pay_from_console(self, body: object) -> Record:
        """Pay a customer as a person in the console does: without key and reference."""
        return self.true_record(PAYOUT_RECORDS, self._payouts.create_in_console(body))

    def refund(self, key: Key, id_or_receipt_no: str, body: object) -> Record:
        """Refund a payment and return the record; a replay returns the first one."""
        self.platform.authorizer.authorize(key, "payout")
        payment = self._find(PAYMENTS, "receipt_no", id_or_receipt_no)
        return self.payout_record(self._payouts.refund(payment, body))

    def verify_receipt(self, key: Key, body: object) -> dict[str, Any]:
        """Return the payment that a receipt proves; refuse any other receipt."""
        self.platform.authorizer.authorize(key, "checkout")
        token = body.get("receipt") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise validation.invalid()
        return {"valid": True, "payment": self._shown(PAYMENTS, self._proven(token))}

    def payment_record(self, id_or_receipt_no: str) -> Record:
        """Return one payment as the API shows it, without asking for a key."""
        return self._shown(PAYMENTS, self._find(PAYMENTS, "receipt_no", id_or_receipt_no))

    def true_record(self, stream: Stream, record_id: str) -> Record:
        """Return one record as it is, for pages and tests: no fault alters it."""
        return contract_form(stream, self._find(stream, "id", record_id), self.account)

    def payout_record(self, id_or_reference: str) -> Record:
        """Return one payout or refund as the API shows it, without asking for a key."""
        stored = self._find(PAYOUT_RECORDS, "reference_id", id_or_reference)
        return self._shown(PAYOUT_RECORDS, stored)

    def records(self, name: str) -> Iterator[Record]:
        """Yield every record of `payments` or `payout_records` until now, oldest first.

        Tests compare against these: no pages, no faults.
        """
        stream, account = STREAMS[name], self.account
        for stored in self.store.walk(stream, self.platform.shown_until()):
            yield contract_form(stream, stored, account)

    def _find(self, stream: Stream, other_key: str, value: str) -> StoredRecord:
        """Find a record by id, or else by its other key."""
        until = self.platform.shown_until()
        for column, name in (("id", validation.uuid_form(value)), (other_key, value)):
            if record := self.store.find(stream, column, name, until):
                return record
        raise validation.not_found()

    def _shown(
        self, stream: Stream, stored: StoredRecord, account: Account | None = None
    ) -> Record:
        record = self.behaviour.altered(contract_form(stream, stored, account or self.account))
        return {**record, **RECORD_EXTRAS} if self.behaviour.extra_properties else record

    def _proven(self, token: str) -> StoredRecord:
        """Return the payment of a valid receipt, or refuse the receipt."""
        now, account = self.clock.now(), self.account
        if "=" in token:  # this service never pads
            raise validation.invalid_receipt()
        try:
            payment_id = parse_receipt(token).facts["payment_id"]
        except MalformedToken:
            raise validation.invalid_receipt() from None
        stored = self.store.find(PAYMENTS, "id", payment_id, self.platform.shown_until())
        facts = receipt_facts(stored, account) if stored else None
        ring = account.accepted_receipt_ring(now)
        if stored is None or verify_receipt(token, ring, facts).verdict not in ATTESTED:
            raise validation.invalid_receipt()
        return stored

    def _page(self, stream: Stream, query: Mapping[str, str]) -> dict[str, Any]:
        shown_until = self.platform.shown_until() - self.behaviour.visible_after
        stored, next_cursor = self._paginator.page(stream, query, shown_until, self.behaviour)
        account = self.account
        return {
            "data": [self._shown(stream, record, account) for record in stored],
            "next_cursor": next_cursor,
            **(PAGE_EXTRAS if self.behaviour.extra_properties else {}),
        }


# Pagination by keyset, newest first: new rows do not shift the pages. A cursor is a signed text
# that holds a position and fits only the list it was made for.

DEFAULT_LIMIT = 25
MAX_ROWS = 100  # Limits: list limit 1 to 100
KINDS = ("payout", "refund")
_LIMIT = re.compile(r"[0-9]{1,3}\Z", re.ASCII)

Page = tuple[list[StoredRecord], str | None]


class Filters(NamedTuple):
    """Hold the filters that all pages of a list share."""

    stream: str
    only: str | None  # a currency of payments, a kind of payout records
    start: int | None
    end: int | None


class Cursor(NamedTuple):
    """Hold where the next page starts, its number and the request that made it."""

    position: Position
    page: int
    made_by_request: int


class Paginator:
    """Return pages of lists; requests are counted so that cursors can expire."""

    def __init__(self, store: Store, secret: Secret) -> None:
        self._store = store
        self._secret = secret
        self._requests = 0

    def page(
        self, stream: Stream, query: Mapping[str, str], now: int, behaviour: Behaviour
    ) -> Page:
        """Return the records of a page and the cursor of the next page."""
        self._requests += 1
        filters, limit = _read_filters(stream, query), _read_limit(query)
        first, last = behaviour.inclusive(filters.start, filters.end)
        end = (now if last is None else min(now, last)) + 1, ""  # just after the last instant
        # An empty one is none: clients send it for the first page.
        cursor = self._read(query["cursor"], filters) if query.get("cursor") else None
        cursor = cursor or Cursor(end, page=1, made_by_request=self._requests)
        if 0 < behaviour.cursor_lifetime < self._requests - cursor.made_by_request:
            raise validation.invalid()
        size = 0 if behaviour.is_empty(cursor.page) else behaviour.rows(limit, cursor.position)
        start = BEGINNING if first is None else first
        part = Slice(stream, start, min(end, cursor.position), filters.only)
        records = self._store.page(part, now, size + 1)
        if len(records) <= size:
            return records, None
        shown = records[:size]
        position = (shown[-1][stream.instant], shown[-1]["id"]) if shown else cursor.position
        return shown, self._write(Cursor(position, cursor.page + 1, self._requests), filters)

    def _write(self, cursor: Cursor, filters: Filters) -> str:
        return write_signed(msgspec.json.encode(cursor), f"cursor of {filters!r}", self._secret)

    def _read(self, text: str, filters: Filters) -> Cursor:
        """Read a cursor; refuse one that was altered or made for other filters."""
        payload = read_signed(text, f"cursor of {filters!r}", self._secret)
        if payload is None:
            raise validation.invalid()
        return msgspec.json.decode(payload, type=Cursor)


def _read_filters(stream: Stream, query: Mapping[str, str]) -> Filters:
    only = query.get(FILTERS[stream.name])
    if stream is PAYOUT_RECORDS and only not in (None, *KINDS):
        raise validation.invalid()
    bounds = [validation.instant(query[name]) if name in query else None for name in ("from", "to")]
    return Filters(stream.name, only, *bounds)


def _read_limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not _LIMIT.match(text) or not 1 <= int(text) <= MAX_ROWS:
        raise validation.invalid()
    return int(text)


# Properties unknown to the contract, which says that new ones may appear at any time.
RECORD_EXTRAS = {"channel": "widget", "risk": {"score": "0.07", "flags": []}}
PAGE_EXTRAS = {"object": "list", "served_by": "sandbox"}


def contract_form(stream: Stream, stored: StoredRecord, account: Account) -> Record:
    """Return a record as the API does, its receipt signed as on the day of issue."""
    if stream is not PAYMENTS:
        times = {name: instant_text(stored[name]) for name in ("created_at", "settled_at")}
        return {**stored, **times}
    facts, secret = receipt_facts(stored, account), account.receipt_secret(stored["paid_at"])
    return {
        **stored,
        "metadata": validation.decode_exactly(stored["metadata"]),
        "receipt": account.tampering.sign(stored, facts, secret),
        "paid_at": facts["paid_at"],
    }


def receipt_facts(stored: StoredRecord, account: Account) -> Record:
    """Return a stored payment with the field names of a receipt token."""
    return {
        **stored,
        "payment_id": stored["id"],
        "merchant_id": account.merchant_id,
        "paid_at": instant_text(stored["paid_at"]),
    }
