"""Receipts in bulk: many tokens against their records, with one key ring.

A token that is exactly the text the service would issue for the record needs no
parsing: its facts are the record's, and only its signature is left to compute. All
other tokens go through `tokens.verify_receipt`, which alone defines the verdicts.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import DataError
from svc_analytics.interrupts import interruptible
from svc_analytics.schema import MONEY
from svc_analytics.signing.receipts import (
    BY_NEWEST,
    BY_OLDER,
    FACTS,
    MAX_TOKEN_LENGTH,
    MONEY_FACTS,
    OLDER_BUT_EQUAL,
    UNSIGNED_BUT_EQUAL,
    Verdict,
    parse_receipt,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret, SigningSecret, oldest_date, valid_until

if TYPE_CHECKING:
    import numpy.typing as npt

BLOCK = 64  # bytes that SHA-256 takes at a time
SIGNATURE = 43  # characters of 32 bytes in base64url
FOREVER = (1 << 63) - 1
TRIMMED = -1  # amounts without trailing zeros

# The records that tokens are held against, row by row; a row without payment_id is none.
RECORDS = pa.schema(
    [
        (fact, MONEY if fact in MONEY_FACTS else pa.int64() if fact == "paid_at" else pa.string())
        for fact in FACTS
    ]
)
UNSURE = frozenset({"bad_signature", "unknown_payment", "not_checked"})

_SIGNATURE = re.compile(rb"[A-Za-z0-9_-]+")
_NEWEST = Verdict("valid", BY_NEWEST)
_OLDER = Verdict("valid_previous_secret", BY_OLDER)
_BY_RECORD = Verdict("proven_by_record", OLDER_BUT_EQUAL)
_UNSIGNED = Verdict("bad_signature", UNSIGNED_BUT_EQUAL)
_NOT_COVERED = "the lake was not read for its time: run extract, or verify with --online"

# `places` is how many decimals the service writes of a currency. DECIMAL(38,18) as
# text always has 18, so the wanted form is a cut, and a cut digit that is not zero
# only yields a text that no token has.
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
    """Checks tables of tokens; keeps nothing of them but which secret verified most lately.

    `is_covered` tells whether all payments of an instant are in the records, so that
    one that is missing does not exist.
    """

    def __init__(
        self,
        ring: Sequence[SigningSecret],
        webhook_ring: Sequence[SigningSecret] = (),
        is_covered: Callable[[int], bool] = lambda at: False,
    ) -> None:
        self._ring = tuple(ring)
        self._webhook_ring = tuple(webhook_ring)
        self._is_covered = is_covered
        self._signers = _distinct(self._ring)
        self._webhook_signers = _distinct(self._webhook_ring)
        self._oldest = oldest_date(self._ring)
        self._connection = duckdb.connect(config={"threads": 1})

    def check(self, tokens: Sequence[str | None], records: pa.Table) -> list[Verdict]:
        """Return the verdict on each token against the record in the same row of `RECORDS`."""
        found: list[Verdict | None] = [None] * len(tokens)
        if self._ring:
            self._check_canonical(tokens, records, found)
        rest = [row for row, verdict in enumerate(found) if verdict is None]
        rows = records.take(pa.array(rest, pa.int64())).to_pylist()
        for row, record in zip(rest, rows, strict=True):
            found[row] = self._check_one(tokens[row], record)
        return [verdict for verdict in found if verdict]

    def _check_canonical(
        self, tokens: Sequence[str | None], records: pa.Table, found: list[Verdict | None]
    ) -> None:
        plain = [t if t and t.isascii() and len(t) <= MAX_TOKEN_LENGTH else None for t in tokens]
        texts = pa.array(plain, pa.string())
        rows = np.flatnonzero(self._is_canonical(texts, records))
        signed = [(tokens[row] or "").encode() for row in rows.tolist()]
        paid_at = np.asarray(records["paid_at"].combine_chunks().fill_null(0))[rows]
        for place, verdict in self._verified(signed, paid_at):
            found[rows[place]] = verdict

    @interruptible()
    def _is_canonical(self, texts: pa.Array, records: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell which tokens but for their signature are what the service would issue."""
        table = records.append_column("token", texts)
        table = table.append_column("places", _places_written(texts, records))
        with self._connection.cursor() as cursor:
            cursor.register("rows", table)
            amounts = ",".join(_AMOUNT_TEXT.format(fact) for fact in sorted(MONEY_FACTS))
            answer = cursor.sql(_IS_CANONICAL.format(amounts=amounts)).to_arrow_table()
        flags = answer["is_canonical"].combine_chunks().fill_null(False)
        return np.asarray(flags.to_numpy(zero_copy_only=False))

    def _verified(
        self, tokens: Sequence[bytes], paid_at: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, Verdict]]:
        """Yield verdicts on tokens whose facts are the record's, by signature and date.

        What is signed too late, by a webhook secret or by no MAC is left to the careful way.
        """
        left = np.arange(len(tokens))
        for signer in list(self._signers):
            hits = signer.verifies([tokens[row] for row in left.tolist()])
            is_due = paid_at[left[hits]] <= signer.until
            verdict = _NEWEST if signer.is_newest else _OLDER
            yield from ((row, verdict) for row in left[hits][is_due].tolist())
            if hits.sum() * 2 > len(left):  # what follows is most likely signed alike
                self._signers.remove(signer)
                self._signers.insert(0, signer)
            left = left[~hits]
        for signer in self._webhook_signers:
            left = left[~signer.verifies([tokens[row] for row in left.tolist()])]
        for row in left.tolist():
            if not _SIGNATURE.fullmatch(tokens[row], len(tokens[row]) - SIGNATURE):
                continue
            is_older = self._oldest is not None and paid_at[row] < self._oldest
            yield row, _BY_RECORD if is_older else _UNSIGNED

    def _check_one(self, token: str | None, record: Mapping[str, Any]) -> Verdict:
        if token is None:
            return Verdict("malformed", "no token in this row")
        held = record if record["payment_id"] is not None else None
        verdict = verify_receipt(token, self._ring, held, self._webhook_ring)
        receipt = verdict.receipt
        if (
            verdict.verdict == "unknown_payment"
            and receipt
            and not self._is_covered(receipt.paid_at)
        ):
            how = verdict.reason.partition(",")[0]
            return replace(verdict, verdict="not_checked", reason=f"{how}, but {_NOT_COVERED}")
        return verdict


