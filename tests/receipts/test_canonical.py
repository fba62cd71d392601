"""Tokens told to be canonical as a whole column: never another verdict than of a token alone."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.receipts.bulk import BulkVerifier
from svc_analytics.receipts.canonical import is_canonical
from svc_analytics.signing.receipts import verify_receipt
from svc_analytics.signing.secrets import parse_secrets
from svc_analytics.signing.token_form import MONEY_FACTS
from tests.support.receipt_material import FACTS, Facts, check, held, signed, table, token_of
from tests.support.unit_material import examples

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
