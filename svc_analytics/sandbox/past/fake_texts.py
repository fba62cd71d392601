"""Made-up texts of the past: ids, references, metadata, comments.

They contain what merchants really write: slashes, spaces, Persian, and sometimes a text
that a spreadsheet would take for a formula.
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


def uuid_text(rng: Random) -> str:
    """Draw a version 4 UUID; `uuid.UUID` would take most of the seeding time."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def receipt_no(number: int) -> str:
    """Return the receipt number of the merchant's n-th payment."""
    return f"SVC-{number:09d}"


def order_reference(number: int) -> str:
    """Return the merchant's reference of its n-th order."""
    if number % 40 == 0:
        return f"سفارش-{number}"
    return f"shop 2/{number}" if number % 25 == 0 else f"order-{number:07d}"


def payout_reference(number: int) -> str:
    """Return the merchant's reference of its n-th payout or refund."""
    return f"پرداخت/{number}" if number % 10 == 0 else f"out/{number:06d}"


def metadata(rng: Random, payer: int) -> str:
    """Draw the metadata of an order as JSON text."""
    return rng.choice(_METADATA) % {"payer": payer, "qty": rng.randint(1, 9)}


def comment(rng: Random, kind: str) -> str:
    """Draw the comment on a payout or refund; often there is none."""
    return rng.choice(_REFUND_COMMENTS if kind == "refund" else _PAYOUT_COMMENTS)
