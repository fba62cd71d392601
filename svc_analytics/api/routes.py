"""The calls this package can make: a fixed table, none of which can move money."""

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from svc_analytics.config import KeyClass
from svc_analytics.errors import ConfigError

PREFIX = "/api/pay/v1"
MAX_LIMIT = 100  # contract, Limits: list limit 1 to 100
LONGEST_ID = 4096  # characters: percent-encoded they still fit an address


@dataclass(frozen=True)
class Route:
    """One call this client can make, and the key classes that reach it, preferred first."""

    method: str
    path: str
    key_classes: tuple[KeyClass, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A pattern of the call's raw path, without the base address."""
        return re.compile(PREFIX + self.path.replace("{id}", "[^/?]+"))


# Contract, Authentication 4. Checkout comes first where both reach: it has less power.
ROUTES = {
    "me": Route("GET", "/me", ("checkout", "payout")),
    "payments": Route("GET", "/payments", ("checkout", "payout")),
    "payment": Route("GET", "/payments/{id}", ("checkout", "payout")),
    "payouts": Route("GET", "/payouts", ("payout",)),
    "payout": Route("GET", "/payouts/{id}", ("payout",)),
    "session": Route("GET", "/sessions/{id}", ("checkout",)),
    "binding": Route("GET", "/customers/{id}/binding", ("checkout", "payout")),
    "receipt": Route("POST", "/receipts/verify", ("checkout",)),
}


def quote_id(text: str) -> str:
    """Percent-encode an id for a path; merchants choose theirs, any 128 characters."""
    if not text or set(text) == {"."} or len(text) > LONGEST_ID:
        raise ConfigError(f"{text!r:.60} cannot be the id of a record")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise ConfigError(f"{text!r:.60} cannot be the id of a record") from error
