"""How often months are read before they are sealed: the first alone, those behind it together."""

from dataclasses import replace
from datetime import timedelta

import pytest

from svc_analytics import verify_statement
from svc_analytics.closing import readings
from svc_analytics.closing.close import close_all_due
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.instants import format_instant

AUGUST, REST = ("2026-08", "2026-09"), ("2026-09", "2026-11")
SEPTEMBER, OCTOBER = ("2026-09", "2026-10"), ("2026-10", "2026-11")


def spans(asked: list[Request]) -> list[tuple[str, ...]]:
    """From which month to which each reading went, but the first, which brings all up to date."""
    bounds = ((request.start, request.end or 0) for request in asked[1:])
    return [tuple(format_instant(at)[:7] for at in span) for span in bounds]


@pytest.mark.thorough
def test_the_months_behind_the_first_are_read_together(closer):
    """Two readings for September and October, which are sealed as if each had been read alone.

    Each seal is the hash of its manifest, which names the seal of the month before.
    """
    found = closer.close_all_due()
    assert spans(closer.asked) == [AUGUST, AUGUST, REST, REST]
    assert [(one.label, one.state) for one in found] == [
        (label, "sealed") for label in ("2026-08", "2026-09", "2026-10")
    ]
    assert not [one for one in found if one.needs_attention]  # records without a USD value
    manifests = [read_manifest(one.folder) for one in found]
    assert [manifest["seal"] for manifest in manifests] == [seal_of(m) for m in manifests]
    assert [m["previous_seal"] for m in manifests] == [None, found[0].seal, found[1].seal]
    assert verify_statement(found[-1].folder).holds  # with all that it is chained to


def test_where_the_first_month_cannot_be_sealed_no_other_is_read(closer):
    """Its seal would have to be named by the next; a timer would read them all every day."""
    closer.desk.service.payments[0]["status"] = "disputed"
    assert [one.state for one in closer.close_all_due()] == ["provisional"]
    assert spans(closer.asked) == [AUGUST, AUGUST]


@pytest.mark.thorough
def test_months_that_move_while_they_are_read_together_are_read_alone(closer):
    """No two readings of both agree, but two of each do."""

    def read(request: Request) -> ExtractionResult:
        found = closer.read(request)
        found.is_confirmed &= spans([request, request]) != [REST]
        return found

    found = close_all_due(closer.desk.lake, read=read)
    assert spans(closer.asked)[2:] == [REST] * 3 + [SEPTEMBER] * 2 + [OCTOBER] * 2
    assert [one.state for one in found] == ["sealed"] * 3


@pytest.mark.thorough
def test_a_month_that_moves_at_each_reading_is_not_sealed(closer):
    """Nor are those behind it, although each other month was read twice alike."""

    def read(request: Request) -> ExtractionResult:
        found = closer.read(request)
        found.is_confirmed &= spans([request, request]) not in ([REST], [SEPTEMBER])
        return found

    found = close_all_due(closer.desk.lake, read=read)
    assert [one.state for one in found] == ["sealed", "provisional"]
    assert "it still changes" in found[-1].reasons[0].text


@pytest.mark.thorough
def test_a_month_behind_a_sealed_one_is_not_read_with_those_before(closer):
    """September has its seal and still holds: it is not read again for the sake of October."""
    closer.sealed("2026-09")
    closer.asked.clear()
    assert [one.state for one in closer.close_all_due()] == ["sealed", "unchanged", "sealed"]
    assert spans(closer.asked) == [AUGUST, AUGUST, OCTOBER, OCTOBER]


@pytest.mark.thorough
def test_months_of_many_records_are_read_alone(closer, monkeypatch):
    """A year of millions is sealed month by month: what is sealed stays, if the service fails."""
    monkeypatch.setattr(readings, "MOST_TOGETHER", 2)
    closer.close_all_due()
    assert spans(closer.asked)[2:] == [SEPTEMBER] * 2 + [OCTOBER] * 2


def test_a_month_without_the_key_of_payouts_has_that_one_reason(closer):
    """While time passes, nothing changes between its readings, and nothing says that it did."""
    closer.desk.settings = replace(closer.desk.settings, payout_key=None)

    def read(request: Request) -> ExtractionResult:
        closer.desk.service.now += timedelta(minutes=1)
        return closer.read(request)

    [closed] = close_all_due(closer.desk.lake, read=read)
    said = "payout records were never extracted: every figure that needs them is unknown"
    assert [reason.text for reason in closed.reasons] == [said]


def test_a_month_whose_payouts_cannot_be_read_again_says_why(closer):
    """They were read once, with a key that is gone."""
    closer.desk.extract()
    closer.desk.settings = replace(closer.desk.settings, payout_key=None)
    [reason] = closer.close("2026-10").reasons
    assert reason.text.startswith("payout records could not be read again: it needs a payout")
