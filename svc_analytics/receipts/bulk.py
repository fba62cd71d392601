"""Bulk verification: many receipt tokens against their records, with one key ring.

Where a token is exactly the text the service would issue for the record, only its signature
is computed. All others go to `verify_receipt`, which alone defines the verdicts.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.messages import Message
from svc_analytics.receipts.canonical import as_array, as_base64url, is_canonical
from svc_analytics.schema import MONEY
from svc_analytics.signing.receipts import (
    BY_NEWEST,
    BY_OLDER,
    NO_PAYMENT,
    OLDER_BUT_EQUAL,
    UNSIGNED_BUT_EQUAL,
    Verdict,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret, SigningSecret, oldest_date, valid_until
from svc_analytics.signing.token_form import FACTS, MAX_TOKEN_LENGTH, MONEY_FACTS, SIGNATURE

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
        """Return which of the usual verdicts each token has whose facts equal the record's.

        Where that is not certain, it is `UNCERTAIN`.
        """
        verdicts = np.full(len(texts), UNCERTAIN)
        if not self._ring:
            return verdicts
        rows = np.flatnonzero(is_canonical(texts, records))
        paid_at = np.asarray(records["paid_at"].fill_null(0))[rows]
        tokens = _take(texts, rows)
        keys, signers = self._keys, match_signers(self._keys, tokens)
        self._keys = _most_used_first(keys, signers)
        for place, key in enumerate(keys):
            verdicts[rows[(signers == place) & (paid_at <= key.until)]] = _place_of(key.verdict)
        unsigned = np.flatnonzero(signers == NO_KEY)
        for row, token in zip(unsigned, _pick(tokens, unsigned), strict=True):
            verdicts[rows[row]] = _place_of(self._verify_unsigned(token or "", paid_at[row]))
        return verdicts

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
