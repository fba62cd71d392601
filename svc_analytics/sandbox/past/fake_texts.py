"""The texts of a scenario's records: ids, references, metadata, comments.

References and comments hold what merchants really write: slashes, spaces, Persian,
and now and then a text that a spreadsheet would take for a formula.
"""

from random import Random

_METADATA = (
    "{}",
    "{}",
    '{"customer":{"id":"C-%(payer)06d"},"cart":{"items":[{"sku":"tea-100","qty":%(qty)d}]}}',
    '{"customer":{"id":"C-%(payer)06d","city":"تهران"},"cart":{"items":[{"sku":"tile/blue",'
    '"qty":%(qty)d},{"sku":"saffron-5g","qty":1}],"gift":true},"weight_kg":1.25}',
    '{"campaign":"نوروز","tags":["spring","بهار"],"customer":{"id":"C-%(payer)06d"}}',
    '{"customer":{"id":"C-%(payer)06d"},"note":"leave at the door 🌷","coupon":null}',
    '{"utm":{"source":"newsletter","n":%(qty)d},"path":["shop","tea & tiles","<b>checkout</b>"]}',
    '{"customer":{"id":"C-%(payer)06d"},"note":"=HYPERLINK(\\"https://x.example\\")"}',
)
_PAYOUT_COMMENTS = ("", "", "commission", "supplier share", "سهم فروشنده", "+ bonus, spring")
_REFUND_COMMENTS = ("", "returned", "arrived broken", "مرجوعی", "=goodwill, order was late")


def uuid_text(dice: Random) -> str:
    """Return a version 4 UUID; written by hand, as `uuid.UUID` takes most of a seeding."""
    digits = f"{dice.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def receipt_no(number: int) -> str:
    """Return the receipt number of the merchant's n-th payment."""
    return f"SVC-{number:09d}"


def order_reference(number: int) -> str:
    """Return the merchant's own id of its n-th order."""
    if number % 40 == 0:
        return f"سفارش-{number}"
    return f"shop 2/{number}" if number % 25 == 0 else f"order-{number:07d}"


def payout_reference(number: int) -> str:
    """Return the merchant's own id of its n-th payout or refund."""
    return f"پرداخت/{number}" if number % 10 == 0 else f"out/{number:06d}"


def metadata(dice: Random, payer: int) -> str:
    """Return an order's metadata as JSON text."""
    return dice.choice(_METADATA) % {"payer": payer, "qty": dice.randint(1, 9)}


def comment(dice: Random, kind: str) -> str:
    """Return the note on a payout or refund; often there is none."""
    return dice.choice(_REFUND_COMMENTS if kind == "refund" else _PAYOUT_COMMENTS)
