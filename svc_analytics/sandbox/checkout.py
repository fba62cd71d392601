"""Checkout: a payer links an account and pays a session, in one transaction."""

import hmac
import uuid

import msgspec

from svc_analytics.instants import MINUTE
from svc_analytics.sandbox.bindings import Binding, Bindings
from svc_analytics.sandbox.coins import BASIS_POINTS, ENABLED, half_up, stored_units
from svc_analytics.sandbox.customers import BUSINESS, FEES, Person, customer
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.sales import StoredRecord, payment_figures, receipt_no
from svc_analytics.sandbox.sessions import Quote, Session, Sessions
from svc_analytics.sandbox.validation import Refusal
from svc_analytics.schema import PAYMENTS

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
        coin = ENABLED[quote["currency"]]
        units = stored_units(quote["amount"], coin.decimals)
        if platform.wallet.balance(customer(payer.payer_id), coin.slug) < units:
            raise Refusal(422, "INSUFFICIENT_BALANCE")
        fee = half_up(units * platform.scenario.fee_tier(now), BASIS_POINTS)
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
