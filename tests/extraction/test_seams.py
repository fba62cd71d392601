"""Seams that are hard to judge: cursors good for once, pages that shrink, rejected records."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx
import pytest

from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.errors import KeyRefused
from svc_analytics.extraction import stall
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.schema import PAYMENTS
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, Record, ids, payment, refusal, spread

START = datetime(2026, 10, 2, tzinfo=UTC)
AT_ONCE = "2026-10-05T00:00:00Z"
Act = Callable[[], object]


@pytest.fixture(autouse=True)
def october(service: FakeService) -> FakeService:
    """350 payments of October, ten on a page."""
    service.payments = spread(350, START, timedelta(hours=2))
    service.page_size = lambda page: 10
    return service


def newest(service: FakeService) -> list[Record]:
    return sorted(service.payments, key=lambda row: str(row["paid_at"]), reverse=True)


def appear(service: FakeService, number: int, behind: int) -> None:
    """Let a record appear just before the one in this place of the list."""
    at = datetime.fromisoformat(newest(service)[behind]["paid_at"]) + timedelta(seconds=1)
    service.payments.append(payment(5_000 + number, f"{at:%FT%TZ}"))


def act_before(service: FakeService, acts: dict[int, Act]) -> None:
    """Act before these requests for payments, counted from one."""
    numbers = count(1)

    def move(request: httpx.Request) -> None:
        if request.url.path.endswith("/payments"):
            acts.get(next(numbers), lambda: None)()

    service.intercept = move


def overlap(service: FakeService) -> None:
    """Let a cursor point at the last row of a page, instead of behind it."""
    page = service._page

    def overlapping(path: str, request: httpx.Request) -> Record:
        made = page(path, request)
        if made["next_cursor"] and len(made["data"]) > 1:
            place, number = made["next_cursor"].split(".")
            made["next_cursor"] = f"{int(place) - 1}.{number}"
        return made

    service._page = overlapping  # type: ignore[method-assign]


def use_cursors_once(service: FakeService) -> None:
    """Let no cursor be good for a second request; each answer makes another."""
    page, used, numbers = service._page, set(), count(1)

    def renewed(path: str, request: httpx.Request) -> Record:
        made = page(path, request)
        if made["next_cursor"]:
            place, number = made["next_cursor"].split(".")
            made["next_cursor"] = f"{place}.{int(number) + next(numbers) * 6_000}"
        return made

    move = service.intercept

    def refuse(request: httpx.Request) -> httpx.Response | None:
        moved = move(request) if move else None
        cursor = request.url.params.get("cursor")
        if cursor in used:
            return refusal(422, "VALIDATION_FAILED")
        used.update([cursor] if cursor else ())
        return moved

    service._page = renewed  # type: ignore[method-assign]
    service.intercept = refuse


def read(desk: Desk) -> ExtractionResult:
    return desk.extract(workers=1, streams=("payments",))


def missing(desk: Desk) -> set[str]:
    return {row["id"] for row in desk.service.payments} - set(desk.ids())


def assert_whole(desk: Desk, run: ExtractionResult) -> None:
    assert desk.ids() == ids(desk.service.payments) and not run.doubtful
    assert len(desk.lake.coverage(PAYMENTS).complete) == 1


def test_a_cursor_good_for_once_leaves_doubt_and_doubt_is_read_again(desk: Desk) -> None:
    """Two records appear; the page before cannot be asked for again."""
    service = desk.service
    acts = {n: lambda n=n: appear(service, n, behind=3) for n in (6, 12)}
    act_before(service, acts)
    use_cursors_once(service)
    assert_whole(desk, read(desk))


def test_cursors_good_for_once_on_pages_that_repeat_cost_one_more_reading(desk: Desk) -> None:
    """The second reading knows from the first that each seam repeats one record."""
    overlap(desk.service)
    use_cursors_once(desk.service)
    assert_whole(desk, read(desk))
    assert desk.service.paths().count("/payments") <= 39 + 38 + 40


def test_a_page_that_comes_back_shorter_proves_nothing(desk: Desk) -> None:
    """A page may have any size, and two records that agree are no whole page."""
    service, answers = desk.service, count(1)
    service.page_size = lambda page: 2 if next(answers) == 7 else 10
    act_before(service, {6: lambda: appear(service, 0, behind=45)})
    assert_whole(desk, read(desk))


def test_pages_that_always_repeat_a_row_are_watched_for_one_more(desk: Desk) -> None:
    """One comes again on each page; when two do, the list has moved."""
    overlap(desk.service)
    act_before(desk.service, {8: lambda: appear(desk.service, 0, behind=3)})
    assert_whole(desk, read(desk))


def test_a_rejected_record_at_the_edge_of_a_page_hides_no_move(desk: Desk) -> None:
    """It is what comes again: it has no row, but bytes."""
    bad = newest(desk.service)[49]
    bad["amount"] = 5  # the contract's amounts are texts
    act_before(desk.service, {6: lambda: appear(desk.service, 0, behind=3)})
    run = read(desk)
    assert missing(desk) == {bad["id"]} and not run.doubtful


@pytest.mark.parametrize("number", [1, 9, 10, 25, 60])
def test_a_block_of_one_instant_of_any_length_is_found(desk: Desk, number: int) -> None:
    """Whole pages of new records come before the first that comes again."""
    service = desk.service
    service.payments = [payment(n, AT_ONCE) for n in range(200)]
    block = [payment(5_000 + n, AT_ONCE) for n in range(number)]
    act_before(service, {12: lambda: service.payments.extend(block)})
    assert_whole(desk, read(desk))


def test_a_key_refused_at_a_seam_ends_the_run(desk: Desk) -> None:
    """It is no doubt about the list: the key was revoked."""
    service, numbers = desk.service, count(1)

    def revoke(request: httpx.Request) -> httpx.Response | None:
        number = next(numbers) if request.url.path.endswith("/payments") else 0
        if number == 6:
            appear(service, 0, behind=3)
        return refusal(401, "UNAUTHORIZED") if number == 7 else None

    service.intercept = revoke
    with pytest.raises(KeyRefused):
        read(desk)
    assert service.paths().count("/payments") == 7


def test_pages_of_rejected_records_are_no_circle(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page has a new one, all of one instant, and they take longer than the patience."""
    desk.service.page_size = lambda page: 1
    desk.service.payments = [payment(n, AT_ONCE, amount=5, net_amount="5") for n in range(120)]
    ticks = count(step=2)
    monkeypatch.setattr(RateLimiter, "now", lambda self: next(ticks))
    monkeypatch.setattr(stall, "STALLED_PAGES", 100)
    assert not read(desk).doubtful
    assert desk.lake.coverage(PAYMENTS).complete
