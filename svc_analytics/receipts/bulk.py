"""Bulk verification: many receipt tokens against their records, with one key ring.

Where a token is exactly the text the service would issue for the record, only its signature is
computed. All others go to `verify_receipt`, which alone defines the verdicts. Where that is unsure
offline, the service can be asked.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pybase64

from svc_analytics.errors import ApiError, DataError, NotFound, ProtocolError
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.messages import Message
from svc_analytics.money import SCALE
from svc_analytics.schema import MONEY
from svc_analytics.signing.receipt_tokens import (
    BY_NEWEST,
    BY_OLDER,
    FACTS,
    MAX_TOKEN_LENGTH,
    MONEY_FACTS,
    NO_PAYMENT,
    OLDER_BUT_EQUAL,
    SIGNATURE,
    UNSIGNED_BUT_EQUAL,
    MalformedToken,
    Verdict,
    parse_receipt,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret, SigningSecret, oldest_date, valid_until

if TYPE_CHECKING:
    from svc_analytics.api.client import Client  # a helper process needs none of it

FOREVER = (1 << 63) - 1
NO_KEY = -1
UNCERTAIN = -1  # the place of a verdict that is not found yet

# The records that tokens are compared with, row by row; no payment_id means no record.
RECORDS = pa.schema(
    [
        (fact, MONEY if fact in MONEY_FACTS else pa.int64() if fact == "paid_at" else pa.string())
        for fact in FACTS
    ]
)
# What the service may know better than we do offline.
UNSURE = frozenset({"bad_signature", "unknown_payment", "not_checked"})
Tokens: TypeAlias = Sequence[str | None] | pa.ChunkedArray
VerifyOnline = Callable[[str, Verdict], Verdict]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_INVALID = {"PAY_RECEIPT_INVALID", "VALIDATION_FAILED"}
_NOT_VERIFIED = {400, 413, 422}  # these statuses reject the token, whatever their codes
_SIGNED = re.compile(rf"\.[A-Za-z0-9_-]{{{SIGNATURE}}}\Z")
_NEWEST = Verdict("valid", BY_NEWEST)
_OLDER = Verdict("valid_previous_secret", BY_OLDER)
_BY_RECORD = Verdict("proven_by_record", OLDER_BUT_EQUAL)
_UNSIGNED = Verdict("bad_signature", UNSIGNED_BUT_EQUAL)
_USUAL = (_NEWEST, _OLDER, _BY_RECORD, _UNSIGNED)  # on canonical tokens
_NOT_COVERED = Message("receipt.not_covered")


class Verdicts:
    """Verdicts on many tokens in order; those that are nearly always the same are held once."""

    def __init__(self, distinct: Sequence[Verdict], places: npt.NDArray[np.int64]) -> None:
        self._distinct = distinct
        self._places = places  # of each token's verdict among the distinct ones

    def __iter__(self) -> Iterator[Verdict]:
        return map(self._distinct.__getitem__, self._places.tolist())

    def __len__(self) -> int:
        return len(self._places)

    def rows_where(self, holds: Callable[[Verdict], bool]) -> npt.NDArray[np.int64]:
        """Return the rows whose verdict fulfils a condition."""
        return np.flatnonzero(np.array([holds(one) for one in self._distinct])[self._places])

    def replaced(self, rows: npt.NDArray[np.int64], verdicts: Sequence[Verdict]) -> "Verdicts":
        """Return these verdicts with others in some rows."""
        places = self._places.copy()
        places[rows] = np.arange(len(rows)) + len(self._distinct)
        return Verdicts([*self._distinct, *verdicts], places)

    def texts(self, text_of: Callable[[Verdict], str | None]) -> pa.Array:
        """Return a text about each verdict, which is asked of each distinct one once."""
        return pa.array(map(text_of, self._distinct), pa.string()).take(pa.array(self._places))


class BulkVerifier:
    """Verifies tables of tokens with one key ring; keeps no token.

    `is_covered` tells whether the records hold every payment of an instant, so that one
    that is missing does not exist. `verify_online` decides where a verdict is unsure.
    """

    def __init__(
        self,
        ring: Sequence[SigningSecret],
        webhook_ring: Sequence[SigningSecret] = (),
        is_covered: Callable[[int], bool] = lambda at: False,
        verify_online: VerifyOnline | None = None,
    ) -> None:
        self.verify_online = verify_online
        self._ring = tuple(ring)
        self._webhook_ring = tuple(webhook_ring)
        self._is_covered = is_covered
        self._keys = _keys_of(self._ring, self._webhook_ring)
        self._oldest = oldest_date(self._ring)

    def verify(self, tokens: Tokens, records: pa.Table) -> Verdicts:
        """Return the verdict on each token against the record in the same row of `RECORDS`."""
        places = self._verify_canonical(_as_texts(tokens), records)
        rest = np.flatnonzero(places == UNCERTAIN)
        rows = records.take(pa.array(rest)).to_pylist()
        alone = map(self._verify_one, _pick(tokens, rest), rows)
        return self._made_sure(tokens, Verdicts(_USUAL, places).replaced(rest, list(alone)))

    def _made_sure(self, tokens: Tokens, verdicts: Verdicts) -> Verdicts:
        """Let `verify_online` decide where a verdict is unsure."""
        if not self.verify_online:
            return verdicts
        unsure = verdicts.rows_where(lambda verdict: verdict.verdict in UNSURE)
        every, sure = list(verdicts), []
        for row, token in zip(unsure.tolist(), _pick(tokens, unsure), strict=True):
            sure.append(self.verify_online(token, every[row]) if token else every[row])
        return verdicts.replaced(unsure, sure)

    def _verify_canonical(self, texts: pa.Array, records: pa.Table) -> npt.NDArray[np.int64]:
        """Return the place in `_USUAL` of the verdict on each token whose facts are the record's.

        Where that is not certain, it is `UNCERTAIN`.
        """
        places = np.full(len(texts), UNCERTAIN)
        if not self._ring:
            return places
        rows = np.flatnonzero(is_canonical(texts, records))
        paid_at = np.asarray(records["paid_at"].fill_null(0))[rows]
        tokens = _take(texts, rows)
        keys, signers = self._keys, match_signers(self._keys, tokens)
        self._keys = _most_used_first(keys, signers)
        for number, key in enumerate(keys):
            places[rows[(signers == number) & (paid_at <= key.until)]] = _place_of(key.verdict)
        unsigned = np.flatnonzero(signers == NO_KEY)
        for row, token in zip(unsigned, _pick(tokens, unsigned), strict=True):
            places[rows[row]] = _place_of(self._verify_unsigned(token or "", paid_at[row]))
        return places

    def _verify_unsigned(self, token: str, paid_at: int) -> Verdict | None:
        if not _SIGNED.search(token):
            return None
        is_older = self._oldest is not None and paid_at < self._oldest
        return _BY_RECORD if is_older else _UNSIGNED

    def _verify_one(self, token: str | None, record: Mapping[str, Any]) -> Verdict:
        if token is None:
            return Verdict("malformed", Message("receipt.no_token"))
        known = record if record["payment_id"] is not None else None
        verdict = verify_receipt(token, self._ring, known, self._webhook_ring)
        receipt = verdict.receipt
        if verdict.verdict != "unknown_payment" or not receipt or self._is_covered(receipt.paid_at):
            return verdict
        reason = verdict.reason.replaced(NO_PAYMENT.code, _NOT_COVERED)
        return replace(verdict, verdict="not_checked", reason=reason)


class _MacKey:
    """One secret as a prepared HMAC key, and the verdict on what it signed; repr hides it."""

    def __init__(self, secret: Secret, verdict: Verdict | None, until: int | None) -> None:
        self._mac = hmac.new(secret.reveal().encode(), digestmod=hashlib.sha256)
        self.verdict = verdict
        self.until = FOREVER if until is None else until

    def matches(self, tokens: pa.Array) -> npt.NDArray[np.bool_]:
        """Tell which tokens this key signed, comparing whole MACs as canonical text."""
        texts = tokens.cast(pa.binary())
        signatures = pc.binary_slice(texts, -SIGNATURE).cast(pa.binary(SIGNATURE))
        received = _as_matrix(signatures.buffers()[1], SIGNATURE)
        signed = pc.binary_slice(texts, 0, -SIGNATURE - 1).to_pylist()
        digests = b"\0".join(self._digests(signed)) + b"\0" * bool(signed)
        # 33 bytes make 44 characters, so one call encodes all digests.
        expected = _as_matrix(as_base64url(digests), SIGNATURE + 1)[:, :SIGNATURE]
        differing = np.bitwise_or.reduce(received ^ expected, axis=1)
        return np.asarray(differing == 0)

    def _digests(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        for text in texts:
            mac = self._mac.copy()
            mac.update(text)
            yield mac.digest()


def match_signers(keys: Sequence[_MacKey], tokens: pa.Array) -> npt.NDArray[np.int64]:
    """Return for each token the place of the key that signed it, or `NO_KEY`."""
    signers = np.full(len(tokens), NO_KEY)
    for place, key in enumerate(keys):
        rest = np.flatnonzero(signers == NO_KEY)
        is_match = key.matches(_take(tokens, rest))
        signers[rest[is_match]] = place
    return signers


def _most_used_first(keys: Sequence[_MacKey], signers: npt.NDArray[np.int64]) -> list[_MacKey]:
    """Order keys by how many tokens they signed: the next tokens are probably alike."""
    counts = np.bincount(signers[signers != NO_KEY], minlength=len(keys))
    return [keys[place] for place in np.argsort(-counts, kind="stable").tolist()]


def _keys_of(ring: Sequence[SigningSecret], webhook_ring: Sequence[SigningSecret]) -> list[_MacKey]:
    """Prepare the keys of both rings; a secret listed twice counts at its newer place."""
    keys: dict[Secret, _MacKey] = {}
    for entry in ring:
        verdict = _NEWEST if entry == ring[0] else _OLDER
        keys.setdefault(entry.secret, _MacKey(entry.secret, verdict, valid_until(entry, ring)))
    for entry in webhook_ring:
        keys.setdefault(entry.secret, _MacKey(entry.secret, None, None))
    return list(keys.values())


def _place_of(verdict: Verdict | None) -> int:
    return UNCERTAIN if verdict is None else _USUAL.index(verdict)


def _as_matrix(text: Any, width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8).reshape(-1, width)


def _as_texts(tokens: Tokens) -> pa.Array:
    """Return tokens as one array; NULL where one is longer or odder than any can be."""
    if not isinstance(tokens, Sequence):
        return as_array(tokens)
    plain = (t if t and t.isascii() and len(t) <= MAX_TOKEN_LENGTH else None for t in tokens)
    return pa.array(plain, pa.string())


def _take(texts: pa.Array, rows: npt.NDArray[np.int64]) -> pa.Array:
    """Return some rows in order; tokens are long, so all of them are not copied."""
    return texts if len(rows) == len(texts) else texts.take(pa.array(rows))


def _pick(tokens: Tokens, rows: Iterable[int]) -> list[str | None]:
    """Return the tokens of these rows."""
    if isinstance(tokens, Sequence):
        return [tokens[row] for row in rows]
    return list(tokens.take(pa.array(rows, pa.int64())).to_pylist())


# ---------- Canonical tokens
# Those that are the very text the service would issue for their record.
#
# Records become texts column by column, which takes a tenth of the time of parsing tokens. What
# is not told to be canonical here may still be valid: `verify_receipt` decides.


TRIMMED = -1  # amounts without trailing zeros
_MILLIONTH = pa.scalar(Decimal("0.000001"), MONEY)
_PADS = pa.array([b"", b"\0", b"\0\0"])  # to a multiple of 3 bytes, which make 4 characters
_AS_PADDED = pa.array([b"", b"A", b"AA"])  # what those are in base64


def is_canonical(tokens: pa.Array, records: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell which tokens are, up to the signature, what the service would issue.

    `tokens` are texts; the record of each is in the same row.
    """
    payloads = _payloads(tokens, records).cast(pa.binary())
    texts = tokens.cast(pa.binary())
    has_form = pc.and_(
        pc.and_(pc.starts_with(texts, "v1."), pc.is_valid(payloads)),
        pc.and_(
            pc.equal(pc.binary_slice(texts, -SIGNATURE - 1, -SIGNATURE), b"."),
            pc.less_equal(pc.binary_length(texts), MAX_TOKEN_LENGTH),
        ),
    )
    is_same = _is_encoded(pc.binary_slice(texts, 3, -SIGNATURE - 1), payloads)
    return np.asarray(pc.and_(has_form, is_same).fill_null(False))


