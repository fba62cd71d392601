"""A statement as of an earlier instant says what a lake said that was read up to then."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import parse_bound
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import parse_period
from svc_analytics.statements.reading import Basis, read_period
from svc_analytics.statements.statement import Statement, statement
from tests.support.closings import LEDGER
from tests.support.desks import Desk
from tests.support.prepared import extracted
from tests.support.rings import sample

THEN = "2026-10-08T00:00:00Z"
# When records were read is another matter, and so is what is open to be read again.
READ = {"reading", "receipts"}
SEEN = {"first_seen_at", "extracted_at"}


@pytest.fixture
def books(desk) -> Desk:
    """A lake with the ledger of three months, read in November."""
    desk.serve(LEDGER)
    return extracted(desk)


def content(made: Statement) -> dict[str, pa.Table]:
    """The tables of a statement, but for when their records were read."""
    return {
        name: table.drop_columns([*(SEEN & {*table.column_names})]).replace_schema_metadata()
        for name, table in made.tables.items()
        if name not in READ
    }


@pytest.mark.parametrize("label", sample(["2026-10", "2026-Q4", "2026"], 3))
@pytest.mark.parametrize("zone", sample(["Asia/Tehran", "UTC"], 2))
def test_as_of_an_instant_within_it_a_period_has_what_was_known_then(books, tmp_path, label, zone):
    """The payout of 9 October is not in it, and it is provisional: it was still running."""
    made = statement(books.lake, label, zone=zone, as_of=THEN)
    books.lake = Lakehouse(tmp_path / "then")
    books.service.now = datetime(2026, 10, 8, tzinfo=UTC)
    books.extract(end=parse_bound(THEN))
    then = statement(books.lake, label, zone=zone, now=THEN)
    assert made.as_of == then.as_of == parse_bound(THEN)
    assert content(made) == content(then)
    assert made.summary["payouts_count"].to_list() == [0, 0]
    assert made.reasons == then.reasons and made.status == "provisional"
    assert not made.needs_attention and all(
        made.coverage[name].read == each.read for name, each in then.coverage.items()
    )


def test_a_period_that_had_not_begun_then_is_refused(books):
    """One line with both instants."""
    for then in ("2026-09-15T00:00:00Z", "2026-10-01T00:00:00Z"):
        with pytest.raises(ConfigError) as caught:
            statement(books.lake, "2026-10", as_of=then)
        assert str(caught.value) == (
            f"2026-10 begins at 2026-10-01T00:00:00Z, and as_of is {then}: "
            "nothing of it was known then; give a later as_of"
        )


def test_as_of_its_end_a_period_is_final(books):
    """It was over, and all of it is there."""
    made = statement(books.lake, "2026-10", as_of="2026-11-01T00:00:00Z")
    assert made.status == "final" and len(made.tables["lines"]) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["2026-10", "2026-Q3"])
def test_a_period_that_is_over_reads_the_same_as_of_the_newest_read(books, label):
    """What a statement was sealed of is what it is proven of; only the clock is another."""
    clock = parse_bound("2026-11-20T00:00:00Z")
    period = parse_period(label, clock, "UTC", None)
    made = read_period(books.lake, period, Basis(clock, ()))
    again = read_period(books.lake, period, Basis(clock, (), as_of=made.as_of))
    assert made.as_of >= period.end and again == replace(made, clock=made.as_of)
