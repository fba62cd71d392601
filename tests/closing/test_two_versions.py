"""One id listed twice, and only one version can be read: nobody knows which is right."""

from typing import Any

import pytest

from tests.support.closings import Closer
from tests.support.fake_service import Record, payment
from tests.support.findings import findings_of
from tests.support.rings import sample

GOOD = payment(50, "2026-10-12T12:00:00Z", "9", "0")


def unreadable(at: str) -> Record:
    return GOOD | {"paid_at": at, "amount": "1e1"}


def rejected(closer: Closer) -> list[Any]:
    return list(findings_of(closer.desk.lake, "record_could_be_held")["record_id"])


@pytest.mark.parametrize("page_size", sample([2, 1, 100], 3))
@pytest.mark.parametrize("at", sample(["2026-10-11T12:00:00Z", "2026-10-13T12:00:00Z"], 2))
@pytest.mark.parametrize("is_first", sample([True, False], 2))
def test_a_readable_version_does_not_resolve_one_of_the_same_reading(
    closer: Closer, at: str, page_size: int, is_first: bool
) -> None:
    """In whatever order, and over the edges of pages; closing reads the month twice more."""
    pair = [unreadable(at), GOOD] if is_first else [GOOD, unreadable(at)]
    closer.desk.service.payments += pair
    closer.desk.service.page_size = lambda page: page_size
    closer.desk.extract()
    assert rejected(closer) == [GOOD["id"]]
    closed = closer.close()
    assert closed.state == "provisional" and rejected(closer) == [GOOD["id"]]
    assert any("record_could_be_held" in reason.text for reason in closed.reasons)


@pytest.mark.thorough
def test_both_at_one_instant_block_too(closer: Closer) -> None:
    """On one page, side by side."""
    closer.desk.service.payments += [GOOD, unreadable(GOOD["paid_at"])]
    assert closer.close().state == "provisional"


@pytest.mark.thorough
def test_a_version_that_a_later_reading_finds_mended_is_resolved(closer: Closer) -> None:
    """The service lists the readable one alone; listed again, the other is open again."""
    service, bad = closer.desk.service, unreadable("2026-10-11T12:00:00Z")
    service.payments.append(bad)
    assert closer.close().state == "provisional"
    service.payments[-1] = GOOD
    assert closer.close().state == "sealed" and rejected(closer) == []
    service.payments.append(bad)
    assert closer.close().state == "provisional" and rejected(closer) == [GOOD["id"]]
