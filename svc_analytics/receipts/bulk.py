"""Bulk verification: many receipt tokens against their records, with one key ring.

Where a token is exactly the text the service would issue for the record, only its signature
is computed. All others go to `verify_receipt`, which alone defines the verdicts.
"""

import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import DataError
from svc_analytics.interrupts import interruptible
from svc_analytics.schema import MONEY
from svc_analytics.signing.receipts import (
    BY_NEWEST,
    BY_OLDER,
    MONEY_FACTS,
    NO_PAYMENT,
    OLDER_BUT_EQUAL,
    UNSIGNED_BUT_EQUAL,
    Verdict,
    parse_receipt,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret, SigningSecret, oldest_date, valid_until
from svc_analytics.signing.token_form import FACTS, MAX_TOKEN_LENGTH, SIGNATURE

BLOCK = 64  # bytes of a SHA-256 block
FOREVER = (1 << 63) - 1
TRIMMED = -1  # amounts without trailing zeros
NO_KEY = -1

# The records that tokens are compared with, row by row; no payment_id means no record.
RECORDS = pa.schema(
    [
        (fact, MONEY if fact in MONEY_FACTS else pa.int64() if fact == "paid_at" else pa.string())
        for fact in FACTS
    ]
)
# What the service may know better than we do offline.
UNSURE = frozenset({"bad_signature", "unknown_payment", "not_checked"})
VerifyOnline = Callable[[str, Verdict], Verdict]

_SIGNATURE = re.compile(rb"[A-Za-z0-9_-]+")
_NEWEST = Verdict("valid", BY_NEWEST)
_OLDER = Verdict("valid_previous_secret", BY_OLDER)
_BY_RECORD = Verdict("proven_by_record", OLDER_BUT_EQUAL)
_UNSIGNED = Verdict("bad_signature", UNSIGNED_BUT_EQUAL)
_NOT_COVERED = "the lake was not read for its time: run extract, or verify with --online"

# `places` is how many decimals the service writes for a currency. A DECIMAL(38,18) as
# text always has 18, so it is cut to that many; should a cut digit not be zero, the
# text equals no token, and `verify_receipt` decides.
_IS_CANONICAL = """
with amounts as (
    select *, {amounts}
    from rows
),

payloads as (
    select
        token,
        concat(
            '{{"payment_id":', to_json(payment_id),
            ',"receipt_no":', to_json(receipt_no),
            ',"merchant_id":', to_json(merchant_id),
            ',"reference_id":', to_json(reference_id),
            ',"currency":', to_json(currency),
            ',"amount":"', amount_text,
            '","charged_amount":"', charged_amount_text,
            '","fee_bearer":', to_json(fee_bearer),
            ',"net_amount":"', net_amount_text,
            '","paid_at":"', strftime(make_timestamp(paid_at), '%Y-%m-%dT%H:%M:%S'),
            case
                when paid_at % 1000000 = 0 then 'Z"}}'
                when paid_at % 1000 = 0
                    then strftime(make_timestamp(paid_at), '.%g') || 'Z"}}'
                else strftime(make_timestamp(paid_at), '.%f') || 'Z"}}'
            end
        ) as payload
    from amounts
),

expected as (
    select
        token,
        -- Not translate(): it takes ten times as long.
        replace(replace(replace(to_base64(encode(payload)), '=', ''), '+', '-'), '/', '_') as text
    from payloads
)

select
    starts_with(token, concat('v1.', text, '.'))
    and strlen(token) = strlen(text) + 47 as is_canonical
from expected
"""
_AMOUNT_TEXT = """
        case
            when places < 0 then rtrim(rtrim({0}::varchar, '0'), '.')
            when places = 0 then left({0}::varchar, -19)
            else left({0}::varchar, places - 18)
        end as {0}_text"""


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
        self._connection = duckdb.connect(config={"threads": 1})

    def verify(self, tokens: Sequence[str | None], records: pa.Table) -> list[Verdict]:
        """Return the verdict on each token against the record in the same row of `RECORDS`."""
        verdicts: list[Verdict | None] = [None] * len(tokens)
        if self._ring:
            for row, verdict in self._verify_canonical(tokens, records):
                verdicts[row] = verdict
        rest = [row for row, verdict in enumerate(verdicts) if verdict is None]
        rows = records.take(pa.array(rest, pa.int64())).to_pylist()
        for row, record in zip(rest, rows, strict=True):
            verdicts[row] = self._verify_one(tokens[row], record)
        online = self.verify_online
        return [
            online(token, verdict) if online and token and verdict.verdict in UNSURE else verdict
            for token, verdict in zip(tokens, verdicts, strict=True)
            if verdict
        ]

    def _verify_canonical(
        self, tokens: Sequence[str | None], records: pa.Table
    ) -> Iterator[tuple[int, Verdict | None]]:
        """Yield verdicts on tokens whose facts equal the record's; None where not certain."""
        plain = [t if t and t.isascii() and len(t) <= MAX_TOKEN_LENGTH else None for t in tokens]
        texts = pa.array(plain, pa.string())
        rows = np.flatnonzero(self._is_canonical(texts, records))
        paid_at = np.asarray(records["paid_at"].combine_chunks().fill_null(0))[rows]
        signed = [(tokens[row] or "").encode() for row in rows.tolist()]
        keys, signers = self._keys, match_signers(self._keys, signed)
        self._keys = _most_used_first(keys, signers)
        for row, token, signer, at in zip(
            rows.tolist(), signed, signers.tolist(), paid_at.tolist(), strict=True
        ):
            if signer == NO_KEY:
                yield row, self._verify_unsigned(token, at)
            elif at <= keys[signer].until:
                yield row, keys[signer].verdict

    @interruptible()
    def _is_canonical(self, texts: pa.Array, records: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell which tokens are, up to the signature, what the service would issue."""
        table = records.append_column("token", texts)
        table = table.append_column("places", _places_written(texts, records))
        with self._connection.cursor() as cursor:
            cursor.register("rows", table)
            amounts = ",".join(_AMOUNT_TEXT.format(fact) for fact in sorted(MONEY_FACTS))
            answer = cursor.sql(_IS_CANONICAL.format(amounts=amounts)).to_arrow_table()
        flags = answer["is_canonical"].combine_chunks().fill_null(False)
        return np.asarray(flags.to_numpy(zero_copy_only=False))

    def _verify_unsigned(self, token: bytes, paid_at: int) -> Verdict | None:
        if not _SIGNATURE.fullmatch(token, len(token) - SIGNATURE):
            return None
        is_older = self._oldest is not None and paid_at < self._oldest
        return _BY_RECORD if is_older else _UNSIGNED

    def _verify_one(self, token: str | None, record: Mapping[str, Any]) -> Verdict:
        if token is None:
            return Verdict("malformed", "there is no token in this row")
        known = record if record["payment_id"] is not None else None
        verdict = verify_receipt(token, self._ring, known, self._webhook_ring)
        receipt = verdict.receipt
        if verdict.verdict != "unknown_payment" or not receipt or self._is_covered(receipt.paid_at):
            return verdict
        reason = verdict.reason.replace(NO_PAYMENT, _NOT_COVERED)
        return replace(verdict, verdict="not_checked", reason=reason)


class _MacKey:
    """One secret as a prepared HMAC key, and the verdict on what it signed; repr hides it."""

    def __init__(self, secret: Secret, verdict: Verdict | None, until: int | None) -> None:
        key = secret.reveal().encode()
        key = hashlib.sha256(key).digest() if len(key) > BLOCK else key
        key = key.ljust(BLOCK, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key))
        self.verdict = verdict
        self.until = FOREVER if until is None else until

    def matches(self, tokens: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Tell which tokens this key signed, comparing whole MACs as canonical text."""
        received = _as_matrix(b"".join([token[-SIGNATURE:] for token in tokens]), SIGNATURE)
        digests = b"\0".join(self._digests(tokens)) + b"\0" * bool(tokens)
        # 33 bytes make 44 characters, so one call encodes all digests.
        text = binascii.b2a_base64(digests, newline=False).replace(b"+", b"-").replace(b"/", b"_")
        expected = _as_matrix(text, SIGNATURE + 1)[:, :SIGNATURE]
        differing = np.bitwise_or.reduce(received ^ expected, axis=1)
        return np.asarray(differing == 0)

    def _digests(self, tokens: Sequence[bytes]) -> Iterator[bytes]:
        copy_inner, copy_outer = self._inner.copy, self._outer.copy
        for token in tokens:
            inner = copy_inner()
            inner.update(token[: -SIGNATURE - 1])
            outer = copy_outer()
            outer.update(inner.digest())
            yield outer.digest()


def match_signers(keys: Sequence[_MacKey], tokens: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Return for each token the place of the key that signed it, or `NO_KEY`."""
    signers = np.full(len(tokens), NO_KEY)
    for place, key in enumerate(keys):
        rest = np.flatnonzero(signers == NO_KEY)
        is_match = key.matches([tokens[row] for row in rest.tolist()])
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


def _as_matrix(text: bytes, width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8).reshape(-1, width)


def _places_written(texts: pa.Array, records: pa.Table) -> pa.Array:
    """Return the decimals the service writes per currency, read from one token of each."""
    currencies = records["currency"].combine_chunks()
    known = pc.unique(currencies.drop_null())
    firsts = (pc.index(currencies, currency).as_py() for currency in known)
    places = pa.array([_places(texts[first].as_py()) for first in firsts], pa.int64())
    return places.take(pc.index_in(currencies, known)).fill_null(TRIMMED)


def _places(token: str | None) -> int:
    try:
        facts = parse_receipt(token or "").facts
    except DataError:
        return TRIMMED
    places = {len(facts[fact].partition(".")[2]) for fact in MONEY_FACTS}
    return places.pop() if len(places) == 1 else TRIMMED
