"""Who may do what (contract, Authentication)."""

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.state.account import KeyClass
from svc_analytics.sandbox.state.api_keys import Key, Keys
from svc_analytics.sandbox.state.settings import Settings


class Gate:
    """Lets a key pass or refuses it."""

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys = keys
        self._settings = settings
        self._revoked: set[KeyClass] = set()

    def revoke(self, key_class: KeyClass) -> None:
        """Refuse every key of a class for as long as this process lives."""
        self._revoked.add(key_class)

    def admit(self, key: Key, *classes: KeyClass) -> None:
        """Let a key pass, by Authentication 4 to 7 and 9."""
        self.require_service()
        held = self._keys.class_of(key)
        if held is None or held in self._revoked:
            raise Refusal(401, "UNAUTHORIZED")
        if not self._settings["is_business"]:
            raise Refusal(404, "MERCHANT_NOT_FOUND")
        if held not in classes:
            raise Refusal(403, "PAY_WRONG_KEY_KIND")

    def require_service(self) -> None:
        """Refuse everyone while the platform is under maintenance."""
        if self._settings["is_maintenance"]:
            raise Refusal(503, "MAINTENANCE_MODE")

    def require_sales(self) -> None:
        """Refuse what a business does that cannot take payments."""
        if self._settings["is_suspended"] or not self._settings["is_rail_enabled"]:
            raise Refusal(403, "MERCHANT_DISABLED")

    def require_payouts(self) -> None:
        """Refuse payouts that are not armed, for any of the reasons of Payouts rule 5."""
        settings = self._settings
        are_limits_set = settings["payout_max_usd"] and settings["payout_day_usd"]
        is_able = settings["is_rail_enabled"] and not settings["is_suspended"]
        if not (is_able and settings["payouts_armed"] and are_limits_set):
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")

    def require_any_scope(self) -> None:
        """Refuse the email path where the platform has not opened it."""
        if self._settings["payout_scope"] != "any":
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")
