"""JSON as it was sent: any that is held, every reader takes; a page that is none is refused."""

import json
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import DataError, ProtocolError
from svc_analytics.records.page import parse_page
from svc_analytics.records.raw_json import InvalidJson, escape_halves, members, plain_json, split
from tests.support.fake_service import payment
from tests.support.unit_material import body_of, examples, page_of, raw, read, records_of

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


GOOD = b'{"data":[{"id":"1"},{"id":"2"}],"next_cursor":"abc"}'

NOT_JSON = {
    "empty": b"",
    "blank": b"  \n",
    "HTML": b"<!doctype html><html><body>Bad gateway</body></html>",
    "text": b"upstream connect error",
    "with a BOM": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "two documents": GOOD + GOOD,
    "two documents, a line each": GOOD + b"\n" + GOOD,
    "trailing bytes": GOOD + b"0",
    "trailing NUL": GOOD + b"\0",
    "trailing bracket": GOOD + b"}",
    "leading bytes": b")]}',\n" + GOOD,
    "leading comma": b"," + GOOD,
    "comma behind": GOOD + b",",
    "brackets that do not match": b'{"data":[{"id":"1"}}],"next_cursor":null}',
    "closing alone": b"}",
    "a comma too many": b'{"data":[{"id":"1"},],"next_cursor":null}',
    "two commas": b'{"data":[{"id":"1"},,{"id":"2"}],"next_cursor":null}',
    "cursor without quotes": b'{"data":[{"id":"1"}],"next_cursor":abc}',
    "keys without quotes": b'{data:[{"id":"1"}],next_cursor:null}',
    "single quotes": GOOD.replace(b'"', b"'"),
    "invalid UTF-8 in the cursor": b'{"data":[],"next_cursor":"\xff"}',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_body_that_is_not_one_json_document_is_no_page(body):
    """A6: such a body is an error to retry, never an empty page."""
    with pytest.raises(InvalidJson):
        parse_page(body)


UNSENDABLE = {"half a surrogate": rb"\ud800", "a bare control character": b"\x01"}


@pytest.mark.parametrize("cursor", UNSENDABLE.values(), ids=UNSENDABLE.keys())
def test_a_cursor_that_is_no_text_breaks_the_contract(cursor):
    """B1: the page around it is whole, so asking again would bring the same."""
    with pytest.raises(ProtocolError, match="not a text that can be sent back"):
        parse_page(body_of(b'{"id":"1"}', cursor=b'"%s"' % cursor))


@pytest.mark.parametrize("cut", range(len(GOOD)))
def test_cut_body_is_no_page(cut):
    """A2: a page cut off after any byte is refused whole."""
    with pytest.raises(InvalidJson):
        parse_page(GOOD[:cut])


def test_cut_body_is_no_page_even_if_a_record_is_odd():
    """A2: the careful road through a page with an odd record accepts no cut body either."""
    whole = body_of(b'{"id":"1","metadata":NaN}', b'{"id":"2"}', cursor=b'"abc"')
    assert len(parse_page(whole).raw_records()) == 2
    for cut in range(len(whole)):
        with pytest.raises(InvalidJson):
            parse_page(whole[:cut])


OTHER_SHAPES = {
    "a list": b"[]",
    "a number": b"5",
    "a text": b'"data"',
    "null": b"null",
    "empty object": b"{}",
    "an error envelope": b'{"statusCode":500,"errors":{"error":["INTERNAL_SERVER_ERROR"]}}',
    "data is null": b'{"data":null,"next_cursor":null}',
    "data is an object": b'{"data":{},"next_cursor":null}',
    "data in another case": b'{"Data":[],"next_cursor":null}',
}


@pytest.mark.parametrize("body", OTHER_SHAPES.values(), ids=OTHER_SHAPES.keys())
def test_json_of_another_shape_breaks_the_contract(body):
    """JSON that holds no list of data is a ProtocolError, not an empty page."""
    with pytest.raises(ProtocolError):
        parse_page(body)


BAD_CURSORS = {
    "missing": b'{"data":[]}',
    "empty": body_of(cursor=b'""'),
    "number": body_of(cursor=b"7"),
    "zero": body_of(cursor=b"0"),
    "false": body_of(cursor=b"false"),
    "list": body_of(cursor=b"[]"),
    "object": body_of(cursor=b'{"next":"abc"}'),
    "another case": b'{"data":[],"nextCursor":null}',
}


@pytest.mark.parametrize("record", [b'{"id":"1"}', b'{"id":NaN}'], ids=["regular", "odd"])
@pytest.mark.parametrize("body", BAD_CURSORS.values(), ids=BAD_CURSORS.keys())
def test_only_null_ends_a_list(body, record):
    """B1: a missing, empty or numeric cursor is an error on either road, never the end."""
    with pytest.raises((ProtocolError, InvalidJson)):
        parse_page(body.replace(b"[]", b"[" + record + b"]", 1))
    with pytest.raises(ProtocolError):
        parse_page(body)


@pytest.mark.parametrize("record", [b'{"id":"1"}', b'{"id":NaN}'], ids=["regular", "odd"])
@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (b"null", None),
        (b'"abc"', "abc"),
        (b'"a\\u0062\\n"', "ab\n"),
        ('"گل"'.encode(), "گل"),
        (b'"0"', "0"),
    ],
    ids=["null", "text", "escapes", "persian", "zero"],
)
def test_cursor_is_passed_on_unchanged(record, text, cursor):
    """A cursor is opaque: what the page says, decoded once, on either road."""
    assert parse_page(body_of(record, cursor=text)).next_cursor == cursor


