"""Receipt tokens: parse, sign, verify. No I/O.

The MAC of a receipt is over the text as received, `v1.<payload>`, never over a
re-encoded payload (contract, Receipt token). HMAC is symmetric: it shows that a
token was not altered, it does not prove to a third party who made it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svc_analytics.errors import DataError
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.instants import parse_instant
from svc_analytics.messages import Message, clauses
from svc_analytics.money import parse_amount
from svc_analytics.signing.differences import FactDifference, compare_facts, tell_differences
from svc_analytics.signing.secrets import (
    Secret,
    Secrets,
    SigningSecret,
    is_after_expiry,
    oldest_date,
    parse_ring,
)
from svc_analytics.signing.token_form import FACTS, MONEY_FACTS, MalformedToken, split_token

if TYPE_CHECKING:
    from svc_analytics.formatting.display import Display

# The verdicts that count: attested by a signature; proven by it, or else by the record.
# The SQL macros is_attested and is_proven say the same.
ATTESTED = ("valid", "valid_previous_secret")
PROVEN = (*ATTESTED, "proven_by_record")
SIGNED, ALL_AGREE = Message("receipt.signed"), Message("receipt.all_facts_agree")
NO_SIGNER, NO_PAYMENT = Message("receipt.no_signer"), Message("receipt.no_payment")
OLDER, SAME_FACTS = Message("receipt.older_than_secrets"), Message("receipt.same_facts")
BY_NEWEST = clauses(Message("receipt.by_newest"), ALL_AGREE)
BY_OLDER = clauses(Message("receipt.by_older"), ALL_AGREE)
OLDER_BUT_EQUAL = clauses(OLDER, SAME_FACTS)
UNSIGNED_BUT_EQUAL = clauses(NO_SIGNER, SAME_FACTS)
WEBHOOK_SIGNED = Message("receipt.webhook_signed")


@dataclass(frozen=True)
class Receipt:
    """A parsed receipt token: the facts it states, not yet verified."""

    facts: Mapping[str, str]
    more_facts: tuple[str, ...]

    @property
    def paid_at(self) -> int:
        """The instant of payment that the receipt states, in UTC microseconds."""
        return parse_instant(self.facts["paid_at"])[0]


@dataclass(frozen=True)
class Verdict(Displayable):
    """The verdict on one receipt, with its reason; `is_proven` says whether it proves the payment.

    Examples:
        >>> svc.verify_receipt(token, "rcpt_…").verdict  # doctest: +SKIP
        'valid'
    """

    verdict: str
    reason: Message
    receipt: Receipt | None = None
    differences: tuple[FactDifference, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether the receipt, or failing that the record, proves the payment."""
        return self.verdict in PROVEN

    def _display(self) -> Display:
        from svc_analytics.formatting.display import Display, text_table  # loads pyarrow

        lines = [f"{'proven' if self.is_proven else 'not proven'}: {self.reason}"]
        tables = []
        if self.differences:
            header = ["fact", "in the receipt", "in the record"]
            rows = ((d.fact, d.in_receipt, d.in_record or "nothing") for d in self.differences)
            tables.append(text_table("facts that differ", header, rows))
        if self.receipt:
            facts = self.receipt.facts.items()
            tables.append(text_table("facts in the receipt", ["fact", "in the receipt"], facts))
        return Display(f"Receipt: {self.verdict}", lines, tables)


