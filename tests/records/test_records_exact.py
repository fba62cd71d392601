"""Rows hold what the record said: every digit, every byte, nothing invented (D2, D4 to D6)."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics.instants import parse_instant
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from tests.support.fake_service import payment, payout
from tests.support.unit_material import raw, read

ROADS = {"quick": b"", "careful": b' "x" : 1,'}  # a blank before a colon asks for a closer look
PAYMENT = payment(1, "2026-10-01T09:00:00.123456Z")
PAYOUT = payout(1, "2026-10-01T09:00:00Z")

road = pytest.mark.parametrize("extra", ROADS.values(), ids=ROADS.keys())


def row(
    extra: bytes = b"", base: dict[str, Any] = PAYMENT, **members: bytes | None
) -> dict[str, Any]:
    """Return the one row of a page with one payment, instants as microseconds."""
    text = raw(base, **members).replace(b"{", b"{" + extra, 1)
    stream = PAYMENTS if "paid_at" in base else PAYOUT_RECORDS
    found = read(text, stream=stream)
    assert not found.rejected
    instants = [field.name for field in found.rows.schema if pa.types.is_timestamp(field.type)]
    values: dict[str, Any] = {
        name: found.rows[name].cast(pa.int64())[0].as_py()
        if name in instants
        else found.rows[name][0].as_py()
        for name in found.rows.schema.names
    }
    return values


AMOUNTS = {
    "widest": "9" * 20 + "." + "9" * 18,
    "widest below zero": "-" + "9" * 20 + "." + "9" * 18,
    "smallest": "0.000000000000000001",
    "trailing zeros": "1.500000000000000000",
    "leading zeros": "00001.5",
    "minus zero": "-0",
    "no point": "12",
    "surplus zeros behind": "1.50000000000000000000",
    "surplus zeros before": "0" * 30 + "1.5",
    "nothing but zeros": "-" + "0" * 40 + "." + "0" * 40,
}


@road
@pytest.mark.parametrize("text", AMOUNTS.values(), ids=AMOUNTS.keys())
def test_amount_is_held_to_the_last_digit(extra, text):
    """D2: 20 digits before the point and 18 behind it are held exactly."""
    assert row(extra, amount=json.dumps(text).encode())["amount"] == Decimal(text)


HELD: dict[str, Callable[[Any], Any]] = {
    "text": str,
    "money": Decimal,
    "instant": lambda text: parse_instant(text)[0],
    "json": json.dumps,
}


@road
@pytest.mark.parametrize("record", [PAYMENT, PAYOUT], ids=["payment", "payout record"])
def test_every_property_of_a_record_has_its_column(extra, record):
    """A regular record is held property by property, and nothing else is."""
    found = row(extra, record)
    for column in (PAYMENTS if record is PAYMENT else PAYOUT_RECORDS).columns:
        said = record[column.name]
        assert found[column.name] == (said and HELD[column.kind](said)), column.name


METADATA = {
    "numbers": b'{"a":1.10,"b":1e2,"c":-0.0,"d":123456789012345678901234567890}',
    "escapes": b'{"a":"\\u0061\\/\\u06af","b":"\\ud83d\\ude00"}',
    "blanks within": b'{ "a" :\t[ 1 , 2 ] }',
    "persian": '{"گل":"سبز\u200cتر"}'.encode(),
    "a list": b"[1,2]",
    "a text": b'"free"',
    "empty text": b'""',
    "a number": b"0",
    "false": b"false",
    "empty object": b"{}",
    "a key twice": b'{"a":1,"a":2}',
    "an id of its own": b'{"id":"x","paid_at":"1999-01-01T00:00:00Z"}',
    "a formula": b'{"note":"=cmd()"}',
    "NUL": b'{"a":"\\u0000"}',
    "4300 digits": b'{"a":' + b"9" * 4300 + b"}",
    "the largest double": b'{"a":1.7976931348623157e308}',
    "depth of 500": b"[" * 500 + b"]" * 500,
    "1 MB": b'"' + b"x" * 1_000_000 + b'"',
}


@road
@pytest.mark.parametrize("text", METADATA.values(), ids=METADATA.keys())
def test_metadata_is_kept_byte_for_byte(extra, text):
    """D6: metadata is the text received, not a re-written one."""
    assert row(extra, metadata=text)["metadata"] == text.decode()


OPTIONAL = [column.name for column in PAYMENTS.columns if not column.is_required]


@road
@pytest.mark.parametrize("text", [b"null", None], ids=["null", "missing"])
@pytest.mark.parametrize("name", OPTIONAL)
def test_optional_property_may_be_absent(extra, name, text):
    """Only what a record needs is required; anything else missing or null is NULL."""
    assert row(extra, **{name: text})[name] is None


UNKNOWN = {
    "a number": b"1.10",
    "an exponent": b"1E+2",
    "a long number": b"123456789012345678901234567890.000",
    "a text": b'"\\u0061"',
    "an object": b'{"b": [1.0, {"c":null}]}',
    "null": b"null",
    "true": b"true",
}


@road
@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_unknown_property_is_kept_as_received(extra, text):
    """D4: what the contract does not name is kept in `extra`, digit for digit."""
    kept = row(extra, new_thing=text)["extra"]
    assert kept.endswith('"new_thing":' + text.decode() + "}")
    json.loads(kept)


def test_unknown_names_survive_as_they_are():
    """D4: an unknown property's name may hold quotes, escapes or other scripts."""
    text = raw(PAYMENT)[:-1] + ',"a\\"b":1,"گل":2,"\\u0007":3}'.encode()
    assert json.loads(read(text).rows["extra"][0].as_py()) == {'a"b': 1, "گل": 2, "\a": 3}


