"""An odd optional fact is left out, with what was received; its record is held all the same."""

import json
from typing import Any

import pytest

from svc_analytics.schema import STREAMS, Column, Stream
from tests.support.fake_service import payment, payout
from tests.support.unit_material import raw, read

AT = "2026-10-01T09:00:00Z"
BASE = {"payments": payment(1, AT), "payout_records": payout(1, AT)}
NUMBERS = [b"0", b"1.5", b"-1e3", b"false", b"[]", b'{"x":1}', b"1" * 5000, b"1e999"]
AMOUNTS = [
    *(b'"345.67891000000000000001"', b'"100000000000000000000"', b'"1e3"', b'"1."'),
    *(b'""', b'"1,5"', b'" 1"', b'"NaN"', b'"\\u06f1"', b'"\\ud800"'),
    *(b"NaN", b"-Infinity", b"01", b'"\xff"', b"[" * 10_000 + b"]" * 10_000),
]
FREE = [b'"\xff"', b'"a\nb"', b"NaN", b"[" * 10_000 + b"]" * 10_000]
METADATA = [
    *(b'{"a":NaN}', b"[-Infinity]", b'{"a":"\xff"}', b"01", b"undefined", b"\xef\xbb\xbf{}"),
    *(b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 501 + b"1" + b"}" * 501, b'{"a":"\n"}'),
]


def odd_values(column: Column) -> list[bytes]:
    if column.kind == "json":
        return METADATA
    return NUMBERS + (AMOUNTS if column.kind == "money" else FREE if column.is_free else [])


OPTIONAL = [
    pytest.param(stream, column, id=f"{stream.name}.{column.name}")
    for stream in STREAMS.values()
    for column in stream.columns
    if not column.is_required
]


def row(stream: Stream, **members: bytes | None) -> dict[str, Any]:
    """Return the one row of a page, with no record set aside."""
    found = read(raw(BASE[stream.name], **members), stream=stream)
    assert not found.rejected
    held: dict[str, Any] = found.rows.drop_columns(["extracted_at"]).to_pylist()[0]
    return held


@pytest.mark.parametrize(("stream", "column"), OPTIONAL)
def test_an_odd_optional_fact_is_left_out_and_kept_as_received(stream, column):
    """The column is empty, `extra` has what came, and no other fact of the record is touched."""
    without = row(stream, **{column.name: None})
    for text in odd_values(column):
        held = row(stream, **{column.name: text})
        kept = json.loads(held.pop("extra"))[column.name]
        assert held == {name: value for name, value in without.items() if name != "extra"}
        assert kept in (json_of(text), text.decode(errors="backslashreplace"))


def json_of(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def test_the_quick_and_the_careful_road_hold_the_same_of_records_beside_an_odd_one():
    """One odd fact on a page changes nothing for the records beside it."""
    texts = [raw(payment(n, AT)) for n in range(3)]
    odd = raw(payment(9, AT), usd_value=b"1.5")
    beside = read(*texts, odd).rows
    assert beside.slice(0, 3).equals(read(*texts).rows)
    assert beside["usd_value"].to_pylist()[3] is None


SURPLUS = {"behind": "345.6789" + "0" * 30, "before": "0" * 30 + "345.6789"}


@pytest.mark.parametrize("text", SURPLUS.values(), ids=SURPLUS.keys())
@pytest.mark.parametrize("name", ["usd_value", "amount", "charged_amount"])
def test_an_amount_with_surplus_zeros_is_held_and_its_text_kept(name, text):
    """A zero that has no place is no loss; what was received stands in `extra`."""
    stream = STREAMS["payments"]
    held = row(stream, **{name: json.dumps(text).encode()})
    assert str(held[name]).rstrip("0") == "345.6789"
    assert json.loads(held["extra"]) == {name: text}


@pytest.mark.parametrize(
    ("text", "held"),
    [(b'"a\\ud83d"', r"a\ud83d"), (b'"\\udc00"', r"\udc00"), (b'"\\ud83d\\ude00"', "\U0001f600")],
    ids=["high", "low", "a pair"],
)
@pytest.mark.parametrize("name", ["receipt", "comment"])
def test_half_of_a_surrogate_pair_in_free_text_is_held_as_its_escape(name, text, held):
    """What cannot be text is written out, and only then `extra` says so."""
    stream = STREAMS["payments" if name == "receipt" else "payout_records"]
    found = row(stream, **{name: text})
    assert found[name] == held
    assert json.loads(found["extra"] or "{}") == ({name: text.decode()} if "\\" in held else {})
