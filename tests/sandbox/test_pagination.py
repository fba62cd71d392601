"""Lists: whole, newest first, whatever the page (contract, Conventions: Lists)."""

import pytest

from svc_analytics.instants import DAY, parse_instant
from svc_analytics.sandbox import Behaviour
from svc_analytics.sandbox.store import Slice, page_query
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS

INVALID = (422, "VALIDATION_FAILED")
AUGUST = "2026-08-01T00:00:00Z"
STREAMS = {"payments": ("payments", "paid_at"), "payouts": ("payout_records", "created_at")}
HABITS = {
    "well_behaved": Behaviour(),
    "one_row_a_page": Behaviour(page_size=1),
    "37_rows_a_page": Behaviour(page_size=37),
    "varying_pages": Behaviour(page_size=(1, 100)),
    "every_second_page_empty": Behaviour(empty_pages=2),
    "short_lived_cursors": Behaviour(cursor_lifetime=1),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("habit", HABITS)
def test_pages_hold_every_record_once_newest_first(service, pages, name, habit):
    """Whatever a page looks like, following next_cursor to null yields the whole list."""
    service.behaviour = HABITS[habit]
    stream, instant = STREAMS[name]
    rows = [row for page in pages(name, limit="30") for row in page["data"]]
    keys = [(parse_instant(row[instant])[0], row["id"]) for row in rows]
    assert keys == sorted(keys, reverse=True)
    assert [row["id"] for row in reversed(rows)] == [row["id"] for row in service.records(stream)]


def test_page_holds_as_many_rows_as_asked(service, payout_key, refusal):
    """Limits: list limit 1 to 100, default 25."""
    for beyond in ("0", "101"):
        assert refusal(service.payments, payout_key, {"limit": beyond}) == INVALID
    for query, rows in (
        ({"limit": "1"}, 1),
        ({"limit": "7"}, 7),
        ({}, 25),
        ({"limit": "100"}, 100),
    ):
        assert len(service.payments(payout_key, query)["data"]) == rows


@pytest.mark.parametrize("name", STREAMS)
def test_an_empty_cursor_is_the_first_page(service, payout_key, name):
    """Clients that always send the parameter send it empty at first."""
    pages = [getattr(service, name)(payout_key, query) for query in ({}, {"cursor": ""})]
    assert pages[0]["data"] == pages[1]["data"] != []


def test_unknown_kind_is_refused_and_unknown_currency_is_empty(service, payout_key, refusal):
    """Kinds are enumerated by the contract; slugs are not."""
    assert refusal(service.payouts, payout_key, {"kind": "transfer"}) == INVALID
    assert service.payments(payout_key, {"currency": "doge"}) == {"data": [], "next_cursor": None}


@pytest.mark.parametrize("name", STREAMS)
def test_filter_keeps_exactly_the_rows_of_its_value(service, pages, name):
    """A filtered list is the whole list without the other rows."""
    column, value = {"payments": ("currency", "eth"), "payouts": ("kind", "refund")}[name]
    rows = [row["id"] for page in pages(name, **{column: value}) for row in page["data"]]
    stream, _ = STREAMS[name]
    wanted = [row["id"] for row in service.records(stream) if row[column] == value]
    assert rows == wanted[::-1] and wanted


BOUNDS = {"closed": (True, True), "open": (False, False)}
BOUNDS |= {"half_open": (True, False), "open_closed": (False, True)}


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_include_what_the_service_says(service, pages, bounds):
    """Whether records exactly on `from` and `to` belong to the list is a habit of the service."""
    service.behaviour = Behaviour(bounds=bounds)
    first, last = "2026-08-01T00:00:00Z", "2026-08-31T23:59:59.999999Z"
    query = {"from": first, "to": last}
    rows = [row["paid_at"] for page in pages("payments", **query) for row in page["data"]]
    assert (first in rows, last in rows) == BOUNDS[bounds]
    assert all("2026-08" in paid_at for paid_at in rows)


def test_ignored_bounds_yield_the_whole_list(service, pages):
    """A service may leave `from` and `to` unheeded; then all rows come."""
    service.behaviour = Behaviour(bounds="ignored")
    query = {"from": "2026-08-01T00:00:00Z", "to": "2026-08-02T00:00:00Z"}
    rows = [row for page in pages("payments", **query) for row in page["data"]]
    assert len(rows) == len(list(service.records("payments")))


def test_bound_with_an_offset_is_its_instant(service, pages):
    """Midnight in Tehran is 20:30 the day before in UTC."""
    starts = ("2026-09-01T00:00:00+03:30", "2026-08-31T20:30:00Z")
    local, utc = ([page["data"] for page in pages("payments", **{"from": at})] for at in starts)
    assert local == utc


def test_cursor_fits_only_the_filters_it_was_made_for(service, payout_key, refusal):
    """A cursor with other filters is refused; the limit may change from page to page."""
    cursor = service.payments(payout_key, {})["next_cursor"]
    for change in ({"currency": "btc"}, {"from": AUGUST}, {"to": AUGUST}):
        assert refusal(service.payments, payout_key, {"cursor": cursor, **change}) == INVALID
    assert refusal(service.payouts, payout_key, {"cursor": cursor}) == INVALID
    assert service.payments(payout_key, {"cursor": cursor, "limit": "3"})["data"]


def test_cursor_with_one_changed_letter_is_refused(service, payout_key, refusal):
    """Cursors are sealed: none can be made up."""
    cursor = service.payments(payout_key, {})["next_cursor"]
    for place in range(0, len(cursor), 7):
        letter = "A" if cursor[place] != "A" else "B"
        changed = cursor[:place] + letter + cursor[place + 1 :]
        assert refusal(service.payments, payout_key, {"cursor": changed}) == INVALID
    assert refusal(service.payments, payout_key, {"cursor": f"{cursor}!"}) == INVALID


def test_cursor_dies_after_its_lifetime(service, payout_key, refusal):
    """With a lifetime of two requests, the third finds the cursor expired."""
    service.behaviour = Behaviour(cursor_lifetime=2)
    query = {"cursor": service.payments(payout_key, {})["next_cursor"]}
    answers = [refusal(service.payments, payout_key, query) for _ in range(3)]
    assert answers == [(), (), INVALID]


def test_rows_that_appear_do_not_shift_the_next_page(service, payout_key):
    """The page behind a cursor is the same, however much was sold since."""
    cursor = service.payments(payout_key, {})["next_cursor"]
    before = service.payments(payout_key, {"cursor": cursor})["data"]
    service.clock.advance(5 * DAY)
    assert service.payments(payout_key, {"cursor": cursor})["data"] == before
    assert service.payments(payout_key, {})["data"][0] != before[0]


@pytest.mark.parametrize("name", STREAMS)
def test_time_reveals_rows(service, pages, scenario, name):
    """A list never holds what is still to come, and all of it once it has come."""
    _, instant = STREAMS[name]
    early = [row for page in pages(name) for row in page["data"]]
    service.clock.set(scenario.current_month.end + DAY)
    late = [row for page in pages(name) for row in page["data"]]
    assert late[-len(early) :] == early
    assert len(late) > len(early)
    assert all(parse_instant(row[instant])[0] <= scenario.until for row in early)


def test_payout_record_shows_only_when_it_is_settled(service, payout_key):
    """No record is read with a settlement in the future."""
    records = service.records("payout_records")
    slow = next(row for row in records if row["created_at"] != row["settled_at"])
    query = {"from": slow["created_at"], "to": slow["created_at"]}
    service.clock.set(parse_instant(slow["settled_at"])[0] - 1)
    assert slow not in service.payouts(payout_key, query)["data"]
    service.clock.advance(1)
    assert slow in service.payouts(payout_key, query)["data"]


@pytest.mark.parametrize("only", [None, "some value"], ids=["unfiltered", "filtered"])
@pytest.mark.parametrize("stream", [PAYMENTS, PAYOUT_RECORDS], ids=lambda stream: stream.name)
def test_page_is_sought_in_an_index_and_never_sorted(store, stream, only):
    """Both ends of a page are found in the index, so that a deep page costs what the first does."""
    sql, values = page_query(Slice(stream, 0, (1, "x"), only), now=1, limit=1)
    [plan] = [row[3] for row in store.fetch(f"explain query plan {sql}", values)]
    assert f"{stream.instant}>? AND ({stream.instant},id)<(?,?)" in plan
    assert "SEARCH" in plan


def test_unknown_properties_come_beside_the_known_ones(service, payout_key):
    """Clients must ignore unknown properties, so this service can send some."""
    plain = service.payments(payout_key, {"limit": "1"})
    service.behaviour = Behaviour(extra_properties=True)
    extended = service.payments(payout_key, {"limit": "1"})
    assert extended.keys() > plain.keys()
    assert extended["data"][0].items() > plain["data"][0].items()


# Single objects.

MISSING = (404, "PAY_SESSION_NOT_FOUND")


def test_payment_is_found_by_uuid_and_by_receipt_number(service, checkout_key):
    """Payment id lookups: UUID, or a receipt number."""
    for payment in list(service.records("payments"))[::50]:
        assert service.payment(checkout_key, payment["id"]) == payment
        assert service.payment(checkout_key, payment["id"].upper()) == payment
        assert service.payment(checkout_key, payment["receipt_no"]) == payment


def test_payout_is_found_by_uuid_and_by_reference(service, payout_key):
    """Payout id lookups: UUID, or the merchant's own reference_id where there is one."""
    for record in service.records("payout_records"):
        assert service.payout(payout_key, record["id"]) == record
        if record["reference_id"] is not None:
            assert service.payout(payout_key, record["reference_id"]) == record


@pytest.mark.parametrize("unknown", ["", "SVC-999999999", "0" * 36, "order-0000001", "x" * 500])
def test_unknown_objects_are_one_refusal(service, payout_key, checkout_key, refusal, unknown):
    """What does not exist answers like what belongs to another business."""
    assert refusal(service.payment, payout_key, unknown) == MISSING
    assert refusal(service.payout, payout_key, unknown) == MISSING
    if unknown != "order-0000001":  # a session of the past
        for call in (service.sessions.read, service.sessions.cancel):
            assert refusal(call, checkout_key, unknown) == MISSING


def test_payment_of_tomorrow_is_not_there_yet(service, checkout_key, refusal):
    """A payment can be read from its instant on, not before."""
    service.clock.advance(5 * DAY)
    newest = list(service.records("payments"))[-1]
    service.clock.set(parse_instant(newest["paid_at"])[0] - 1)
    assert refusal(service.payment, checkout_key, newest["id"]) == MISSING


def test_profile_lists_the_coins_that_are_sold(service, checkout_key):
    """GET /me names the merchant in two scripts and every coin of its payments."""
    profile = service.me(checkout_key)
    assert profile["id"] == service.account.merchant_id
    assert profile["display_name"].isascii()
    assert not profile["display_name_fa"].isascii()
    sold = {payment["currency"] for payment in service.records("payments")}
    assert set(profile["accepted_currencies"]) == sold == {"usdt", "btc", "sol", "eth"}
