"""Rows hold what the record said; what cannot be held is set aside with its bytes (D1 to D6)."""

import json
from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics.instants import parse_instant
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Column, Stream
from tests.support.fake_service import payment, payout
from tests.support.unit_material import body_of, raw, read

ROADS = {"quick": b"", "careful": b' "x" : 1,'}  # a blank before a colon asks for a closer look
SAMPLES = {"text": "web", "money": "1.5", "ratio": "0.5", "instant": "2026-10-01T09:00:00Z"}


def sample(stream: Stream) -> dict[str, Any]:
    """A value for each column, also for one that the records of other tests lack."""
    return {column.name: SAMPLES.get(column.kind, {"cart": 7}) for column in stream.columns}


PAYMENT = sample(PAYMENTS) | payment(1, "2026-10-01T09:00:00.123456Z")
PAYOUT = sample(PAYOUT_RECORDS) | payout(1, "2026-10-01T09:00:00Z")

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


AT = "2026-10-01T09:00:00Z"
BASE = {"payments": payment(1, AT), "payout_records": payout(1, AT)}
GOOD = {
    name: [raw(record | {"id": number}) for number in ("before", "behind")]
    for name, record in BASE.items()
}
COLUMNS = [(stream, column) for stream in STREAMS.values() for column in stream.columns]
REQUIRED = [(stream, column) for stream, column in COLUMNS if column.is_required]
AMOUNT_COLUMNS = [(stream, column) for stream, column in REQUIRED if column.kind == "money"]
OPTIONAL_COLUMNS = [(stream, column) for stream, column in COLUMNS if not column.is_required]


def rejected(body: bytes, stream: Stream = PAYMENTS) -> RejectedRecord:
    """Return the one record of a page that was set aside, the two beside it having survived."""
    before, behind = GOOD[stream.name]
    found = read(before, body, behind, stream=stream)
    assert found.rows["id"].to_pylist() == ["before", "behind"]
    (alone,) = found.rejected
    assert alone.body == body
    return alone


@pytest.mark.parametrize("text", [None, b"null", b'""'], ids=["missing", "null", "empty"])
@pytest.mark.parametrize(("stream", "column"), REQUIRED, ids=attrgetter("name"))
def test_record_without_a_required_property_is_set_aside(stream, column, text):
    """D3: every required property of both streams must be there, and the reason names it."""
    body = raw(BASE[stream.name], **{column.name: text})
    assert rejected(body, stream).reason == f"{column.name} is missing"


WRONG_TYPES = [b"0", b"1.5", b"false", b"[]", b'{"x":1}']


@pytest.mark.parametrize("text", WRONG_TYPES, ids=bytes.decode)
@pytest.mark.parametrize(("stream", "column"), REQUIRED, ids=attrgetter("name"))
def test_required_property_of_the_wrong_type_is_set_aside(stream, column, text):
    """D1, D3: a text is promised; a number, boolean, list or object in its place is not cast."""
    found = rejected(raw(BASE[stream.name], **{column.name: text}), stream)
    assert found.reason == f"{column.name} is not a text: {text.decode()}"


BAD_AMOUNTS = {
    "exponent": "1e-7",
    "plus": "+1",
    "blank": " 1",
    "grouped": "1_000",
    "nothing behind the point": "1.",
    "NaN": "NaN",
    "infinity": "Infinity",
    "line end": "1\n",
    "persian digits": "\u06f1",
    "full-width digits": "\uff11",
    "decimal comma": "1,5",
    "NUL": "1\0",
}


@pytest.mark.parametrize("text", BAD_AMOUNTS.values(), ids=BAD_AMOUNTS.keys())
@pytest.mark.parametrize(("stream", "column"), AMOUNT_COLUMNS, ids=attrgetter("name"))
def test_bad_amount_is_set_aside(stream, column, text):
    """D1, D2: an amount that is no plain decimal, or too wide, is never rounded or guessed."""
    found = rejected(raw(BASE[stream.name], **{column.name: json.dumps(text).encode()}), stream)
    assert found.reason.startswith(f"{column.name}: not a plain decimal amount")
    assert (found.record_id, found.instant) == (BASE[stream.name]["id"], parse_instant(AT)[0])


TOO_WIDE = {
    "1.5678901234567890123": "it has 19 decimals; at most 18 can be kept exactly",
    "345.67891000000000000001": "it has 20 decimals; at most 18 can be kept exactly",
    "0." + "0" * 18 + "1": "it has 19 decimals; at most 18 can be kept exactly",
    "100000000000000000000": "too large: 21 digits before the point",
    "-" + "9" * 25 + ".5": "too large: 25 digits before the point",
}


