"""Recipient lookup: an email address becomes a signed token, short-lived and this merchant's.

Not shown by the contract: we chose. 10 lookups a minute and 100 a day, failed ones
counted too; the business's own address is no recipient.
"""

import base64
import hashlib
import hmac

import msgspec

from svc_analytics.periods import DAY, MINUTE
from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.state.api_keys import Key
from svc_analytics.sandbox.state.cursors import read_sealed
from svc_analytics.sandbox.state.customers import Person
from svc_analytics.sandbox.state.platform import World
from svc_analytics.sandbox.state.records import Record, instant_text

TOKEN_LIFETIME = 10 * MINUTE  # Limits: recipient_token valid 10 minutes
_SEAL = 32  # bytes


class Lookups:
    """Finds recipients by email within two budgets."""

    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, key: Key, body: object) -> Record:
        """Return a token and the masked name behind an address."""
        world, now = self._world, self._world.now()
        world.gate.admit(key, "payout")
        request = validation.as_object(body)
        validation.require(request, {"email": validation.text(320)})
        world.gate.require_payouts()
        world.gate.require_any_scope()
        world.open_wallets()
        self._spend()
        person = world.customers.by_email(request["email"])
        if person is None or not self._is_payable(person):
            raise invalid_recipient()
        expires_at = now + TOKEN_LIFETIME
        return {
            "recipient_token": self._sign([person.payer_id, expires_at]),
            "masked_name": person.masked_name,
            "expires_at": instant_text(expires_at),
        }

    def resolve(self, token: str, confirm: str) -> str:
        """Return the handle inside a token of ours that is still good and rightly confirmed."""
        payer_id, expires_at = self._open(token)
        person = self._world.customers.find(payer_id)
        if person is None or not self._is_payable(person):
            raise invalid_recipient()
        is_confirmed = hmac.compare_digest(person.masked_name.encode(), confirm.encode())
        if expires_at <= self._world.now() or not is_confirmed:
            raise invalid_recipient()
        return payer_id

    def _spend(self) -> None:
        """Count a lookup, or refuse it when the minute's or the day's budget is spent."""
        world, now = self._world, self._world.now()
        budgets = (MINUTE, "lookups_per_minute"), (DAY, "lookups_per_day")
        with world.store.transaction():
            for length, name in budgets:
                sql = "select count(*) from lookups where at > ?"
                [(used,)] = world.store.fetch(sql, (now - length,))
                if used >= world.settings[name]:
                    raise Refusal(429, "PAY_LOOKUP_THROTTLED")
            world.store.fetch("insert into lookups values (?)", (now,))

    def _is_payable(self, person: Person) -> bool:
        return person.can_receive and person.payer_id != self._world.account.merchant_id

    def _sign(self, facts: list[str | int]) -> str:
        payload = msgspec.json.encode(facts)
        return base64.urlsafe_b64encode(self._seal(payload) + payload).decode()

    def _open(self, token: str) -> tuple[str, int]:
        raw = read_sealed(token)
        seal, payload = raw[:_SEAL], raw[_SEAL:]
        if not hmac.compare_digest(seal, self._seal(payload)):
            raise invalid_recipient()
        payer_id, expires_at = msgspec.json.decode(payload)
        return payer_id, expires_at

    def _seal(self, payload: bytes) -> bytes:
        """Seal with a secret of this merchant, so that no other's token ever fits."""
        key = b"recipient:" + self._world.account.cursor_secret.reveal().encode()
        return hmac.new(key, payload, hashlib.sha256).digest()


def invalid_recipient() -> Refusal:
    """Return the one refusal of every recipient that cannot be paid, whatever the reason."""
    return Refusal(422, "PAY_RECIPIENT_INVALID")
