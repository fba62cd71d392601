"""Authorization: which key may do what (contract, Authentication)."""

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.state.account import KeyClass
from svc_analytics.sandbox.state.api_keys import ApiKeys, Key
from svc_analytics.sandbox.state.settings import Settings


class Authorizer:
    """Check keys and the state of the business, or refuse."""

    def __init__(self, api_keys: ApiKeys, settings: Settings) -> None:
        self._api_keys = api_keys
        self._settings = settings
        self._revoked: set[KeyClass] = set()

    def revoke(self, key_class: KeyClass) -> None:
        """Refuse every key of a class until this process ends."""
        self._revoked.add(key_class)

    def authorize(self, key: Key, *classes: KeyClass) -> None:
        """Refuse a key that may not make this call (Authentication 4 to 7 and 9)."""
        self.require_service()
        held = self._api_keys.class_of(key)
        if held is None or held in self._revoked:
            raise Refusal(401, "UNAUTHORIZED")
        if not self._settings["is_business"]:
            raise Refusal(404, "MERCHANT_NOT_FOUND")
        if held not in classes:
            raise Refusal(403, "PAY_WRONG_KEY_KIND")

    def require_service(self) -> None:
        """Refuse every call during maintenance."""
        if self._settings["is_maintenance"]:
            raise Refusal(503, "MAINTENANCE_MODE")

    def require_sales(self) -> None:
        """Refuse a business that cannot take payments now."""
        if self._settings["is_suspended"] or not self._settings["is_rail_enabled"]:
            raise Refusal(403, "MERCHANT_DISABLED")

    def require_payouts(self) -> None:
        """Refuse payouts unless they are armed (Payouts rule 5)."""
        settings = self._settings
        are_limits_set = settings["payout_max_usd"] and settings["payout_day_usd"]
        is_able = settings["is_rail_enabled"] and not settings["is_suspended"]
        if not (is_able and settings["payouts_armed"] and are_limits_set):
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")

    def require_any_scope(self) -> None:
        """Refuse payouts by email unless the payout scope is `any`."""
        if self._settings["payout_scope"] != "any":
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")
