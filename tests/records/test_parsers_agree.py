"""Two roads through a page: the quick one and the careful one give the same rows."""

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from svc_analytics.records.bulk_parser import parse_bulk, scan_page
from svc_analytics.records.page import Page, parse_page
from svc_analytics.records.record_parser import parse_records
from svc_analytics.schema import PAYMENTS, STREAMS, Stream
from tests.support.fake_service import payment, payout
from tests.support.unit_material import AT, body_of, examples, page_of, records_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['":', 'a":b', '" :', "\\", "\\u0000", "\0", "=cmd()", "null", "گل‌ها", "\u202eabc", "😀"]
)
AMOUNTS = st.builds(
    lambda units, scale: format(Decimal(f"{units}E-{scale}"), "f"),
    st.integers(-(10**20) + 1, 10**20 - 1) | st.integers(-(10**38) + 1, 10**38 - 1),
    st.just(18) | st.integers(0, 18),
).filter(lambda text: len(text.lstrip("-").partition(".")[0]) <= 20)
INSTANTS = st.builds(
    "{}T{}{}{}".format,
    st.dates().filter(lambda day: 1971 <= day.year <= 9990),
    st.times().map(lambda time: f"{time:%H:%M:%S}"),
    st.sampled_from(["", ".5", ".000001", ".999999", ".120", ".1234"]),
    st.sampled_from(["Z", "+00:00", "-00:00", "+03:30", "-04:45", "+14:00", "-23:59"]),
)
METADATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS | st.sampled_from([1.1, 1e300, -0.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KINDS = {"text": TEXTS, "money": AMOUNTS, "instant": INSTANTS, "json": METADATA}
# A page holds many values: fewer pages say as much.
few = settings(examples, max_examples=examples.max_examples * 3 // 5)
REGULAR = {
    "payments": payment(1, "2026-10-01T00:00:00Z"),
    "payout_records": payout(1, "2026-10-01T00:00:00Z"),
}


@st.composite
def records(draw: st.DrawFn, stream: Stream) -> dict[str, Any]:
    """A record of the contract: optional fields there, null or missing, others added, any order."""
    found: dict[str, Any] = {}
    for column in stream.columns:
        values = KINDS[column.kind]
        values = values.filter(bool) if column.is_required else values | st.none()
        if column.is_required or draw(st.booleans()):
            found[column.name] = draw(values)
    unknown = draw(st.dictionaries(TEXTS, METADATA, max_size=2))
    names = draw(st.permutations([*found, *(name for name in unknown if name not in found)]))
    return {name: found[name] if name in found else unknown[name] for name in names}


@st.composite
def pages(draw: st.DrawFn, stream: Stream) -> Page:
    """A page of such records in one of the ways JSON may be written."""
    style = draw(
        st.sampled_from(
            [{"separators": (",", ":")}, {}, {"indent": 2}, {"separators": (" ,\n", "\t:\r\n ")}]
        )
    )
    is_ascii = draw(st.booleans())
    found = draw(st.lists(records(stream), max_size=2))
    texts = [json.dumps(record, ensure_ascii=is_ascii, **style) for record in found]
    if draw(st.booleans()):
        texts = [
            text.replace('"amount"', '"\\u0061m\\u006funt"').replace("/", "\\/") for text in texts
        ]
    return page_of(*(text.encode() for text in texts))


def read_quickly(stream: Stream, page: Page) -> pa.Table | None:
    return parse_bulk(stream, [scan_page(stream, page, AT)])


def is_same(stream: Stream, page: Page) -> bool:
    careful = parse_records(stream, page, AT)
    quick = read_quickly(stream, page)
    assert not careful.rejected
    return quick is None or quick.equals(careful.rows)


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@few
@given(data=st.data())
def test_records_are_the_same_by_either_road(stream, data):
    """Whatever way a page is written, both roads give identical rows, of the stream's types."""
    page = data.draw(pages(stream))
    assert is_same(stream, page)
    found = records_of(page, stream)
    assert (found.rows.schema, found.received) == (stream.record_schema, len(page.raw_records()))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    "more",
    [{}, {"tier": 1.10}, {"metadata": None, "comment": None}],
    ids=["plain", "unknown", "null"],
)
def test_regular_page_takes_the_quick_road(name, more):
    """A compact page of regular records is read by columns, and by either road alike."""
    texts = [
        json.dumps(REGULAR[name] | {"id": f"{n}"} | more, separators=(",", ":")).encode()
        for n in range(50)
    ]
    page = page_of(*texts)
    assert read_quickly(STREAMS[name], page) is not None
    assert is_same(STREAMS[name], page)


@pytest.mark.parametrize(
    ("name", "column"), [(name, c.name) for name in STREAMS for c in STREAMS[name].columns]
)
def test_a_member_that_stands_twice_never_takes_the_quick_road(name, column):
    """However short it is, a page that is no longer than its texts need has no room for it."""
    stream = STREAMS[name]
    whole = dict.fromkeys(stream.names) | REGULAR[name]
    text = json.dumps(whole, separators=(",", ":")).encode()
    more = b',"%s":%s}' % (column.encode(), json.dumps(whole[column]).encode())
    assert read_quickly(stream, page_of(text, text)) is not None
    assert read_quickly(stream, page_of(text, text[:-1] + more)) is None


def test_pages_too_large_to_be_joined_are_read_each_by_itself(monkeypatch):
    """Arrow joins no more than two gibibytes of text; a page alone is never that large."""
    join = pa.concat_arrays

    def refuse(arrays: list[pa.Array]) -> pa.Array:
        if len(arrays) > 1:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return join(arrays)

    monkeypatch.setattr("svc_analytics.records.bulk_parser.pa.concat_arrays", refuse)
    texts = [json.dumps(payment(n, "2026-10-01T00:00:00Z")).encode() for n in range(2)]
    scanned = [scan_page(PAYMENTS, page_of(text), AT) for text in texts]
    assert all(page.texts is not None for page in scanned)
    assert parse_bulk(PAYMENTS, scanned) is None


@pytest.mark.parametrize("name", STREAMS)
def test_empty_page_has_the_streams_schema(name):
    """A page without records is a table without rows, of the same types."""
    rows = records_of(parse_page(body_of()), STREAMS[name]).rows
    assert (rows.num_rows, rows.schema) == (0, STREAMS[name].record_schema)


def test_one_irregular_record_changes_nothing_for_the_others():
    """The rows of a page are the same whether the record beside them is odd or not."""
    regular = [json.dumps(payment(n, "2026-10-01T00:00:00Z")).encode() for n in range(5)]
    odd = b'{"id":"odd"}'
    alone = records_of(page_of(*regular))
    beside = records_of(page_of(*regular[:2], odd, *regular[2:]))
    assert beside.rows.equals(alone.rows)
    assert [rejected.body for rejected in beside.rejected] == [odd]
    assert (alone.received, beside.received) == (5, 6)


def test_rows_keep_the_order_received():
    """Rows come in the page's order, newest first as the service gave them."""
    texts = [json.dumps(payment(n, "2026-10-01T00:00:00Z")).encode() for n in (3, 1, 2)]
    numbers = records_of(page_of(*texts)).rows["receipt_no"].to_pylist()
    assert numbers == ["SVC-000003", "SVC-000001", "SVC-000002"]


def test_moment_of_reading_stands_in_every_row():
    """`extracted_at` is the moment given, to the microsecond, on either road."""
    text = json.dumps(payment(1, "2026-10-01T00:00:00Z"))
    for page in (page_of(text.encode()), page_of(text.replace('": ', '" : ').encode())):
        rows = records_of(page, PAYMENTS, AT + 1).rows
        assert rows["extracted_at"].cast(pa.int64()).to_pylist() == [AT + 1]
