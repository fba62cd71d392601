"""Lists that move while they are read, by a service whose cursor is a count of rows (J7)."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest

from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.cli.commands.status import status_text
from svc_analytics.errors import KeyRefused
from svc_analytics.extraction import paging
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.status import lake_status
from svc_analytics.schema import PAYMENTS
from tests.support.closings import Closer, findings_of, table
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, Record, ids, payment, refusal, spread
from tests.support.rings import sample

START = datetime(2026, 10, 2, tzinfo=UTC)
STEP = timedelta(hours=2)
AT_ONCE = "2026-10-05T00:00:00Z"
Act = Callable[[FakeService, int], None]


@pytest.fixture(autouse=True)
def october(service) -> FakeService:
    """350 payments of October, ten on a page."""
    service.payments = spread(350, START, STEP)
    service.page_size = lambda page: 10
    return service


def newest(service: FakeService) -> list[Record]:
    return sorted(service.payments, key=lambda row: str(row["paid_at"]), reverse=True)


def appear(service: FakeService, place: int, behind: int = 3) -> None:
    """Let a record appear among the rows that were listed before, behind the newest three."""
    at = datetime.fromisoformat(newest(service)[behind]["paid_at"]) + timedelta(seconds=place)
    service.payments.append(payment(5_000 + place, f"{at:%Y-%m-%dT%H:%M:%SZ}"))


def vanish(service: FakeService, place: int) -> None:
    """Let a record vanish from among the newest rows."""
    service.payments.remove(newest(service)[5])


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


def while_read(service: FakeService, act: Act, times: int, every: int = 2) -> Iterator[int]:
    """Act before every second page of payments, so often; give the numbers of the acts."""
    places, pages = iter(range(times)), count(1)

    def move(request: httpx.Request) -> None:
        is_page = request.url.path.endswith("/payments")
        if is_page and next(pages) % every == 0 and (place := next(places, None)) is not None:
            act(service, place)

    service.intercept = move
    return places


def read(desk: Desk, **request: Any) -> Any:
    return desk.extract(workers=1, streams=("payments",), **request)


def missing(desk: Desk) -> set[str]:
    return {row["id"] for row in desk.service.payments} - set(desk.ids())


@pytest.mark.parametrize("times", sample([1, 5, 17], 2))
def test_what_appears_in_time_already_swept_is_found_by_the_same_run(desk, times):
    """Rows come again at the seam; the time before it is read again, until it stands still."""
    while_read(desk.service, appear, times)
    run = read(desk)
    assert desk.ids() == ids(desk.service.payments) and not run.doubtful
    assert len(desk.lake.coverage(PAYMENTS).complete) == 1


def test_many_rows_that_appear_at_once_are_no_disorder(desk):
    """Two pages full: the next page is newer than the last one, and was not asked for wrongly."""

    def flood(service: FakeService, _: int) -> None:
        for place in range(25):
            appear(service, place)

    while_read(desk.service, flood, 1, every=9)
    run = read(desk)
    assert desk.ids() == ids(desk.service.payments) and not run.notes


def test_a_list_that_never_stands_still_is_provisional_till_the_next_run(desk):
    """Three readings were disturbed each: nothing complete is claimed of what moved."""
    while_read(desk.service, appear, 10**6)
    run = read(desk)
    assert run.doubtful and "changed during each of 3 readings" in run.notes[0]
    assert desk.lake.coverage(PAYMENTS).provisional
    desk.service.intercept = None
    assert not read(desk).doubtful
    assert desk.ids() == ids(desk.service.payments)
    assert desk.lake.coverage(PAYMENTS).complete[0][0] == BEGINNING


def test_a_list_that_stands_still_costs_no_request_more(desk):
    """35 pages, one request each."""
    read(desk)
    assert desk.service.paths().count("/payments") == 35


def test_pages_that_repeat_a_row_anyway_are_asked_about_once(desk):
    """A cursor may point at the last row instead of behind it: nothing has moved."""
    overlap(desk.service)
    run = read(desk)
    assert desk.ids() == ids(desk.service.payments) and not run.doubtful
    assert desk.service.paths().count("/payments") == 39 + 1
    assert not desk.lake.coverage(PAYMENTS).provisional or len(run.notes) == 0


def test_what_a_vanished_row_hides_is_called_a_single_reading(desk):
    """It leaves no trace on any page: status and statement say what a single reading is worth."""
    while_read(desk.service, vanish, 7)
    read(desk)
    assert missing(desk)
    text = status_text(lake_status(desk.lake), ())
    assert "confirmed   nothing yet: all of it was read only once" in text
    october = "'2026-10-01 00:00:00Z', '2026-11-01 00:00:00Z'"
    made = desk.lake.sql(f"select reading from statement_reading({october})")
    assert set(made["reading"].dropna()) == {"single"}


ACTS: dict[str, tuple[Act, int]] = {
    "51 appear": (appear, 51),
    "7 vanish": (vanish, 7),
    "both": (lambda service, n: (appear if n % 2 else vanish)(service, n), 42),
}


def vanished(desk: Desk) -> set[str]:
    """What the lake holds and the service has no more; each blocks its month."""
    gone = set(desk.ids()) - {row["id"] for row in desk.service.payments}
    found = findings_of(desk.lake, "record_is_still_listed", "listed_records_remain")
    assert bool(len(found)) == bool(gone)
    assert set(desk.lake.sql("select record_id from stg_unlisted")["record_id"]) == gone
    return gone


@pytest.mark.parametrize(("act", "times"), sample(ACTS.values(), 3), ids=ACTS.keys())
def test_a_closed_month_has_all_that_was_there(desk, act, times):
    """Whatever a reading passed over: it is sealed after two that agree, or lacks what vanished."""
    closer = Closer(desk)
    lost = while_read(desk.service, act, times)
    closed = closer.close("2026-10")
    if closed.state != "sealed":  # it moved at every reading: later it stands still
        list(lost)
        closed = closer.close("2026-10")
    gone = vanished(desk)
    assert (closed.state == "sealed") == (not gone) and not missing(desk)
    [payments, _] = table(closed.folder, "reading")
    assert payments["reading"] == ("single" if gone else "confirmed")
    text, _, _ = status_text(lake_status(desk.lake), ()).partition("payout_records")
    assert ("confirmed   1 Oct 2026 00:00Z .. 1 Nov 2026" in text) == (not gone)


@pytest.mark.thorough
@pytest.mark.parametrize("act", sample([appear, vanish], 2))
def test_a_month_that_moves_at_every_reading_is_never_sealed(desk, act):
    """No two readings saw the same records."""
    closer = Closer(desk)
    while_read(desk.service, act, 10**6, every=9)
    closed = closer.close("2026-10")
    assert closed.state == "provisional" and closed.seal is None
    assert "differed each time" in closed.reasons[-1].text


@pytest.mark.thorough
def test_a_late_record_takes_a_confirmation_back(desk):
    """What came behind the second reading was seen once."""
    closer = Closer(desk)
    assert closer.close("2026-10").state == "sealed"
    assert lake_status(desk.lake).streams[0].confirmed
    desk.service.payments.append(payment(9_000, "2026-10-20T10:00:01Z"))
    read(desk, rereads=True)
    assert not lake_status(desk.lake).streams[0].confirmed


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_whatever_moves_nothing_sealed_lacks_what_was_there(desk, seed):
    """Rows appear and vanish anywhere, at random moments, at random times in a row."""
    chance, closer = random.Random(seed), Closer(desk)

    def act(service: FakeService, number: int) -> None:
        rows = newest(service)
        place = chance.randrange(len(rows))
        if chance.random() < 0.5:
            service.payments.remove(rows[place])
        else:
            at = f"{rows[place]['paid_at'][:-1]}.5Z"
            service.payments.append(payment(6_000 + number, at))

    desk.service.page_size = lambda page: chance.choice([7, 20])
    while_read(desk.service, act, chance.randint(1, 60), every=chance.randint(1, 9))
    closed = closer.close("2026-10")
    assert closed.state == "provisional" or not (missing(desk) or vanished(desk))


# ---------- seams that are hard to judge: cursors good for once, pages that shrink, bad records


def act_before(service: FakeService, acts: dict[int, Callable[[], object]]) -> None:
    """Act before these requests for payments, counted from one."""
    numbers = count(1)

    def move(request: httpx.Request) -> None:
        if request.url.path.endswith("/payments"):
            acts.get(next(numbers), lambda: None)()

    service.intercept = move


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


def assert_whole(desk: Desk, run: ExtractionResult) -> None:
    assert desk.ids() == ids(desk.service.payments) and not run.doubtful
    assert len(desk.lake.coverage(PAYMENTS).complete) == 1


def test_a_cursor_good_for_once_leaves_doubt_and_doubt_is_read_again(desk):
    """Two records appear; the page before cannot be asked for again."""
    service = desk.service
    acts = {n: lambda n=n: appear(service, n) for n in (6, 12)}
    act_before(service, acts)
    use_cursors_once(service)
    assert_whole(desk, read(desk))


def test_cursors_good_for_once_on_pages_that_repeat_cost_one_more_reading(desk):
    """The second reading knows from the first that each seam repeats one record."""
    overlap(desk.service)
    use_cursors_once(desk.service)
    assert_whole(desk, read(desk))
    assert desk.service.paths().count("/payments") <= 39 + 38 + 40


def test_a_page_that_comes_back_shorter_proves_nothing(desk):
    """A page may have any size, and two records that agree are no whole page."""
    service, answers = desk.service, count(1)
    service.page_size = lambda page: 2 if next(answers) == 7 else 10
    act_before(service, {6: lambda: appear(service, 0, behind=45)})
    assert_whole(desk, read(desk))


def test_pages_that_always_repeat_a_row_are_watched_for_one_more(desk):
    """One comes again on each page; when two do, the list has moved."""
    overlap(desk.service)
    act_before(desk.service, {8: lambda: appear(desk.service, 0)})
    assert_whole(desk, read(desk))


def test_a_rejected_record_at_the_edge_of_a_page_hides_no_move(desk):
    """It is what comes again: it has no row, but bytes."""
    bad = newest(desk.service)[49]
    bad["amount"] = 5  # the contract's amounts are texts
    act_before(desk.service, {6: lambda: appear(desk.service, 0)})
    run = read(desk)
    assert missing(desk) == {bad["id"]} and not run.doubtful


@pytest.mark.parametrize("number", sample([1, 9, 10, 25, 60], 4))
def test_a_block_of_one_instant_of_any_length_is_found(desk, number):
    """Whole pages of new records come before the first that comes again."""
    service = desk.service
    service.payments = [payment(n, AT_ONCE) for n in range(200)]
    block = [payment(5_000 + n, AT_ONCE) for n in range(number)]
    act_before(service, {12: lambda: service.payments.extend(block)})
    assert_whole(desk, read(desk))


def test_a_key_refused_at_a_seam_ends_the_run(desk):
    """It is no doubt about the list: the key was revoked."""
    service, numbers = desk.service, count(1)

    def revoke(request: httpx.Request) -> httpx.Response | None:
        number = next(numbers) if request.url.path.endswith("/payments") else 0
        if number == 6:
            appear(service, 0)
        return refusal(401, "UNAUTHORIZED") if number == 7 else None

    service.intercept = revoke
    with pytest.raises(KeyRefused):
        read(desk)
    assert service.paths().count("/payments") == 7


def test_pages_of_rejected_records_are_no_circle(desk, monkeypatch):
    """Each page has a new one, all of one instant, and they take longer than the patience."""
    desk.service.page_size = lambda page: 1
    desk.service.payments = [payment(n, AT_ONCE, amount=5, net_amount="5") for n in range(120)]
    ticks = count(step=2)
    monkeypatch.setattr(RateLimiter, "now", lambda self: next(ticks))
    monkeypatch.setattr(paging, "STALLED_PAGES", 100)
    assert not read(desk).doubtful
    assert desk.lake.coverage(PAYMENTS).complete