def test_record_without_unknowns_has_no_extra():
    """`extra` is NULL unless there is something to keep, also beside a record that has it."""
    texts = [raw(PAYMENT), raw(PAYMENT, id=b'"2"', tier=b"3")]
    assert read(*texts).rows["extra"].to_pylist() == [None, '{"tier":3}']


@road
@pytest.mark.parametrize("name", ["status", "currency", "fee_bearer"])
def test_new_values_of_an_enumeration_are_kept(extra, name):
    """D4: a status, currency or bearer never seen before is a value like any other."""
    assert row(extra, **{name: b'"brand_new"'})[name] == "brand_new"


def test_new_kind_of_payout_record_is_kept():
    """D4: a third kind beside payout and refund is held, not dropped."""
    assert row(base=PAYOUT, kind=b'"chargeback"')["kind"] == "chargeback"


TEXTS = {
    "right to left": "\u202eabc\u200f",
    "persian": "سفارش ۱۲",
    "emoji": "😀",
    "NUL": "a\0b",
    "formula": "=cmd()|' /C calc'!A0",
    "line ends": "a\r\nb\u2028c",
    "128 characters": "x" * 128,
    "quotes": "\"'\\",
    "key marks": '","id":"other","x":"',
    "empty": "",
}


@road
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_free_text_is_held_character_for_character(extra, text):
    """D6: free text of any script or intent is data and nothing more."""
    for is_ascii in (True, False):
        encoded = json.dumps(text, ensure_ascii=is_ascii).encode()
        assert row(extra, reference_id=encoded)["reference_id"] == (
            text or row(extra, reference_id=b'""')["reference_id"]
        )


FINE = {
    "7 digits": ("2026-10-01T09:00:00.1234567Z", "2026-10-01T09:00:00.123456Z"),
    "9 digits": ("2026-10-01T09:00:00.123456789Z", "2026-10-01T09:00:00.123456Z"),
    "9 nines": ("2026-10-31T23:59:59.999999999Z", "2026-10-31T23:59:59.999999Z"),
    "leap second": ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"),
}


@pytest.mark.parametrize(("text", "held"), FINE.values(), ids=FINE.keys())
def test_finer_instant_is_floored_and_its_text_kept(text, held):
    """D5: what a microsecond cannot hold stays in `extra`, beside other unknown properties."""
    found = row(paid_at=json.dumps(text).encode(), tier=b"1.10")
    assert found["paid_at"] == parse_instant(held)[0]
    assert found["extra"] == f'{{"paid_at":"{text}","tier":1.10}}'


OFFSETS = [
    "2026-10-01T12:30:00+03:30",
    "2026-10-01T09:00:00.000000000Z",
    "2026-10-01t09:00:00z",
    "2026-10-01 09:00:00Z",
]


@road
@pytest.mark.parametrize("text", OFFSETS)
def test_instant_in_another_form_is_the_same_instant(extra, text):
    """D5: offsets are converted exactly; nothing is kept where nothing was lost."""
    found = row(extra, paid_at=json.dumps(text).encode())
    assert found["paid_at"] == parse_instant("2026-10-01T09:00:00Z")[0]
    assert found["extra"] in (None, '{"x":1}')
