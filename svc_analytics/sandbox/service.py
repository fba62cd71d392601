"""The Merchant Payments API without HTTP: what it answers, and to whom."""

from collections.abc import Iterator, Mapping
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox.account import KeyClass, account_of
from svc_analytics.sandbox.clock import Clock
from svc_analytics.sandbox.paging import Pager
from svc_analytics.sandbox.quirks import Quirks
from svc_analytics.sandbox.records import (
    PAGE_EXTRAS,
    RECORD_EXTRAS,
    Record,
    contract_form,
    receipt_facts,
)
from svc_analytics.sandbox.refusals import Refusal, invalid, not_found, unproven
from svc_analytics.sandbox.store import Store, StoredRecord
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from svc_analytics.tokens import MalformedToken, parse_receipt, verify_receipt

_VALID = ("valid", "valid_previous_secret")


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
        self.account = account_of(scenario)
        self._keys: dict[str, KeyClass] = {
            self.account.checkout_key.reveal(): "checkout",
            self.account.payout_key.reveal(): "payout",
        }
        self._pager = Pager(store, self.account.cursor_secret)

    def revoke(self, key_class: KeyClass) -> None:
        """Revoke the key of a class, as the console would."""
        self._keys = {key: held for key, held in self._keys.items() if held != key_class}

    def me(self, key: str | None) -> Record:
        """Return the merchant profile."""
        self._admit(key, "checkout", "payout")
        return self.account.profile

    def payments(self, key: str | None, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payments; `query` holds the parameters under their names as text."""
        self._admit(key, "checkout", "payout")
        return self._page(PAYMENTS, query)

    def payment(self, key: str | None, id_or_receipt_no: str) -> Record:
        """Return one payment."""
        self._admit(key, "checkout", "payout")
        return self._answer(PAYMENTS, self._find(PAYMENTS, "receipt_no", id_or_receipt_no))

    def payouts(self, key: str | None, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of payouts and refunds."""
        self._admit(key, "payout")
        return self._page(PAYOUT_RECORDS, query)

    def payout(self, key: str | None, id_or_reference: str) -> Record:
        """Return one payout or refund."""
        self._admit(key, "payout")
        return self._answer(
            PAYOUT_RECORDS, self._find(PAYOUT_RECORDS, "reference_id", id_or_reference)
        )

    def verify_receipt(self, key: str | None, body: object) -> dict[str, Any]:
        """Return the payment a receipt proves; `body` is `{"receipt": token}`.

        A receipt that proves nothing is refused, never answered with `valid: false`:
        the contract's code for it, PAY_RECEIPT_INVALID, has the status 422.
        """
        self._admit(key, "checkout")
        token = body.get("receipt") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise invalid()
        return {"valid": True, "payment": self._answer(PAYMENTS, self._proven(token))}

    def records(self, stream: str) -> Iterator[Record]:
        """Yield every record of `payments` or `payout_records` that shows by now, oldest first.

        This is the plain truth for checking against: no paging, no quirks.
        """
        kept = STREAMS[stream]
        for stored in self.store.walk(kept, self.clock.now()):
            yield contract_form(kept, stored, self.account)

    def _admit(self, key: str | None, *classes: KeyClass) -> None:
        """Let a key pass, by Authentication 4 to 6."""
        held = self._keys.get(key or "")
        if held is None:
            raise Refusal(401, "UNAUTHORIZED")
        if held not in classes:
            raise Refusal(403, "PAY_WRONG_KEY_KIND")

    def _find(self, stream: Stream, other_key: str, value: str) -> StoredRecord:
        """Return the record whose id, or else whose other key, is the value."""
        now = self.clock.now()
        for column in ("id", other_key):
            if found := self.store.find(stream, column, value, now):
                return found
        raise not_found()

    def _answer(self, stream: Stream, stored: StoredRecord) -> Record:
        record = contract_form(stream, stored, self.account)
        return {**record, **RECORD_EXTRAS} if self.quirks.extra_properties else record

    def _proven(self, token: str) -> StoredRecord:
        """Return the payment that a receipt rightly states, by the secrets accepted now."""
        now = self.clock.now()
        try:
            payment_id = parse_receipt(token).facts["payment_id"]
        except MalformedToken:
            raise unproven() from None
        stored = self.store.find(PAYMENTS, "id", payment_id, now)
        facts = receipt_facts(stored, self.account) if stored else None
        ring = self.account.accepted_receipt_ring(now)
        if stored is None or verify_receipt(token, ring, facts).verdict not in _VALID:
            raise unproven()
        return stored

    def _page(self, stream: Stream, query: Mapping[str, str]) -> dict[str, Any]:
        stored, next_cursor = self._pager.page(stream, query, self.clock.now(), self.quirks)
        return {
            "data": [self._answer(stream, record) for record in stored],
            "next_cursor": next_cursor,
            **(PAGE_EXTRAS if self.quirks.extra_properties else {}),
        }
