"""The Merchant Payments API without HTTP: what it answers, and to whom."""

from collections.abc import Iterator, Mapping
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox.account import Account, KeyClass
from svc_analytics.sandbox.bindings import Bindings
from svc_analytics.sandbox.bodies import uuid_form
from svc_analytics.sandbox.clock import Clock
from svc_analytics.sandbox.confirmations import Confirmations
from svc_analytics.sandbox.deliveries import Deliveries
from svc_analytics.sandbox.disbursements import Disbursements
from svc_analytics.sandbox.keys import Key
from svc_analytics.sandbox.lookups import Lookups
from svc_analytics.sandbox.paging import Pager
from svc_analytics.sandbox.payouts import Payouts
from svc_analytics.sandbox.quirks import Quirks
from svc_analytics.sandbox.records import (
    PAGE_EXTRAS,
    RECORD_EXTRAS,
    Record,
    contract_form,
    receipt_facts,
)
from svc_analytics.sandbox.refunds import Refunds
from svc_analytics.sandbox.refusals import invalid, not_found, unproven
from svc_analytics.sandbox.sessions import Sessions
from svc_analytics.sandbox.store import Store, StoredRecord
from svc_analytics.sandbox.world import World
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from svc_analytics.signing.receipts import ATTESTED, MalformedToken, parse_receipt, verify_receipt


class Service:
    """One merchant's API at the time of its clock. `quirks` and the clock may change at will.

    Every operation takes the key of the request (None if it carries none) first, and
    raises `Refusal` where the contract answers with an error.
    """

    def __init__(
        self, store: Store, clock: Clock | None = None, quirks: Quirks | None = None
    ) -> None:
        scenario = store.scenario()
        if scenario is None:
            raise ConfigError(f"{store.name} holds no scenario yet: seed it first")
        self.store = store
        self.clock = clock or Clock()
        self.quirks = quirks or Quirks()
        self.world = World(store, scenario, self.clock)
        self._pager = Pager(store, self.account.cursor_secret)
        disbursements = Disbursements(self.world)
        self.lookups = Lookups(self.world)
        self.disbursed = Payouts(self.world, disbursements, self.lookups)
        self._refunds = Refunds(self.world, disbursements)
        self.bindings = Bindings(self.world)
        self.sessions = Sessions(self.world, self.payment_record)
        self.deliveries = Deliveries(self.world)
        self.confirmations = Confirmations(self.world, self.sessions, self.bindings)

    @property
    def account(self) -> Account:
        """The merchant with its keys and secrets."""
        return self.world.account

    def revoke(self, key_class: KeyClass) -> None:
        """Refuse the keys of a class for as long as this service lives."""
        self.world.gate.revoke(key_class)

    def me(self, key: Key) -> Record:
        """Return the merchant profile."""
        self.world.gate.admit(key, "checkout", "payout")
        settings = self.world.settings
        return {
            **self.account.profile,
            "logo_url": settings["logo_url"],
            "status": "suspended" if settings["is_suspended"] else "active",
            "accepted_currencies": settings["accepted_currencies"],
            "webhook_url": settings["webhook_url"],
        }

    def payments(self, key: Key, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payments; `query` holds the parameters under their names as text."""
        self.world.gate.admit(key, "checkout", "payout")
        return self._page(PAYMENTS, query)

    def payment(self, key: Key, id_or_receipt_no: str) -> Record:
        """Return one payment."""
        self.world.gate.admit(key, "checkout", "payout")
        return self.payment_record(id_or_receipt_no)

    def payouts(self, key: Key, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payouts and refunds."""
        self.world.gate.admit(key, "payout")
        return self._page(PAYOUT_RECORDS, query)

    def payout(self, key: Key, id_or_reference: str) -> Record:
        """Return one payout or refund."""
        self.world.gate.admit(key, "payout")
        return self.payout_record(id_or_reference)

    def pay_out(self, key: Key, body: object) -> Record:
        """Pay a customer and return the record; a replay returns the first one."""
        return self.payout_record(self.disbursed.create(key, body))

    def refund(self, key: Key, id_or_receipt_no: str, body: object) -> Record:
        """Refund a payment and return the record; a replay returns the first one."""
        self.world.gate.admit(key, "payout")
        payment = self._find(PAYMENTS, "receipt_no", id_or_receipt_no)
        return self.payout_record(self._refunds.create(payment, body))

    def verify_receipt(self, key: Key, body: object) -> dict[str, Any]:
        """Return the payment a receipt proves; `body` is `{"receipt": token}`.

        A receipt that proves nothing is refused, never answered with `valid: false`:
        the contract's code for it, PAY_RECEIPT_INVALID, has the status 422.
        """
        self.world.gate.admit(key, "checkout")
        token = body.get("receipt") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise invalid()
        return {"valid": True, "payment": self._answer(PAYMENTS, self._proven(token))}

    def payment_record(self, id_or_receipt_no: str) -> Record:
        """Return one payment in the contract's form, for whoever needs no key."""
        return self._answer(PAYMENTS, self._find(PAYMENTS, "receipt_no", id_or_receipt_no))

    def payout_record(self, id_or_reference: str) -> Record:
        """Return one payout or refund in the contract's form, for whoever needs no key."""
        found = self._find(PAYOUT_RECORDS, "reference_id", id_or_reference)
        return self._answer(PAYOUT_RECORDS, found)

    def records(self, stream: str) -> Iterator[Record]:
        """Yield every record of `payments` or `payout_records` that shows by now, oldest first.

        This is the plain truth for checking against: no paging, no quirks.
        """
        kept, account = STREAMS[stream], self.account
        for stored in self.store.walk(kept, self.clock.now()):
            yield contract_form(kept, stored, account)

    def _find(self, stream: Stream, other_key: str, value: str) -> StoredRecord:
        """Return the record whose id, or else whose other key, is the value."""
        now = self.clock.now()
        for column, name in (("id", uuid_form(value)), (other_key, value)):
            if found := self.store.find(stream, column, name, now):
                return found
        raise not_found()

    def _answer(
        self, stream: Stream, stored: StoredRecord, account: Account | None = None
    ) -> Record:
        record = self.quirks.altered(contract_form(stream, stored, account or self.account))
        return {**record, **RECORD_EXTRAS} if self.quirks.extra_properties else record

    def _proven(self, token: str) -> StoredRecord:
        """Return the payment that a receipt rightly states, by the secrets accepted now."""
        now, account = self.clock.now(), self.account
        try:
            payment_id = parse_receipt(token).facts["payment_id"]
        except MalformedToken:
            raise unproven() from None
        stored = self.store.find(PAYMENTS, "id", payment_id, now)
        facts = receipt_facts(stored, account) if stored else None
        ring = account.accepted_receipt_ring(now)
        if stored is None or verify_receipt(token, ring, facts).verdict not in ATTESTED:
            raise unproven()
        return stored

    def _page(self, stream: Stream, query: Mapping[str, str]) -> dict[str, Any]:
        shown_until = self.clock.now() - self.quirks.visible_after
        stored, next_cursor = self._pager.page(stream, query, shown_until, self.quirks)
        account = self.account
        return {
            "data": [self._answer(stream, record, account) for record in stored],
            "next_cursor": next_cursor,
            **(PAGE_EXTRAS if self.quirks.extra_properties else {}),
        }
