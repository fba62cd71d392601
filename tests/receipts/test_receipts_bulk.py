"""Receipts in bulk: the verdicts of single checks, at any number, whatever the input."""

import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from svc_analytics.instants import format_instant, parse_instant
from svc_analytics.receipts.bulk import BulkVerifier, is_canonical
from svc_analytics.signing.receipt_tokens import FACTS as FACT_NAMES, MONEY_FACTS, verify_receipt
from svc_analytics.signing.secrets import Secret, SigningSecret, parse_secrets
from tests.support.receipt_material import (
    FACTS,
    RING,
    SECRET,
    Facts,
    check,
    held,
    signed,
    table,
    token_of,
    verdicts,
)
from tests.support.unit_material import examples

# A list holds many texts: fewer lists say as much.
fewer = settings(examples, max_examples=examples.max_examples * 2 // 5)

VECTORS = Path(__file__).parent.parent / "signing" / "vectors"
ROTATED = parse_instant("2026-08-15T00:00:00Z")[0]
DAY = 86_400_000_000


def vectors() -> list[tuple[str, Facts, str]]:
    """The secrets, payloads and tokens that `vectors/make.sh` made with openssl alone."""
    tokens = (VECTORS / "tokens.tsv").read_text().splitlines()
    payloads = (VECTORS / "payloads.tsv").read_text().splitlines()
    pairs = zip(tokens, payloads, strict=True)
    return [(*a.split("\t")[:1], json.loads(b.split("\t")[1]), a.split("\t")[1]) for a, b in pairs]


@pytest.mark.parametrize(("secret", "facts", "token"), vectors())
def test_tokens_of_openssl_are_valid(secret, facts, token):
    """What openssl signs verifies with its own secret and with no other, alone and in bulk."""
    ring = (SigningSecret(Secret(secret)),)
    assert check([token], [facts], ring)[0].verdict == "valid"
    assert verify_receipt(token, ring, facts).verdict == "valid"
    assert check([token], [facts], RING)[0].verdict == "bad_signature"


@pytest.mark.parametrize("fact", FACT_NAMES)
def test_an_altered_fact_under_a_right_signature_is_a_mismatch(fact):
    """It is named with both values; another merchant's token is one of these."""
    other = "12.500000000000000001" if fact in MONEY_FACTS else "other"
    other = "2026-10-05T09:30:01Z" if fact == "paid_at" else other
    found = check([signed(FACTS | {fact: other})], [FACTS])[0]
    assert found.verdict == "facts_mismatch"
    assert [(each.fact, each.in_receipt) for each in found.differences] == [(fact, other)]


DATED = "new@2026-08-15T00:00:00Z,old@2026-01-01T00:00:00Z"


def test_a_payment_that_is_not_held_is_unknown_only_where_time_is_covered():
    """Where the lake does not reach, nothing is claimed; a forgery is one anywhere."""
    tokens, none = [signed(FACTS), signed(FACTS, "forged")], [None, None]
    covered = [found.verdict for found in check(tokens, none)]
    beyond = [found.verdict for found in check(tokens, none, is_covered=False)]
    assert covered == ["unknown_payment", "bad_signature"]
    assert beyond == ["not_checked", "bad_signature"]


ODD: dict[str, str | None] = {
    "none": None,
    "empty": "",
    "a megabyte": signed(FACTS) + "A" * 1_000_000,
    "NUL": signed(FACTS) + "\0",
    "half a surrogate pair": "v1.\ud800." + "A" * 43,
    "Persian": "رسید",
    "deep": "[" * 100_000,
    "only points": "." * 100,
    "a formula": "=1+1",
}


def test_odd_inputs_are_malformed_and_harm_no_neighbour():
    """Hostile rows are rows; the good token beside them is still valid."""
    found = verdicts([*ODD.values(), signed(FACTS)])
    assert found == ["malformed"] * len(ODD) + ["valid"]


@fewer
@given(st.lists(st.none() | st.text(max_size=80) | st.from_regex(r"v1\..{1,40}\.[\w-]{43}")))
def test_arbitrary_text_never_raises(tokens):
    """Every row gets a verdict, none of them proven."""
    assert set(verdicts(tokens)) <= {"malformed", "bad_signature"}


def mixed_bag() -> list[tuple[str, Facts | None]]:
    """Tokens old and new, right and wrong, written this way and that, with their records."""
    bag: list[tuple[str, Facts | None]] = []
    for number in range(400):
        at = format_instant(ROTATED + (number - 200) * DAY + number)
        amount = f"{number}.{number:06d}" if number % 3 else f"{number}"
        facts = FACTS | {
            "payment_id": str(UUID(int=number)),
            "reference_id": ["order", 'a "b" \\', "سفارش", ""][number % 4],
            "currency": ["usdt", "btc", "eth"][number % 3],
            "paid_at": at,
            "amount": amount,
            "charged_amount": amount,
            "net_amount": amount,
        }
        token = signed(facts, ["new", "old", "older", "new"][number % 4])
        record = [facts, facts, facts, None, facts | {"net_amount": "7"}][number % 5]
        bag.append((token[:-1] if number % 31 == 0 else token, record))
    return bag


@pytest.mark.parametrize("webhook", ["", "older", "new"])
@pytest.mark.parametrize("ring", [DATED, "new,old", "old", "old,new,old", "new@2026-08-15,old"])
def test_bulk_and_single_verification_agree(ring, webhook):
    """The quick way may only save time: verdict, reason and differences are the same."""
    tokens, records = zip(*mixed_bag(), strict=True)
    rings = parse_secrets(ring), parse_secrets(webhook)
    verifier = BulkVerifier(*rings, is_covered=lambda at: True)
    rows = [record and held(record) for record in records]
    for found, token, record in zip(
        verifier.verify(tokens, table(rows)), tokens, rows, strict=True
    ):
        single = verify_receipt(token, rings[0], record, rings[1])
        assert (found.verdict, found.reason, found.differences) == (
            *(single.verdict, single.reason, single.differences),
        )


def test_amounts_written_otherwise_than_the_record_are_noted():
    """Where the record is the service's own text, the reason says how both write it."""
    found = verify_receipt(signed(FACTS), RING, FACTS | {"amount": "12.5"})
    assert found.verdict == "valid" and "the record writes amount 12.50 as 12.5" in found.reason


def test_the_verifier_shows_no_secret():
    """Neither in a repr nor in its attributes."""
    verifier: Any = BulkVerifier(RING, RING)
    shown = repr(vars(verifier)) + repr([vars(key) for key in verifier._keys])
    assert SECRET not in shown and hashlib.sha256(SECRET.encode()).hexdigest() not in shown


# ---------- a column of tokens told to be canonical: never another verdict than of each alone


RINGS = ["new@2026-10-05,old@2026-01-01", "new,old", "old"]
AMOUNTS = [
    *("12.5", "12.50", "12.500000", "12.5000005", "0", "0.000000", "7", "007", "-1.5"),
    *("0.000000000000000001", "0.0000001", "0.000001", "1E-18", "99999999999999999999"),
    *("1.000000000000000000", "10.10", "10.1"),
]
INSTANTS = [
    *("2026-10-05T09:30:00Z", "2026-10-05T09:30:00.5Z", "2026-10-05T09:30:00.500Z"),
    *("2026-10-05T09:30:00.500000Z", "2026-10-05T09:30:00.000001Z", "2025-10-05T09:30:00.123Z"),
    *("2026-10-05T13:00:00+03:30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
]
TEXTS = ["order-42", "", 'a "b" \\', "سفارش", "x~?>", "line\nend", "\x7f", '","currency":"btc']
VALUES = {fact: st.sampled_from(AMOUNTS) for fact in MONEY_FACTS} | {
    "paid_at": st.sampled_from(INSTANTS),
    "reference_id": st.sampled_from(TEXTS) | st.text(max_size=9),
    "currency": st.sampled_from(["usdt", "btc"]),
}
CHANGES = st.fixed_dictionaries({}, optional=VALUES)


def is_held(facts: Facts) -> bool:
    """Tell whether a lake can hold these facts: amounts of the contract's form."""
    return all("E" not in facts[fact] for fact in MONEY_FACTS)


def written(facts: Facts, way: int) -> bytes:
    """Write a payload as this or that program would."""
    pairs = list(facts.items())
    ways: list[Any] = [
        json.dumps(facts, separators=(",", ":")),
        json.dumps(facts, separators=(",", ":"), ensure_ascii=False),
        json.dumps(facts),
        json.dumps(dict(reversed(pairs)), separators=(",", ":")),
        json.dumps(facts | {"more": 1}, separators=(",", ":")),
        json.dumps(facts, separators=(",", ":"))[:-1] + ',"amount":"1"}',
        json.dumps(facts | {"amount": 12.5}, separators=(",", ":")),
    ]
    return str(ways[way % len(ways)]).encode("utf-8", "replace")


ROWS = st.lists(
    st.tuples(
        CHANGES,
        CHANGES | st.just({}) | st.none(),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5, 6]),
        st.sampled_from(["new", "old", "older"]),
        st.sampled_from(["", "", "", "=", "cut", "é"]),
    ),
    min_size=1,
    max_size=12,
)


