"""The form of a receipt token, `v1.<payload>.<signature>`, and what is wrong with a text.

People copy tokens out of mails and tickets, so most texts that are no token were one: cut
short by a column's width, or wrapped into lines. What is missing is said as far as it is seen.
"""

import base64
import json
import re

from svc_analytics.errors import DataError
from svc_analytics.messages import Message

MAX_TOKEN_LENGTH = 16_384
SIGNATURE = 43  # characters of 32 bytes in base64url
# The facts of a payload, in the canonical order of the contract.
FACTS = (
    *("payment_id", "receipt_no", "merchant_id", "reference_id", "currency"),
    *("amount", "charged_amount", "fee_bearer", "net_amount", "paid_at"),
)
MONEY_FACTS = frozenset({"amount", "charged_amount", "net_amount"})

_TOKEN = re.compile(rf"v1\.([A-Za-z0-9_-]+={{0,2}})\.([A-Za-z0-9_-]{{{SIGNATURE}}})(=?)\Z")
_BEGUN = re.compile(r"v1\.([A-Za-z0-9_-]+={0,2})(?:\.([A-Za-z0-9_-]*))?\Z")
_WITHOUT_BEGINNING = re.compile(rf"1?\.?[A-Za-z0-9_-]+={{0,2}}\.[A-Za-z0-9_-]{{{SIGNATURE}}}\Z")
_STRANGE = re.compile(r"[^A-Za-z0-9_.=-]")
_ELLIPSIS = re.compile(r"(?:…|\.{2,})\Z")
_FACT = re.compile(rf'"({"|".join(FACTS)})"\s*:\s*"(?:[^"\\]|\\.)*"')


class MalformedToken(DataError):
    """Raised for a text that is not a receipt token of the contract's form; `reason` says why."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason


def split_token(token: str) -> tuple[str, str, str]:
    """Split a token into signed text, payload segment and canonical signature."""
    if not isinstance(token, str) or len(token) > MAX_TOKEN_LENGTH:
        raise MalformedToken(Message("token.no_text"))
    match = _TOKEN.match(token)
    if not match:
        raise MalformedToken(_fault(token))
    payload, signature, padding = match.groups()
    # Padding in the payload is signed with it, and a service that pads one segment pads both:
    # behind the signature it is right where the payload has all that it needs, which may be none.
    if padding and len(payload) % 4:
        raise MalformedToken(Message("token.padded"))
    return token.rpartition(".")[0], payload, signature


def has_token_form(text: str) -> bool:
    """Tell whether a text has the form of a token, whoever signed it."""
    return len(text) <= MAX_TOKEN_LENGTH and _TOKEN.match(text) is not None


def _fault(text: str) -> Message:
    """Say why a text has not the form of a token."""
    if not text:
        return Message("token.empty")
    if has_token_form("".join(text.split())):
        return _broken_by_blank(text)
    begun = _ELLIPSIS.sub("", text)  # how programs mark what they cut
    if begun and "v1.".startswith(begun):
        return Message("token.cut_before_payload")
    if match := _BEGUN.match(begun):
        payload, signature = match.groups()
        return _cut_payload(payload) if signature is None else _wrong_signature(len(signature))
    if _WITHOUT_BEGINNING.match(text):
        return Message("token.cut_beginning")
    strange = _STRANGE.search(text) if text.startswith("v1.") else None
    if strange:
        letter = f"{strange[0]!a}"
        return Message("token.strange_letter", place=strange.start() + 1, letter=letter)
    return Message("token.other_form")


def _broken_by_blank(text: str) -> Message:
    place = re.search(r"\s", text)
    after = place.start() if place else 0
    return Message("token.blank", count=f"{after:,}")


def _cut_payload(payload: str) -> Message:
    """Say how far the payload of a token without a signature goes."""
    bare = payload.rstrip("=")
    bare = bare[:-1] if len(bare) % 4 == 1 else bare  # a single character makes no byte
    text = base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4)).decode(errors="ignore")
    if not "{".startswith(text[:1]):
        return Message("token.unsigned")
    if _is_json(text):
        return Message("token.cut_signature")
    facts = len({match[1] for match in _FACT.finditer(text)})
    return Message("token.cut_payload", count=facts, total=len(FACTS))


def _wrong_signature(length: int) -> Message:
    if length < SIGNATURE:
        return Message("token.short_signature", count=length, total=SIGNATURE)
    return Message("token.long_signature", count=f"{length:,}", total=SIGNATURE)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