def _is_encoded(segments: pa.Array, payloads: pa.Array) -> pa.Array:
    """Tell which segments are payloads in base64url.

    One call encodes all payloads, because each is padded to a whole number of groups.
    """
    payloads = payloads.fill_null(b"")
    pads = pa.array(-np.asarray(pc.binary_length(payloads)) % 3)
    padded = pc.binary_join_element_wise(payloads, _PADS.take(pads), b"")
    _, offsets, data = padded.buffers()
    text = as_base64url(data or b"")
    places = np.frombuffer(offsets, np.int32, len(padded) + 1) // 3 * 4
    buffers = [None, pa.py_buffer(places), pa.py_buffer(text)]
    encoded = pa.Array.from_buffers(pa.binary(), len(padded), buffers)
    return pc.equal(pc.binary_join_element_wise(segments, _AS_PADDED.take(pads), b""), encoded)


def as_base64url(data: Any) -> bytes:
    """Return bytes as base64url.

    >>> as_base64url(b"~~~???")
    b'fn5-Pz8_'
    """
    return pybase64.b64encode(data, b"-_")


def as_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, which is not copied if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _payloads(tokens: pa.Array, records: pa.Table) -> pa.Array:
    """Return the payload that the service would write for each record, or NULL."""
    columns = {fact: as_array(records[fact]) for fact in FACTS}
    places = _places_written(tokens, columns["currency"])
    amounts = _amount_texts(columns["amount"], places)
    parts: list[Any] = []
    opening = '{"'
    for fact, column in columns.items():
        if fact in MONEY_FACTS:  # who bears no fee is charged, or gets, the same amount
            is_same = column.equals(columns["amount"])
            text = amounts if is_same else _amount_texts(column, places)
        else:
            text = _instant_texts(column) if fact == "paid_at" else _json_texts(column)
        parts += [f'{opening}{fact}":"', text]
        opening = '","'
    return pc.binary_join_element_wise(*parts, '"}', "")