def in_one(texts: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([texts], kind)


def in_two(texts: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([texts[:1], texts[1:]], kind)


def from_the_middle(texts: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([None, *texts, *texts[:1]], kind).slice(1, len(texts))])


@examples
@given(
    ROWS,
    st.sampled_from(RINGS),
    st.sampled_from(["", "older"]),
    st.sampled_from([None, in_one, in_two, from_the_middle]),
)
def test_a_column_of_tokens_gets_the_verdicts_of_each_alone(rows, ring, webhook, as_column):
    """Whatever a token states and a record holds, and however either is written and stored."""
    tokens, records = [], []
    for stated, changed, way, secret, end in rows:
        token = token_of(written(FACTS | stated, way), secret)
        tokens.append({"cut": token[:-1], "é": token[:-2] + "é"}.get(end, token + end))
        facts = None if changed is None else FACTS | stated | changed
        records.append(held(facts) if facts and is_held(facts) else None)
    rings = parse_secrets(ring), parse_secrets(webhook)
    given_tokens: Any = tokens
    compared = table(records)
    if as_column:
        given_tokens = as_column(tokens, pa.string())
        columns = [as_column(column.to_pylist(), column.type) for column in compared.columns]
        compared = pa.table(columns, schema=compared.schema)
    verifier = BulkVerifier(*rings, is_covered=lambda at: True)
    found = verifier.verify(given_tokens, compared)
    alone = [
        verify_receipt(token, rings[0], record, rings[1])
        for token, record in zip(tokens, records, strict=True)
    ]
    assert [(v.verdict, v.reason, v.differences) for v in found] == [
        (v.verdict, v.reason, v.differences) for v in alone
    ]


@pytest.mark.parametrize("instant", ["2026-10-05T09:30:00Z", "2026-10-05T09:30:00.000001Z"])
@pytest.mark.parametrize("amount", ["12.50", "12", "12.500000000000000000", "0.000001"])
@pytest.mark.parametrize("reference", ["order-42", "~~~???"])
def test_tokens_of_the_service_are_canonical(instant, amount, reference):
    """The quick way is taken, or nobody would notice that it is lost."""
    facts = FACTS | dict.fromkeys(MONEY_FACTS, amount)
    facts |= {"paid_at": instant, "reference_id": reference}
    assert is_canonical(pa.array([signed(facts)]), table([held(facts)])).tolist() == [True]


def test_a_difference_below_the_decimals_of_a_coin_is_a_difference():
    """The token writes 6 decimals, and the record has a seventh: 12.5 is not 12.5000005."""
    facts = FACTS | dict.fromkeys(MONEY_FACTS, "12.500000")
    found = check([signed(facts)], [facts | {"net_amount": "12.5000005"}])[0]
    assert found.verdict == "facts_mismatch" and "net amount" in found.reason
