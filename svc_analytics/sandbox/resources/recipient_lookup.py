"""Recipient lookup: turn an email address into a signed, short-lived token."""

import hmac

import msgspec

from svc_analytics.instants import DAY, MINUTE
from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.errors import Refusal, invalid_recipient
from svc_analytics.sandbox.state.api_keys import Key
from svc_analytics.sandbox.state.customers import Person
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.records import Record, instant_text
from svc_analytics.sandbox.state.signed_text import read_signed, write_signed

TOKEN_LIFETIME = 10 * MINUTE  # Limits: recipient_token valid 10 minutes
_PURPOSE = "recipient"


class RecipientLookup:
    """Find recipients by email within the lookup budgets."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def create(self, key: Key, body: object) -> Record:
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
            raise invalid_recipient()
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
            raise invalid_recipient()
        payer_id, expires_at = msgspec.json.decode(facts, type=tuple[str, int])
        person = self._platform.customers.find(payer_id)
        if person is None or not self._is_payable(person):
            raise invalid_recipient()
        is_confirmed = hmac.compare_digest(person.masked_name.encode(), confirm.encode())
        if expires_at <= self._platform.now() or not is_confirmed:
            raise invalid_recipient()
        return payer_id

    def _spend(self) -> None:
        """Count a lookup, or refuse it if the budget of the minute or day is used up."""
        platform, now = self._platform, self._platform.now()
        with platform.store.transaction():
            for length, name in (MINUTE, "lookups_per_minute"), (DAY, "lookups_per_day"):
                sql = "select count(*) from lookups where at > ? and at <= ?"
                [(used,)] = platform.store.fetch(sql, (now - length, now))
                if used >= platform.settings[name]:
                    raise Refusal(429, "PAY_LOOKUP_THROTTLED")
            platform.store.insert("lookups", now)

    def _is_payable(self, person: Person) -> bool:
        return person.can_receive and person.payer_id != self._platform.account.merchant_id