@pytest.mark.parametrize(("text", "reason"), TOO_WIDE.items())
@pytest.mark.parametrize(("stream", "column"), AMOUNT_COLUMNS, ids=attrgetter("name"))
def test_amount_too_wide_is_set_aside_with_the_true_reason(stream, column, text, reason):
    """A plain decimal is not called none: what is said is which of its digits have no place."""
    found = rejected(raw(BASE[stream.name], **{column.name: json.dumps(text).encode()}), stream)
    assert found.reason.removesuffix(f": {text!r}") == f"{column.name}: {reason}"


BAD_INSTANTS = {
    "no offset": "2026-10-01T09:00:00",
    "30 February": "2026-02-30T00:00:00Z",
    "hour 24": "2026-10-01T24:00:00Z",
    "second 61": "2026-10-01T09:00:61Z",
    "a date": "2026-10-01",
    "offset of 99 minutes": "2026-10-01T09:00:00+05:99",
    "offset of a day": "2026-10-01T09:00:00+24:00",
    "line end": "2026-10-01T09:00:00Z\n",
    "unix seconds": "1790845200",
    "never set": "0001-01-01T00:00:00Z",
    "before 1970": "1969-12-31T23:59:59Z",
    "the last year": "9999-12-31T23:59:59Z",
    "over the last year's edge": "9999-12-31T23:59:59-01:00",
}


@pytest.mark.parametrize("text", BAD_INSTANTS.values(), ids=BAD_INSTANTS.keys())
@pytest.mark.parametrize(
    ("name", "column"),
    [("payments", "paid_at"), ("payout_records", "created_at"), ("payout_records", "settled_at")],
)
def test_bad_instant_is_set_aside(name, column, text):
    """D5: an instant without offset, that never was, or out of any calendar, is not guessed."""
    found = rejected(raw(BASE[name], **{column: json.dumps(text).encode()}), STREAMS[name])
    assert found.reason.startswith(column)
    assert found.instant == (parse_instant(AT)[0] if column == "settled_at" else None)


REGULAR = raw(BASE["payments"])
TWICE = {
    "another value": (b'"amount":"11"', "amount"),
    "the same value": (b'"status":"completed"', "status"),
    "escaped": (b'"\\u0061mount":"11"', "amount"),
    "spaced": (b'"amount" : "11"', "amount"),
    "unknown": (b'"tier":1,"tier":1', "tier"),
}


@pytest.mark.parametrize(("more", "name"), TWICE.values(), ids=TWICE.keys())
def test_record_with_a_key_twice_is_set_aside(more, name):
    """D3: of two values under one key neither can be trusted; its id and instant are noted."""
    found = rejected(REGULAR[:-1] + b"," + more + b"}")
    assert found.reason == f"the key {name!r} appears twice"
    assert (found.record_id, found.instant) == (BASE["payments"]["id"], parse_instant(AT)[0])


ODD = {
    "NaN as amount": ("amount", b"NaN", "is not JSON"),
    "half a surrogate pair": ("reference_id", b'"\\ud800"', "holds half of a surrogate pair"),
    "the other half": ("currency", b'"a\\udc00"', "holds half of a surrogate pair"),
    "not UTF-8": ("receipt_no", b'"\xff"', "is not JSON"),
    "a control character": ("reference_id", b'"a\nb"', "is not JSON"),
    "a byte order mark": ("currency", b'\xef\xbb\xbf"usdt"', "is not JSON"),
    "UTF-16 within": ("currency", b'"\0u\0s\0d\0t\0"\0', "is not JSON"),
    "a bad escape": ("reference_id", b'"\\x41"', "is not JSON"),
    "a number of 5000 digits": ("id", b"1" * 5000, "is not"),
    "depth in an amount": ("amount", b"[" * 10_000 + b"]" * 10_000, "is nested too deep"),
}


@pytest.mark.parametrize(("name", "text", "reason"), ODD.values(), ids=ODD.keys())
def test_odd_json_is_set_aside_with_its_bytes(name, text, reason):
    """D3, D6: a record beyond the contract is kept as bytes, with a reason naming the property."""
    assert rejected(raw(BASE["payments"], **{name: text})).reason.startswith(f"{name} {reason}")


NO_RECORDS = [b"null", b"1", b'"x"', b"[]", b"true", b"{}", b'["id"]']


@pytest.mark.parametrize("body", NO_RECORDS, ids=bytes.decode)
def test_what_is_no_record_is_set_aside(body):
    """D3: an element of a page that is no object is neither a row nor silently skipped."""
    found = rejected(body)
    assert (found.record_id, found.instant) == (None, None)