def _json_texts(texts: pa.Array) -> pa.Array:
    """Return texts as JSON writes them, without the quotes around."""
    characters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    if not np.any((characters < 0x20) | (characters == ord('"')) | (characters == ord("\\"))):
        return texts
    written = (text and json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist())
    return pa.array(written, pa.string())


def _instant_texts(instants: pa.Array) -> pa.Array:
    """Return instants with as many digits of a second as they need: none, 3 or 6."""
    texts = pc.cast(instants.cast(pa.timestamp("us")), pa.string())
    texts = pc.binary_replace_slice(texts, 10, 11, "T")
    for end in ("000", ".000"):
        cut = pc.utf8_slice_codeunits(texts, 0, -len(end))
        texts = pc.if_else(pc.ends_with(texts, end), cut, texts)
    return pc.binary_join_element_wise(texts, "Z", "")


def _amount_texts(amounts: pa.Array, places: npt.NDArray[np.int64]) -> pa.Array:
    """Return amounts with so many decimals in each row; NULL where they have more.

    Arrow writes amounts below a millionth with an exponent, as the service never does: NULL.
    """
    texts = pc.cast(amounts, pa.string())
    is_plain = pc.greater_equal(amounts, _MILLIONTH)
    amount_texts = pa.nulls(len(texts), pa.string())
    for some in np.unique(places).tolist():
        if some == TRIMMED:
            end, cut = "", pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
        else:
            end = ("." if some == 0 else "") + "0" * (SCALE - some)
            cut = pc.utf8_slice_codeunits(texts, 0, -len(end) or None)
        is_exact = pc.and_(is_plain, pc.ends_with(texts, end))
        amount_texts = pc.if_else(pc.and_(is_exact, pa.array(places == some)), cut, amount_texts)
    return amount_texts


