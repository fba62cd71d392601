"""Sentences for the error codes that a person on these pages can meet."""

from collections.abc import Iterable

from svc_analytics.sandbox.core.html import Html, alert

# What a customer reads in the widget.
WIDGET = {
    "PAY_SESSION_NOT_FOUND": "There is no such checkout.",
    "PAY_SESSION_EXPIRED": "This checkout has expired. Nothing was charged.",
    "PAY_SESSION_STATE": "This checkout is closed. Nothing was charged.",
    "PAY_CURRENCY_NOT_ACCEPTED": "This order cannot be paid in that coin: choose another.",
    "PAY_BINDING_REQUIRED": "Link your account to this shop first.",
    "PAY_BINDING_REVIEW": (
        "The shop is reviewing your account, because your name differs from the one it knows."
        " Please come back later: you can pay as soon as it agrees."
    ),
    "PAY_BINDING_MISMATCH": (
        "This order belongs to a customer of the shop who is linked to another account."
        " Sign in with that account, or ask the shop."
    ),
    "PAY_BINDING_CONFLICT": (
        "This customer of the shop, or your account, is linked already. Ask the shop to end"
        " the wrong link."
    ),
    "PAY_SELF_PAYMENT": "This account is the shop itself: a business cannot pay itself.",
    "INSUFFICIENT_BALANCE": "Your balance does not cover this amount. Nothing was charged.",
    "TOTP_REQUIRED": "Enter the code of your second factor.",
    "TOTP_INVALID": "That code is not right. Nothing was charged.",
    "TOTP_NOT_ENROLLED": "Set up a second factor first: this payment needs one.",
    "RATE_LIMITED": "Too many wrong codes. Please wait a quarter of an hour, then try again.",
    "MERCHANT_DISABLED": "This shop cannot take payments now. Nothing was charged.",
    "MAINTENANCE_MODE": "Payments are under maintenance. Please try again later.",
}

# What the business reads in its console.
CONSOLE = {
    "MERCHANT_WEBHOOK_SECRET_UNSEEN": (
        "Open the webhook secret first: without it nobody can verify the test event."
    ),
    "MERCHANT_WEBHOOK_URL_INVALID": (
        "This webhook URL was not set: it must be https and publicly reachable, or http on this"
        " machine."
    ),
    "MERCHANT_KEY_LIMIT": "Five keys of this class are enabled already: revoke one first.",
    "MERCHANT_PAYOUTS_DISABLED": (
        "Nothing was paid: payouts are not armed, a limit is not set, or the business is"
        " suspended. See the payout terms."
    ),
    "PAY_AMOUNT_INVALID": (
        "Nothing was paid: the amount must be above zero and have no more decimals than the coin."
    ),
    "PAY_CURRENCY_NOT_ACCEPTED": "Nothing was paid: the platform does not move this coin.",
    "PAY_RECIPIENT_INVALID": (
        "Nothing was paid: the recipient must be the payer_id of a customer who has paid this"
        " business and whose account is in order."
    ),
    "PAY_PAYOUT_LIMIT": "Nothing was paid: this goes beyond the limits of the payout terms.",
    "PAY_RATE_UNAVAILABLE": "Nothing was paid: the coin has no USD rate now. Try again later.",
    "INSUFFICIENT_BALANCE": "Nothing was paid: the wallet does not cover the amount and its fee.",
    "CONFLICT": "This key was revoked before.",
    "NOT_FOUND": "There is no such key.",
}


def alerts(codes: Iterable[str], sentences: dict[str, str]) -> list[Html]:
    """Return an alert for each code: its sentence, and the code in small print."""
    return [alert(sentences.get(code, "This did not work."), code) for code in codes]
