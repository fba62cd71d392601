"""Receipt tokens: parse, sign, verify. No I/O.

The MAC of a receipt is over the text as received, `v1.<payload>`, never over a
re-encoded payload (contract, Receipt token). HMAC is symmetric: it shows that a
token was not altered, it does not prove to a third party who made it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_analytics.errors import DataError
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.instants import format_instant, parse_instant
from svc_analytics.money import format_amount, parse_amount
from svc_analytics.signing.secrets import Secret, SigningSecret, is_after_expiry, oldest_date

if TYPE_CHECKING:
    from svc_analytics.formatting.display import Display

# In the canonical order of the contract.
FACTS = (
    "payment_id",
    "receipt_no",
    "merchant_id",
    "reference_id",
    "currency",
    "amount",
    "charged_amount",
    "fee_bearer",
    "net_amount",
    "paid_at",
)
MONEY_FACTS = frozenset({"amount", "charged_amount", "net_amount"})
MAX_TOKEN_LENGTH = 16_384
NO_SIGNER = "no receipt secret verifies its signature"
UNSIGNED_BUT_EQUAL = f"{NO_SIGNER}; the record holds the same facts"
OLDER_BUT_EQUAL = "issued before the oldest receipt secret; the record holds the same facts"
BY_NEWEST = "signed by the newest secret; all facts agree"
BY_OLDER = "signed by an older secret; all facts agree"
WEBHOOK_SIGNED = (
    "a webhook secret verifies it, no receipt secret does: a settings error; "
    "put the receipt secret of the console into SVC_RECEIPT_SECRETS"
)
# The SQL macros is_attested and is_proven say the same.
ATTESTED = ("valid", "valid_previous_secret")
PROVEN = (*ATTESTED, "proven_by_record")

_TOKEN = re.compile(r"v1\.([A-Za-z0-9_-]+)(={0,2})\.([A-Za-z0-9_-]{43})(=?)\Z", re.ASCII)


class MalformedToken(DataError):
    """A text that is not a receipt token of the contract's form."""


@dataclass(frozen=True)
class Receipt:
    """A receipt token taken apart: the facts it states, not yet believed."""

    facts: Mapping[str, str]
    more_facts: tuple[str, ...]

    @property
    def paid_at(self) -> int:
        """The instant the receipt is dated, in UTC microseconds."""
        return parse_instant(self.facts["paid_at"])[0]


@dataclass(frozen=True)
class FactDifference:
    """One fact on which a receipt and the record disagree."""

    fact: str
    in_receipt: str
    in_record: str | None