class _MacKey:
    """The MAC of one secret, its key already taken in; no repr shows it."""

    def __init__(self, secret: Secret, until: int, *, is_newest: bool) -> None:
        key = secret.reveal().encode()
        key = hashlib.sha256(key).digest() if len(key) > BLOCK else key
        key = key.ljust(BLOCK, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key))
        self.until = until
        self.is_newest = is_newest

    def verifies(self, tokens: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Tell which tokens end in their MAC, compared whole, as canonical text."""
        received = _as_matrix(b"".join([token[-SIGNATURE:] for token in tokens]), SIGNATURE)
        digests = b"\0".join(self._digests(tokens)) + b"\0" * bool(tokens)
        # 33 bytes make 44 characters, so one call writes all of them.
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


def _as_matrix(text: bytes, width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8).reshape(-1, width)


def _distinct(ring: Sequence[SigningSecret]) -> list[_MacKey]:
    """Make the signers of a ring; of a secret that stands twice, the newer place counts."""
    first = {entry.secret: entry for entry in reversed(ring)}
    found = []
    for entry in dict.fromkeys(first[entry.secret] for entry in ring):
        until = valid_until(entry, ring)
        is_newest = entry == ring[0]
        found.append(
            _MacKey(entry.secret, FOREVER if until is None else until, is_newest=is_newest)
        )
    return found


def _places_written(texts: pa.Array, records: pa.Table) -> pa.Array:
    """Learn of one token of each currency how many decimals the service writes."""
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