def _places_written(tokens: pa.Array, currencies: pa.Array) -> npt.NDArray[np.int64]:
    """Return the decimals the service writes per currency, read from one token of each."""
    known = pc.unique(currencies.drop_null())
    firsts = (pc.index(currencies, currency).as_py() for currency in known)
    places = pa.array([_places(tokens[first].as_py()) for first in firsts], pa.int64())
    return np.asarray(places.take(pc.index_in(currencies, known)).fill_null(TRIMMED))


def _places(token: str | None) -> int:
    try:
        facts = parse_receipt(token or "").facts
    except DataError:
        return TRIMMED
    places = {len(facts[fact].partition(".")[2]) for fact in MONEY_FACTS}
    return places.pop() if len(places) == 1 else TRIMMED


class OnlineVerifier:
    """Verifies tokens by asking the service; a refused key or an outage is an error."""

    def __init__(self, client: "Client", ring: Sequence[SigningSecret]) -> None:
        self._client = client
        self._ring = ring
        self._merchant_id = client.me()[0]["id"]

    def verify(self, token: str, verdict: Verdict) -> Verdict:
        """Return the verdict on a token by the service's record; `verdict` if malformed."""
        try:
            receipt = parse_receipt(token)
        except MalformedToken:
            return verdict
        payment = self._payment_if_verified(token, receipt.facts["payment_id"])
        is_verified = payment is not None
        payment = payment or self._payment(receipt.facts["payment_id"])
        record = payment and {
            **payment,
            "payment_id": payment.get("id"),
            "merchant_id": self._merchant_id,
        }
        verdict = verify_receipt(token, self._ring, record)
        if is_verified and verdict.verdict == "bad_signature" and not verdict.differences:
            return Verdict("valid", Message("receipt.ring_incomplete"), verdict.receipt)
        code = "receipt.service_verifies" if is_verified else "receipt.service_refuses"
        return replace(verdict, reason=Message(code, reason=verdict.reason))

    def _payment_if_verified(self, token: str, payment_id: str) -> Mapping[str, Any] | None:
        try:
            response = self._client.verify_receipt(token)
        except ApiError as error:
            if error.status in _NOT_VERIFIED or _INVALID.intersection(error.codes):
                return None
            raise
        payment = response.get("payment")
        is_told = isinstance(payment, dict) and _is_of(payment, payment_id)
        return payment if response.get("valid") is True and is_told else None

    def _payment(self, payment_id: str) -> Mapping[str, Any] | None:
        if not _UUID.match(payment_id):
            return None  # the service never issued such an id, so do not ask for it
        try:
            payment = self._client.payment(payment_id)
        except NotFound:
            return None
        if not _is_of(payment, payment_id):
            raise ProtocolError("the service answered with another payment, or with none")
        return payment


def _is_of(payment: Mapping[str, Any], payment_id: str) -> bool:
    """Whether an answer is the payment of an id: any other says nothing of it."""
    return canonical_id(str(payment.get("id"))) == canonical_id(payment_id)