@pytest.mark.parametrize("body", [
    b'{"data":[{"id":"1"}],"data":[],"next_cursor":null}',
    b'{"data":[{"id":"1"}],"next_cursor":"abc","next_cursor":null}',
    b'{"data":[{"id":"1"}],"next_cursor":"abc","next_c\\u0075rsor":null}',
    b'{"data":[{"id":NaN}],"next_cursor":"abc","next_cursor":null}',
], ids=["data", "cursor", "cursor, escaped", "cursor, beside an odd record"])  # fmt: skip
def test_envelope_with_a_key_twice_is_no_page(body):
    """D3, B1: two lists or two cursors on one page: which of them counts is not known."""
    with pytest.raises((ProtocolError, DataError)):
        records_of(parse_page(body))


def test_unknown_properties_beside_the_data_are_ignored():
    """Unknown response properties may appear at any time, on the page itself too."""
    page = parse_page(b'{"total":2,"data":[{"id":"1"}],"links":{"data":[]},"next_cursor":null}')
    assert page.raw_records() == [b'{"id":"1"}']


def test_empty_page_with_a_cursor_is_a_page():
    """B2: an empty page is not the end while it has a cursor."""
    page = parse_page(b' { "data" : [ ] , "next_cursor" : "more" } ')
    assert (page.raw_records(), page.next_cursor) == ([], "more")


def test_odd_record_leaves_the_others_readable():
    """One record that does not decode never takes the rest of its page with it."""
    odd = [b'{"id":NaN}', b'{"id":"\\ud800"}', b'{"id":%s}' % (b"[" * 5000 + b"]" * 5000), b"oops"]
    page = page_of(b'{"id":"1"}', *odd, b'{"id":"2"}')
    assert page.document is None
    assert page.raw_records() == [b'{"id":"1"}', *odd, b'{"id":"2"}']


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)
styles = st.sampled_from(
    [{"separators": (",", ":")}, {}, {"indent": 1}, {"separators": (" ,\t", " :\n")}]
)


@examples
@given(
    st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=4), max_size=4),
    styles,
    st.booleans(),
)
def test_raw_records_are_the_texts_received(records, style, is_ascii):
    """Every record of a page can be had as the bytes in which it came."""
    texts = [json.dumps(record, ensure_ascii=is_ascii, **style).encode() for record in records]
    page = page_of(*texts)
    assert page.raw_records() == texts
    assert [json.loads(text) for text in page.raw_records()] == records
    assert split(b"[" + b" , ".join(texts) + b"]") == texts


@examples
@given(st.dictionaries(st.text(max_size=6), json_values, max_size=6), styles, st.booleans())
def test_members_are_the_values_received(record, style, is_ascii):
    """A record comes apart into its members without a change to any value."""
    found = members(json.dumps(record, ensure_ascii=is_ascii, **style).encode())
    assert {name: json.loads(value) for name, value in found.items()} == record


@examples
@given(
    st.lists(st.sampled_from(["a", "b", '"', '":', "\\", "{", "گ"]), min_size=1, max_size=4), styles
)
def test_single_keys_are_claimed_only_when_they_are(keys, style):
    """The quick proof of single keys never holds for a record with a key twice."""
    colon = style.get("separators", (",", ":"))[1]
    texts = [f"{json.dumps(key)}{colon}{json.dumps(key)}" for key in keys]
    page = page_of(b'{"data":{' + ",".join(texts).encode() + b"}}")
    assert not page.has_single_keys or len(set(keys)) == len(keys)


@examples
@given(
    st.binary(max_size=60) | st.text('{}[]",: \\ntrueal01data_cursor', max_size=60).map(str.encode)
)
def test_any_body_is_a_page_or_one_of_two_errors(body):
    """No bytes at all make the reader fail in another way; what is drawn may be a page.

    What is no JSON among its records is one of them, and is set aside by whoever reads them.
    """
    try:
        records = parse_page(body).raw_records()
    except (InvalidJson, ProtocolError):
        return
    for record in records:
        body = body.replace(record, b"0", 1)
    assert json.loads(body).keys() >= {"data", "next_cursor"}


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [100, 400, 600, 900, 990, 1100, 20_000])
def test_depth_of_a_record_breaks_no_page(depth, opening):
    """D6: however deep a record is nested, its page is read, or cut, without a crash."""
    deep = (opening * depth + "1" + ("]" if opening == "[" else "}") * depth).encode()
    page = page_of(b'{"id":"1","metadata":' + deep + b"}", b'{"id":"2"}')
    assert page.has_single_keys in (True, False)
    assert page.raw_members(page.raw_records()[1]) == {"id": b'"2"'}
    assert page.raw_members(page.raw_records()[0])["metadata"] == deep