@dataclass(frozen=True)
class Verdict(Displayable):
    """What one receipt check found (`interface.md`, Receipt verdicts), with its reason."""

    verdict: str
    reason: str
    receipt: Receipt | None = None
    differences: tuple[FactDifference, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether the receipt, or failing that the record, proves the payment."""
        return self.verdict in PROVEN

    def _display(self) -> Display:
        from svc_analytics.formatting.display import Cell, Display, DisplayTable  # pyarrow is slow

        lines = [f"{'proven' if self.is_proven else 'not proven'}: {self.reason}"]
        tables = []
        if self.differences:
            found = [
                [Cell(each.fact), Cell(each.in_receipt), Cell(each.in_record or "nothing")]
                for each in self.differences
            ]
            header = ["fact", "in the receipt", "in the record"]
            tables.append(DisplayTable("facts that differ", header, found, len(found)))
        if self.receipt:
            facts = [[Cell(name), Cell(text)] for name, text in self.receipt.facts.items()]
            header = ["fact", "in the receipt"]
            tables.append(DisplayTable("facts in the receipt", header, facts, len(facts)))
        return Display(f"Receipt: {self.verdict}", lines, tables)


def encode_segment(data: bytes) -> str:
    """Write bytes as base64url text without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign_receipt(facts: Mapping[str, str], secret: Secret) -> str:
    """Make the token the service would issue for these ten facts."""
    payload = json.dumps({fact: facts[fact] for fact in FACTS}, separators=(",", ":"))
    signed = f"v1.{encode_segment(payload.encode())}"
    return f"{signed}.{_mac(signed, secret)}"


def parse_receipt(token: str) -> Receipt:
    """Take a token apart, or raise `MalformedToken` with the reason. Proves nothing yet."""
    _, payload, _ = _split(token)
    return _read_payload(payload)


def signer_of(token: str, ring: Iterable[SigningSecret]) -> SigningSecret | None:
    """Return the first secret of the ring whose MAC the token carries."""
    signed, _, signature = _split(token)
    # Padding is optional, and a transport may have added it behind the signing.
    texts = dict.fromkeys((signed, signed.rstrip("=")))
    for entry in ring:
        if any(hmac.compare_digest(_mac(text, entry.secret), signature) for text in texts):
            return entry
    return None


def verify_receipt(
    token: str,
    ring: Sequence[SigningSecret],
    record: Mapping[str, Any] | None,
    webhook_ring: Iterable[SigningSecret] = (),
) -> Verdict:
    """Check one token: form, then signature, then its ten facts against the record.

    `record` holds the ten facts under their names in the token, amounts as Decimal
    or contract text and `paid_at` as microseconds or text; None when no such
    payment exists. The webhook secrets verify nothing: they only explain why a
    token fails that was taken to be signed with them.
    """
    if not ring:
        return Verdict("not_checked", "no receipt secret is configured")
    try:
        signer = signer_of(token, ring)
        receipt = parse_receipt(token)
    except MalformedToken as error:
        return Verdict("malformed", str(error))
    found = _judge(receipt, signer, ring, record)
    if signer is None and signer_of(token, webhook_ring):
        return Verdict("bad_signature", WEBHOOK_SIGNED, receipt, found.differences)
    return found


def _judge(
    receipt: Receipt,
    signer: SigningSecret | None,
    ring: Sequence[SigningSecret],
    record: Mapping[str, Any] | None,
) -> Verdict:
    differences = () if record is None else compare_facts(receipt, record)
    if signer is None or is_after_expiry(signer, ring, receipt.paid_at):
        return _judge_unsigned(receipt, signer, ring, record, differences)
    if record is None:
        return Verdict(
            "unknown_payment", "the signature is right, but there is no such payment", receipt
        )
    if differences:
        names = ", ".join(difference.fact for difference in differences)
        reason = f"the signature is right, but the record differs in {names}"
        return Verdict("facts_mismatch", reason, receipt, differences)
    notes = _notes(receipt, record)
    if signer is ring[0]:
        return Verdict("valid", BY_NEWEST + notes, receipt)
    return Verdict("valid_previous_secret", BY_OLDER + notes, receipt)


def compare_facts(receipt: Receipt, record: Mapping[str, Any]) -> tuple[FactDifference, ...]:
    """List the facts that differ: amounts compare as decimals, instants as instants."""
    return tuple(
        FactDifference(fact, receipt.facts[fact], _as_text(fact, record.get(fact)))
        for fact in FACTS
        if not _is_equal(fact, receipt.facts[fact], record.get(fact))
    )


def _mac(signed: str, secret: Secret) -> str:
    digest = hmac.new(secret.reveal().encode(), signed.encode(), hashlib.sha256).digest()
    return encode_segment(digest)


def _split(token: str) -> tuple[str, str, str]:
    """Return the signed text, the payload segment and the canonical signature text."""
    if not isinstance(token, str) or len(token) > MAX_TOKEN_LENGTH:
        raise MalformedToken("not a text of a receipt's length")
    match = _TOKEN.match(token)
    if not match:
        raise MalformedToken("not of the form v1.<payload>.<signature>")
    return token.rpartition(".")[0], match[1], match[3]


def _read_payload(segment: str) -> Receipt:
    try:
        raw = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
        payload = json.loads(raw.decode(), object_pairs_hook=_unique_keys)
    except (binascii.Error, UnicodeDecodeError, RecursionError) as error:
        raise MalformedToken("the payload is not JSON in base64url") from error
    except MalformedToken:
        raise
    except ValueError as error:  # a JSONDecodeError, or a number of too many digits
        raise MalformedToken("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise MalformedToken("the payload is not a JSON object")
    wrong = [fact for fact in FACTS if not isinstance(payload.get(fact), str)]
    if wrong:
        raise MalformedToken(f"the payload lacks {', '.join(wrong)}")
    facts = {fact: payload[fact] for fact in FACTS}
    try:
        "".join(facts.values()).encode()
    except UnicodeEncodeError as error:
        raise MalformedToken("a fact of the payload is half of a surrogate pair") from error
    try:
        parse_instant(facts["paid_at"])
        [parse_amount(facts[fact]) for fact in MONEY_FACTS]
    except DataError as error:
        raise MalformedToken(f"a fact of the payload is {error}") from error
    return Receipt(facts, tuple(sorted(payload.keys() - set(FACTS))))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedToken("a key appears twice in the payload")
    return found


def _is_equal(fact: str, stated: str, recorded: Any) -> bool:
    try:
        if fact in MONEY_FACTS:
            amount = recorded if isinstance(recorded, Decimal) else parse_amount(recorded)
            return parse_amount(stated) == amount
        if fact == "paid_at":
            at = recorded if isinstance(recorded, int) else parse_instant(recorded)[0]
            return parse_instant(stated)[0] == at
    except DataError:
        return False  # the record breaks the contract: whatever it says, it is not this fact
    return bool(stated == recorded)


def _as_text(fact: str, recorded: Any) -> str | None:
    if fact == "paid_at" and isinstance(recorded, int):
        return format_instant(recorded)
    if isinstance(recorded, Decimal):
        return format_amount(recorded)
    return None if recorded is None else str(recorded)


def _notes(receipt: Receipt, record: Mapping[str, Any]) -> str:
    """Tell what is tolerated and still worth knowing: amounts written otherwise, more facts."""
    notes = [
        f"{fact} {receipt.facts[fact]} is written {record[fact]} in the record"
        for fact in FACTS
        if fact in MONEY_FACTS
        and isinstance(record[fact], str)
        and record[fact] != receipt.facts[fact]
    ]
    if receipt.more_facts:
        shown = ", ".join(repr(name)[:40] for name in receipt.more_facts[:5])
        notes.append(f"the receipt has {len(receipt.more_facts)} more facts: {shown}")
    return "".join(f"; {note}" for note in notes)


def _judge_unsigned(
    receipt: Receipt,
    signer: SigningSecret | None,
    ring: Sequence[SigningSecret],
    record: Mapping[str, Any] | None,
    differences: tuple[FactDifference, ...],
) -> Verdict:
    """Judge a token that no secret verifies: forged, or merely older than the ring.

    The contract lets old tokens stop verifying after a rotation while the record
    stays the proof, so age alone is never called a forgery.
    """
    is_same = record is not None and not differences
    oldest = oldest_date(ring)
    if oldest is None or receipt.paid_at >= oldest:
        known = "the record holds the same facts" if is_same else "no record holds its facts"
        why = (
            "an older secret verifies it, but was not in force on its date" if signer else NO_SIGNER
        )
        reason = f"{why}; {known}"
        return Verdict("bad_signature", reason, receipt, differences)
    if record is None:
        return Verdict(
            "unknown_payment",
            "issued before the oldest receipt secret, and there is no such payment",
            receipt,
        )
    if differences:
        reason = "issued before the oldest receipt secret, and the record differs"
        return Verdict("facts_mismatch", reason, receipt, differences)
    return Verdict("proven_by_record", OLDER_BUT_EQUAL, receipt)