def encode_segment(data: bytes) -> str:
    """Write bytes as base64url text without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign_receipt(facts: Mapping[str, str], secret: Secret) -> str:
    """Sign ten facts; return the receipt token that the service would issue."""
    payload = json.dumps({fact: facts[fact] for fact in FACTS}, separators=(",", ":"))
    signed = f"v1.{encode_segment(payload.encode())}"
    return f"{signed}.{_mac(signed, secret)}"


def parse_receipt(token: str) -> Receipt:
    """Parse a token without verifying it, or raise `MalformedToken` with the reason."""
    return _read_payload(split_token(token)[1])


def signer_of(token: str, ring: Iterable[SigningSecret]) -> SigningSecret | None:
    """Return the first secret of the ring that signed the token, or None."""
    signed, _, signature = split_token(token)
    for entry in ring:
        if hmac.compare_digest(_mac(signed, entry.secret), signature):
            return entry
    return None


def verify_receipt(
    token: str,
    ring: Secrets,
    record: Mapping[str, Any] | None,
    webhook_ring: Secrets = (),
) -> Verdict:
    """Verify one receipt token: its form, its signature, its facts against the record.

    `ring` are the receipt secrets, newest first: texts as in SVC_RECEIPT_SECRETS, or those of
    `read_settings`. `record` holds the ten facts under their names in the token, amounts as
    Decimal or contract text in the coin of the payment, and `paid_at` as UTC microseconds or
    text; None without such a payment.

    Returns:
        The verdict: `verdict` (valid, valid_previous_secret, proven_by_record,
        facts_mismatch, bad_signature, unknown_payment, malformed or not_checked), `reason`
        in words, and `differences`.

    Raises:
        ConfigError: when a secret is no text. A token never raises: it is a verdict.

    Examples:
        >>> verify_receipt("not a token", ["a secret"], None).verdict
        'malformed'
    """
    ring, webhook_ring = parse_ring(ring), parse_ring(webhook_ring)
    if not ring:
        return Verdict("not_checked", Message("receipt.no_secret"))
    try:
        signer = signer_of(token, ring)
        receipt = parse_receipt(token)
    except MalformedToken as error:
        return Verdict("malformed", error.reason)
    verdict = _classify(receipt, signer, ring, record)
    if signer is None and signer_of(token, webhook_ring):  # the settings mixed them up
        return Verdict("bad_signature", WEBHOOK_SIGNED, receipt, verdict.differences)
    return verdict


def _classify(
    receipt: Receipt,
    signer: SigningSecret | None,
    ring: Sequence[SigningSecret],
    record: Mapping[str, Any] | None,
) -> Verdict:
    differences = () if record is None else compare_facts(receipt.facts, record)
    if signer is None or is_after_expiry(signer, ring, receipt.paid_at):
        return _classify_unsigned(receipt, signer, ring, record, differences)
    if record is None:
        return Verdict("unknown_payment", clauses(SIGNED, NO_PAYMENT), receipt)
    if differences:
        reason = clauses(SIGNED, *tell_differences(differences, receipt.facts["currency"]))
        return Verdict("facts_mismatch", reason, receipt, differences)
    notes = _notes(receipt, record)
    if signer is ring[0]:
        return Verdict("valid", clauses(BY_NEWEST, *notes), receipt)
    return Verdict("valid_previous_secret", clauses(BY_OLDER, *notes), receipt)


def _mac(signed: str, secret: Secret) -> str:
    return encode_segment(hmac.digest(secret.reveal().encode(), signed.encode(), "sha256"))


def _read_payload(segment: str) -> Receipt:
    try:
        raw = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
        payload = json.loads(raw.decode(), object_pairs_hook=_unique_keys)
    except (binascii.Error, UnicodeDecodeError, RecursionError) as error:
        raise MalformedToken(Message("token.not_json_in_base64")) from error
    except MalformedToken:
        raise
    except ValueError as error:  # a JSONDecodeError, or a number of too many digits
        raise MalformedToken(Message("token.not_json")) from error
    if not isinstance(payload, dict):
        raise MalformedToken(Message("token.no_object"))
    wrong = [fact for fact in FACTS if not isinstance(payload.get(fact), str)]
    if wrong:
        raise MalformedToken(Message("token.lacks", fields=", ".join(wrong)))
    facts = {fact: payload[fact] for fact in FACTS}
    try:
        "".join(facts.values()).encode()
        parse_instant(facts["paid_at"])
        [parse_amount(facts[fact]) for fact in MONEY_FACTS]
    except UnicodeEncodeError as error:
        raise MalformedToken(Message("token.surrogate")) from error
    except DataError as error:
        raise MalformedToken(Message("token.wrong_fact", REASON=error.args[0])) from error
    return Receipt(facts, tuple(sorted(payload.keys() - set(FACTS))))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    payload = dict(pairs)
    if len(payload) != len(pairs):
        raise MalformedToken(Message("token.key_twice"))
    return payload


def _notes(receipt: Receipt, record: Mapping[str, Any]) -> list[Message]:
    """Describe tolerated differences: amounts with other zeros, additional facts."""
    notes = [
        Message("receipt.record_writes", fact=fact, stated=text, recorded=record[fact])
        for fact, text in receipt.facts.items()
        if fact in MONEY_FACTS and isinstance(record[fact], str) and record[fact] != text
    ]
    if receipt.more_facts:
        names = ", ".join(repr(name)[:40] for name in receipt.more_facts[:5])
        count = len(receipt.more_facts)
        notes.append(Message("receipt.additional_facts", count=count, names=names))
    return notes


def _classify_unsigned(
    receipt: Receipt,
    signer: SigningSecret | None,
    ring: Sequence[SigningSecret],
    record: Mapping[str, Any] | None,
    differences: tuple[FactDifference, ...],
) -> Verdict:
    """Classify a token that no secret in force signed; age alone never makes it a forgery."""
    oldest = oldest_date(ring)
    if oldest is None or receipt.paid_at >= oldest:
        is_same = record is not None and not differences
        facts = SAME_FACTS if is_same else Message("receipt.no_same_facts")
        why = Message("receipt.by_expired") if signer else NO_SIGNER
        return Verdict("bad_signature", clauses(why, facts), receipt, differences)
    if record is None:
        return Verdict("unknown_payment", clauses(OLDER, NO_PAYMENT), receipt)
    if differences:
        texts = tell_differences(differences, receipt.facts["currency"])
        reason = clauses(OLDER, Message("receipt.record_differs"), *texts)
        return Verdict("facts_mismatch", reason, receipt, differences)
    return Verdict("proven_by_record", OLDER_BUT_EQUAL, receipt)
