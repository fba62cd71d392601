"""Months and a list that lacks many records: which are sealed, and what the others wait for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import CloseResult, verify_statement
from tests.support.closings import Closer, findings_of, table
from tests.support.fake_service import Record, payment

EACH, MANY = "record_is_still_listed", "listed_records_remain"
SHORT = "until it lists them again, or a person accepts the finding"
LACKS = "1 list lacks many records that it had before"


def month_of_payments(label: str, first: int, last: int = 30) -> list[Record]:
    """A payment on each of the first 28 days of a month, and 30 on one of its last."""
    days = [payment(first + 100 * day, f"{label}-{day:02}T10:00:00Z") for day in range(1, 29)]
    return days + [payment(first + n, f"{label}-{last}T11:{n:02}:00Z") for n in range(30)]


SEPTEMBER, OCTOBER = month_of_payments("2026-09", 0), month_of_payments("2026-10", 10_000, 31)
NOVEMBER, DECEMBER = (month_of_payments("2026-11", 20_000), month_of_payments("2026-12", 30_000))


@pytest.fixture
def shop(closer) -> Closer:
    """A desk that closed September on 2 October, and read on up to the end of October."""
    closer.desk.service.payments, closer.desk.service.payouts = [*SEPTEMBER, *OCTOBER], []
    at(closer, "2026-10-02")
    assert states(closer) == {"2026-09": "sealed"}
    at(closer, "2026-10-31")
    closer.desk.extract()
    return closer


def at(closer: Closer, day: str, hour: int = 12) -> None:
    closer.desk.service.now = datetime.fromisoformat(f"{day}T{hour:02}:00:00").replace(tzinfo=UTC)


def closed(closer: Closer, **options: Any) -> dict[str, CloseResult]:
    return {one.label: one for one in closer.close_all_due(**options)}


def states(closer: Closer) -> dict[str, str]:
    return {label: one.state for label, one in closed(closer).items()}


def reasons(closer: Closer, label: str) -> list[str]:
    return [str(reason.text) for reason in closed(closer)[label].reasons]


def accept(closer: Closer) -> None:
    """Accept by hand every finding of what is not listed."""
    found = findings_of(closer.desk.lake, EACH, MANY).to_dict("records")
    rows = [
        f"{one['check_name']},{one['record_id']},tests,Mina,2026-10-01,{one['content']}"
        for one in found
    ]
    text = "\n".join(["check,record_id,reason,by,at,content", *rows])
    Path(closer.desk.lake.path, "acknowledgements.csv").write_text(f"{text}\n")


def purge(closer: Closer) -> None:
    """25 of the last 30 payments of October are removed for good."""
    gone = {record["id"] for record in OCTOBER[-25:]}
    service = closer.desk.service
    service.payments = [record for record in service.payments if record["id"] not in gone]


def test_a_month_with_a_hole_waits_for_a_person_and_those_behind_it_for_the_month(shop):
    """New money is read all the while; once it is accepted, both are sealed, with what was held."""
    purge(shop)
    shop.desk.service.payments += NOVEMBER
    at(shop, "2026-12-03")
    blocked = closed(shop)
    assert [one.state for one in blocked.values()] == ["unchanged", "provisional"]
    told = [str(reason.text) for reason in blocked["2026-10"].reasons]
    assert LACKS in told and any(SHORT in text for text in told)
    assert "2026-11 was not tried: each seal names that of the month before" in str(
        blocked["2026-10"].note
    )
    assert {record["id"] for record in NOVEMBER} <= {*shop.desk.ids()}
    accept(shop)
    assert states(shop) == {"2026-09": "unchanged", "2026-10": "sealed", "2026-11": "sealed"}
    folder = closed(shop)["2026-10"].folder
    assert len(table(folder, "lines")) == len(OCTOBER) and verify_statement(folder).holds
    [finding] = [row for row in table(folder, "checks") if row["check_name"] == MANY]
    assert (finding["acknowledged_by"], finding["acknowledged_reason"]) == ("Mina", "tests")


def test_months_before_a_hole_are_sealed_as_usual(shop):
    """October was read whole before; the hole is in November, which runs."""
    at(shop, "2026-11-01")
    shop.desk.service.payments += [
        payment(90_000 + n, f"2026-11-01T10:{n:02}:00Z") for n in range(30)
    ]
    shop.desk.extract()
    del shop.desk.service.payments[-25:]
    at(shop, "2026-11-02")
    found = closed(shop)
    became = {label: one.state for label, one in found.items()}
    assert became == {"2026-09": "unchanged", "2026-10": "sealed", "2026-11": "waiting"}
    assert found["2026-11"].needs_attention and SHORT in str(found["2026-11"].reasons[0].text)


def test_a_list_that_is_half_empty_on_the_day_of_closing_seals_no_month_short(shop):
    """December was never read; what is known to be missing is of November, due as well."""
    service = shop.desk.service
    service.payments += [*NOVEMBER, *DECEMBER]
    at(shop, "2026-12-01")
    shop.desk.extract()
    at(shop, "2027-01-02")
    service.hidden = {record["id"] for record in [*NOVEMBER[-30:], *DECEMBER[::2]]}
    found = closed(shop)
    assert [one.state for one in found.values()] == ["unchanged", "sealed", "provisional"]
    direct = shop.close("2026-12")
    assert direct.state == "provisional"
    assert any(SHORT in str(reason.text) for reason in direct.reasons), direct.describe()
    service.hidden.clear()
    assert states(shop)["2026-12"] == "sealed"
    assert len(table(direct.folder, "lines")) == len(DECEMBER)


def test_a_hole_in_a_sealed_month_keeps_no_later_month_short(shop):
    """October was sealed at once; half of November is hidden, and the end of October with it."""
    at(shop, "2026-11-01", hour=6)
    assert closed(shop, grace_hours=0)["2026-10"].state == "sealed"
    service = shop.desk.service
    service.payments += NOVEMBER
    service.hidden = {record["id"] for record in [*OCTOBER[-30:], *NOVEMBER[::2]]}
    at(shop, "2026-12-03")
    found = closed(shop)
    assert [one.state for one in found.values()] == ["unchanged", "unchanged", "provisional"]
    assert LACKS in str(found["2026-10"].reasons[0].text) and SHORT in reasons(shop, "2026-11")[-1]
    service.hidden.clear()
    found = closed(shop)
    assert found["2026-11"].state == "sealed" and not found["2026-10"].reasons
    assert len(table(found["2026-11"].folder, "lines")) == len(NOVEMBER)


def test_more_that_vanishes_behind_an_acceptance_blocks_again(shop):
    """What was accepted is what was seen."""
    purge(shop)
    at(shop, "2026-11-02")
    assert states(shop)["2026-10"] == "provisional"
    accept(shop)
    service = shop.desk.service
    service.payments.remove(OCTOBER[3])
    assert LACKS in reasons(shop, "2026-10")
    accept(shop)
    assert states(shop)["2026-10"] == "sealed"


def test_what_was_accepted_as_gone_and_comes_back_with_another_amount_blocks(shop):
    """Its older version is a finding of its own, and the others are another finding."""
    purge(shop)
    at(shop, "2026-11-02")
    closed(shop)
    accept(shop)
    changed = {"amount": "9000", "charged_amount": "9000", "net_amount": "8999.9"}
    shop.desk.service.payments.append(OCTOBER[-1] | changed)
    told = reasons(shop, "2026-10")
    assert LACKS in told and any("changed in money or identity" in text for text in told)


def test_a_month_of_another_calendar_waits_for_a_hole_in_its_part(shop):
    """The last hours of October are of Aban: Mehr, which ends on 22 October, is not concerned."""
    purge(shop)
    at(shop, "2026-12-03")
    shop.desk.extract(rereads=True)
    shop.desk.service.now += timedelta(hours=1)
    found = {
        label: shop.close(label, calendar="jalali", zone="Asia/Tehran").reasons
        for label in ("1405-07", "1405-08")
    }
    assert [any(LACKS in str(each.text) for each in one) for one in found.values()] == [False, True]
