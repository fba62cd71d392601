"""Files of other releases: their rows are read in this one's columns, and nothing is lost."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.layout import changes_schema
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import parse_records
from svc_analytics.schema import PAYMENTS, Column, Stream
from tests.support.fake_service import payment

AT = "2026-10-05T08:00:00Z"
NEWER = replace(
    PAYMENTS,
    columns=(
        *(Column("channel"), Column("tip_amount", "money"), Column("seen_at", "instant")),
        *(Column("basket", "json"), Column("till_id", is_uuid=True), *PAYMENTS.columns),
    ),
)
# What the service gives beside what this release has columns for.
GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "nulls": {"channel": None, "tip_amount": None, "basket": None},
    "texts": {"channel": 'the "app" از', "till_id": "0f4b7d5e-6a1c-4d0e-9b7a-2c3d4e5f6071"},
    "an amount of every digit": {"tip_amount": "99999999999999999999.999999999999999999"},
    "an instant": {"seen_at": "2026-10-05T08:00:00.000001Z"},
    "json": {"basket": {"tea": [1, "1.50"]}},
    "what nobody knows": {"channel": "web", "weather": "fair"},
    "too many places": {"tip_amount": "0.0000000000000000001"},
    "zeros too many": {"tip_amount": "1.5000000000000000000000"},
    "a number for a text": {"channel": 5},
    "an id in capitals": {"till_id": "0F4B7D5E-6A1C-4D0E-9B7A-2C3D4E5F6071"},
}


def held_by(stream: Stream, given: dict[str, Any]) -> pa.Table:
    """Return a payment as a release with these columns holds it."""
    body = json.dumps({"data": [payment(1, AT) | given], "next_cursor": None}).encode()
    return with_derived(stream, parse_records(stream, Page(body, None), 0).rows)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_an_older_file_reads_as_if_this_release_had_written_it(given):
    """What it has no column for stands in `extra`; what no column holds stays there."""
    older, own = (held_by(stream, given) for stream in (PAYMENTS, NEWER))
    assert in_own_columns(older, NEWER.schema, NEWER).equals(own)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_a_newer_file_loses_nothing_where_this_release_writes_it_again(given):
    """What only the newer one knows goes to `extra`, from where that one takes it back."""
    own = held_by(NEWER, given)
    older = in_own_columns(own, PAYMENTS.schema, PAYMENTS)
    assert older.drop_columns("extra").equals(held_by(PAYMENTS, given).drop_columns("extra"))
    assert in_own_columns(older, NEWER.schema, NEWER).equals(own)


def test_amounts_that_follow_are_divided_where_a_file_has_none():
    """A release that derives one more does so for the files of those before it."""
    whole = held_by(PAYMENTS, {})
    assert in_own_columns(whole.drop_columns("usd_rate"), PAYMENTS.schema, PAYMENTS).equals(whole)


def test_a_superseded_version_keeps_what_became_of_it():
    """Columns of ours behind the record are no properties of it."""
    older = held_by(PAYMENTS, {"channel": "web"}).select(PAYMENTS.record_schema.names)
    older = older.append_column("is_restatement", pa.array([True]))
    [row] = in_own_columns(older, changes_schema(NEWER), NEWER).to_pylist()
    assert (row["channel"], row["is_restatement"], row["extra"]) == ("web", True, None)
