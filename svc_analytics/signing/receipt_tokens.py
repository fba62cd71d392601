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
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_analytics.errors import DataError
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.texts import canonical_id, cut_short, single_line
from svc_analytics.instants import format_instant, parse_instant
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.money import drop_surplus_zeros, format_amount, group_digits, parse_amount
from svc_analytics.signing import secrets
from svc_analytics.signing.secrets import Secret, Secrets, SigningSecret

if TYPE_CHECKING:
    from svc_analytics.formatting.display import Display

# The verdicts that count: attested by a signature; proven by it, or else by the record.
# The SQL macros is_attested and is_proven say the same.
ATTESTED = ("valid", "valid_previous_secret")
PROVEN = (*ATTESTED, "proven_by_record")
# What people read of them; tables and files hold the codes.
VERDICT_WORDS = {
    "valid": "valid",
    "valid_previous_secret": "valid by an earlier secret",
    "proven_by_record": "proven by the record",
    "facts_mismatch": "not as the record",
    "bad_signature": "wrong signature",
    "unknown_payment": "unknown payment",
    "malformed": "malformed",
    "missing": "missing",
    "not_checked": "not checked",
}
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
        return Display(f"Receipt: {VERDICT_WORDS[self.verdict]}", lines, tables)


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
    token: str, ring: Secrets, record: Mapping[str, Any] | None, webhook_ring: Secrets = ()
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
    ring, webhook_ring = secrets.parse_ring(ring), secrets.parse_ring(webhook_ring)
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
    if signer is None or secrets.is_after_expiry(signer, ring, receipt.paid_at):
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
        [_read_amount(facts[fact]) for fact in MONEY_FACTS]
    except UnicodeEncodeError as error:
        raise MalformedToken(Message("token.surrogate")) from error
    except DataError as error:
        raise MalformedToken(
            Message("token.wrong_fact", reason=translated(error.args[0]))
        ) from error
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
    oldest = secrets.oldest_date(ring)
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


# ---------- The form of a receipt token
# `v1.<payload>.<signature>`, and what is wrong with a text.
# People copy tokens out of mails and tickets, so most texts that are no token were one: cut
# short by a column's width, or wrapped into lines. What is missing is said as far as it is seen.


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


# ---------- What a receipt and its record say differently
# Each fact with both values, and in words.


ID_FACTS = frozenset({"payment_id", "merchant_id"})  # UUIDs: capitals are no other id
_TOLD = 3  # facts whose values are told; a receipt of another payment differs in nearly all
_LONGEST = 100  # characters of a value in a sentence


@dataclass(frozen=True)
class FactDifference:
    """One fact on which a receipt and the record disagree."""

    fact: str
    in_receipt: str
    in_record: str | None


def compare_facts(
    facts: Mapping[str, str], record: Mapping[str, Any]
) -> tuple[FactDifference, ...]:
    """Return the facts that differ; amounts and instants are compared by value."""
    return tuple(
        FactDifference(fact, facts[fact], _as_text(fact, record.get(fact)))
        for fact in FACTS
        if not _is_equal(fact, facts[fact], record.get(fact))
    )


def tell_differences(differences: Sequence[FactDifference], coin: str) -> Iterator[Message]:
    """Say what a receipt in a coin and its record say of each fact, and name those of many.

    >>> [*tell_differences([FactDifference("amount", "1173.3", "173.3")], "usdt")]
    ['amount: the receipt says 1,173.3 usdt, the record says 173.3']
    """
    first, others = differences[:_TOLD], differences[_TOLD:]
    for each in first:
        yield _tell(each, coin)
    if others:
        yield Message("receipt.record_differs_in", fields=", ".join(each.fact for each in others))


def _tell(difference: FactDifference, coin: str) -> Message:
    fact, is_money = difference.fact, difference.fact in MONEY_FACTS
    values = {
        "fact": translated(fact.replace("_", " ")),
        "stated": _shown(difference.in_receipt, is_money),
    }
    values |= {"coin": _shown(coin)} if is_money else {}
    if difference.in_record is None:
        code = "receipt.amount_is_missing" if is_money else "receipt.fact_is_missing"
        return Message(code, **values)
    code = "receipt.amount_differs" if is_money else "receipt.fact_differs"
    return Message(code, **values, recorded=_shown(difference.in_record, is_money))


def _shown(text: str, is_money: bool = False) -> str:
    """Return a value for people, without half a surrogate pair, which no file can hold."""
    if is_money and not _is_wrong(text):
        return group_digits(text)
    return cut_short(single_line(text.encode("utf-8", "replace").decode()), _LONGEST)


def _read_amount(text: Any) -> Decimal:
    """Read an amount as that of a record is read: zeros behind its last place are no digits."""
    return parse_amount(drop_surplus_zeros(text) if isinstance(text, str) else text)


def _is_wrong(amount: str) -> bool:
    try:
        _read_amount(amount)
    except DataError:
        return True
    return False


def _is_equal(fact: str, stated: str, recorded: Any) -> bool:
    try:
        if fact in MONEY_FACTS:
            amount = recorded if isinstance(recorded, Decimal) else _read_amount(recorded)
            return _read_amount(stated) == amount
        if fact == "paid_at":
            at = recorded if isinstance(recorded, int) else parse_instant(recorded)[0]
            return parse_instant(stated)[0] == at
        if fact in ID_FACTS:
            return canonical_id(stated) == canonical_id(str(recorded))
    except DataError:
        return False  # the record breaks the contract, so it does not hold this fact
    return bool(stated == recorded)


def _as_text(fact: str, recorded: Any) -> str | None:
    if fact == "paid_at" and isinstance(recorded, int):
        return format_instant(recorded)
    if isinstance(recorded, Decimal):
        return format_amount(recorded)
    return None if recorded is None else str(recorded)
