"""Every JSON text that is held can be read by DuckDB, by Python's json and by msgspec."""

import json
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.records.raw_json import escape_halves, plain_json
from tests.support.fake_service import payment
from tests.support.unit_material import examples, raw, read

AT = "2026-10-01T09:00:00Z"
# Each value as the service may write it, and as it is held.
Written = tuple[str, Any]
LARGE = ["1e999", "-1e999", "1.8e308", "9" * 5000, "-" + "9" * 400 + ".5", "1e0000000999"]


def as_held(text: str) -> str:
    """Return a text as it is held: two halves beside one another are one character."""
    return escape_halves(json.loads(json.dumps(text)))


def written_text(text: str) -> Written:
    return json.dumps(text), as_held(text)


def written_list(items: list[Written]) -> Written:
    return f"[{','.join(text for text, _ in items)}]", [value for _, value in items]


def written_object(items: list[tuple[str, Written]]) -> Written:
    members = (f"{json.dumps(name)}: {text}" for name, (text, _) in items)
    return f"{{{','.join(members)}}}", {as_held(name): value for name, (_, value) in items}


TEXTS = st.text(st.characters(), max_size=8)
SURROGATES = st.text(st.characters(categories=["Cs"]) | st.sampled_from("\\u\0d8a"), max_size=6)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = (
    PLAIN.map(lambda value: (json.dumps(value), value))
    | (TEXTS | SURROGATES).map(written_text)
    | st.sampled_from(LARGE).map(lambda digits: (digits, digits))
)
OBJECTS = st.deferred(
    lambda: st.lists(
        st.tuples(TEXTS | SURROGATES, VALUES), max_size=3, unique_by=lambda item: as_held(item[0])
    ).map(written_object)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3).map(written_list) | OBJECTS, max_leaves=6
)


def read_by_duckdb(texts: list[str]) -> list[Any]:
    table = pa.table({"number": range(len(texts)), "held": texts})
    with duckdb.connect() as connection:
        connection.register("t", table)
        query = "select held -> '$', json_valid(held) from t order by number"
        rows = connection.sql(query).fetchall()
    assert all(is_valid for _, is_valid in rows)
    return [json.loads(text) for text, _ in rows]


@examples
@given(OBJECTS)
def test_any_object_is_held_as_json_that_every_reader_takes(written):
    """What can be represented comes back equal; what cannot is its own text."""
    text, value = written
    held = plain_json(text.encode())
    assert json.loads(held) == msgspec.json.decode(held) == value
    assert read_by_duckdb([held.decode()]) == [value]


ODD = {
    "half of a pair": rb'{"cart":"a\ud83d"}',
    "the other half": rb'{"cart":"\udc00"}',
    "half of a pair as a key": rb'{"\ud800":1}',
    "a number beyond a double": b'{"cart":1e999}',
    "5000 digits": b'{"cart":%s}' % (b"9" * 5000),
    "501 levels": b'{"cart":%s}' % (b"[" * 501 + b"]" * 501),
    "10,000 levels": b"[" * 10_000 + b"]" * 10_000,
    "not UTF-8": b'{"cart":"\xff"}',
    "NaN": b'{"cart":NaN}',
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("name", ["metadata", "of_another_release"])
def test_what_readers_refuse_is_kept_as_a_text_of_what_was_received(name, text):
    """Whatever a property holds, `metadata` and `extra` are read by each, and nothing is lost."""
    (held,) = read(raw(payment(1, AT), **{name: text})).rows.to_pylist()
    assert json.loads(held["extra"])[name] == text.decode(errors="backslashreplace")
    texts = [held[column] for column in ("metadata", "extra") if held[column]]
    assert read_by_duckdb(texts) == [msgspec.json.decode(text) for text in texts]


def test_half_of_a_pair_in_the_name_of_a_property_costs_no_record():
    """The name of an unknown property is written out as its escape."""
    text = raw(payment(1, AT))[:-1] + rb',"\ud800":1,"a":2}'
    (extra,) = read(text).rows["extra"].to_pylist()
    assert json.loads(extra) == {r"\ud800": 1, "a": 2}