@pytest.mark.parametrize(
    "body",
    [b"oops", b'{"id":}', b"{id:1}", b'{"id" "1"}', b'{"id":"1"}{"id":"2"}', b'{"id":"1",}'],
    ids=bytes.decode,
)
def test_record_that_is_no_json_is_set_aside(body):
    """D3: broken JSON between the commas of a page costs that record alone."""
    assert rejected(body).reason


@pytest.mark.parametrize(
    "metadata",
    [b'{"id":"other","paid_at":"1999-01-01T00:00:00Z"}', b'"\\"id\\":\\"x\\""'],
    ids=["nested", "text"],
)
@pytest.mark.parametrize("text", [b"1", b'"1e3"', b"NaN"], ids=bytes.decode)
def test_rejected_record_is_noted_under_its_own_id_and_instant(metadata, text):
    """I4: what metadata says of another id or time does not move a rejected record elsewhere."""
    body = b'{"metadata":' + metadata + b"," + raw(BASE["payments"], metadata=None, amount=text)[1:]
    found = rejected(body)
    assert (found.record_id, found.instant) == (BASE["payments"]["id"], parse_instant(AT)[0])


@pytest.mark.parametrize("name", ["id", "paid_at"])
def test_rejected_record_without_id_or_instant_takes_none_from_its_metadata(name):
    """I4: a record that lacks its own id or instant has none; its metadata's is not borrowed."""
    body = raw(
        BASE["payments"],
        metadata=b'{"id":"other","paid_at":"1999-01-01T00:00:00Z"}',
        **{name: None},
    )
    found = rejected(body)
    assert (found.record_id if name == "id" else found.instant) is None


def test_page_of_rejects_has_no_rows():
    """D1: a page on which nothing can be held still accounts for every record."""
    bodies = [raw(BASE["payments"], amount=b"%d" % n) for n in range(20)]
    found = read(*bodies)
    assert (found.rows.num_rows, found.received) == (0, 20)
    assert [item.body for item in found.rejected] == bodies
    assert found.rows.schema == PAYMENTS.record_schema
    assert body_of(*bodies).count(b"SVC-") == 20


# ---------- an odd optional fact


NUMBERS = [b"0", b"1.5", b"-1e3", b"false", b"[]", b'{"x":1}', b"1" * 5000, b"1e999"]
ODD_AMOUNTS = [
    *(b'"345.67891000000000000001"', b'"100000000000000000000"', b'"1e3"', b'"1."'),
    *(b'""', b'"1,5"', b'" 1"', b'"NaN"', b'"\\u06f1"', b'"\\ud800"'),
    *(b"NaN", b"-Infinity", b"01", b'"\xff"', b"[" * 10_000 + b"]" * 10_000),
]
FREE = [b'"\xff"', b'"a\nb"', b"NaN", b"[" * 10_000 + b"]" * 10_000]
UNREADABLE_METADATA = [
    *(b'{"a":NaN}', b"[-Infinity]", b'{"a":"\xff"}', b"01", b"undefined", b"\xef\xbb\xbf{}"),
    *(b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 501 + b"1" + b"}" * 501, b'{"a":"\n"}'),
]


def odd_values(column: Column) -> list[bytes]:
    if column.kind == "json":
        return UNREADABLE_METADATA
    return NUMBERS + (ODD_AMOUNTS if column.kind == "money" else FREE if column.is_free else [])


@pytest.mark.parametrize(("stream", "column"), OPTIONAL_COLUMNS, ids=attrgetter("name"))
def test_an_odd_optional_fact_is_left_out_and_kept_as_received(stream, column):
    """The column is empty, `extra` has what came, and no other fact of the record is touched."""
    without = row(base=BASE[stream.name], **{column.name: None})
    for text in odd_values(column):
        held = row(base=BASE[stream.name], **{column.name: text})
        kept = json.loads(held.pop("extra"))[column.name]
        assert held == {name: value for name, value in without.items() if name != "extra"}
        assert kept in (json_of(text), text.decode(errors="backslashreplace"))


def json_of(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


SURPLUS = {"behind": "345.6789" + "0" * 30, "before": "0" * 30 + "345.6789"}


@pytest.mark.parametrize("text", SURPLUS.values(), ids=SURPLUS.keys())
@pytest.mark.parametrize("name", ["usd_value", "amount", "charged_amount"])
def test_an_amount_with_surplus_zeros_is_held_and_its_text_kept(name, text):
    """A zero that has no place is no loss; what was received stands in `extra`."""
    stream = STREAMS["payments"]
    held = row(base=BASE[stream.name], **{name: json.dumps(text).encode()})
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
    found = row(base=BASE[stream.name], **{name: text})
    assert found[name] == held
    assert json.loads(found["extra"] or "{}") == ({name: text.decode()} if "\\" in held else {})
