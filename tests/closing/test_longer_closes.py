"""Quarters and years are sealed over the seals of their months, and name them."""

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from svc_analytics.closing.close import close
from svc_analytics.closing.handover.package import package
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.errors import ConfigError, PeriodNotClosed
from svc_analytics.extraction.plan import Request
from svc_analytics.periods import month
from tests.support.closings import table
from tests.support.fake_service import payment

QUARTER = ("2026-07", "2026-08", "2026-09")


@pytest.fixture
def quarter(closer) -> Path:
    """The folder of a sealed quarter, whose months are sealed beside it."""
    return closer.closed(*QUARTER, "2026-Q3")[-1].folder


def test_a_quarter_is_refused_until_each_of_its_months_is_sealed(quarter, closer):
    """The line names the months that are missing, and the command that seals the first."""
    for label in ("2026-Q3", *QUARTER[1:]):
        shutil.rmtree(quarter.with_name(label))
    with pytest.raises(PeriodNotClosed) as caught:
        closer.close("2026-Q3")
    assert str(caught.value) == (
        "2026-Q3 cannot be sealed: 2026-08, 2026-09 are not sealed; "
        "first run svc-analytics close --month 2026-08"
    )


def test_a_sealed_quarter_names_the_seals_and_digests_of_its_months(quarter):
    """So whoever holds the quarter's seal holds its months' too."""
    months = [read_manifest(quarter.with_name(label)) for label in QUARTER]
    assert read_manifest(quarter)["month_seals"] == [
        {name: own[name] for name in ("label", "version", "content_digest", "seal")}
        for own in months
    ]


@pytest.mark.thorough
def test_the_flows_of_the_sealed_months_add_up_to_the_quarter(quarter):
    """In plain decimals over the sealed files; opening and closing are the first's and last's."""
    months = [
        {row["currency"]: row for row in table(quarter.with_name(label), "summary")}
        for label in QUARTER
    ]
    [stated] = table(quarter, "summary")
    own = [coins["btc"] for coins in months if "btc" in coins]
    assert stated["currency"] == "btc" and len(own) == 2
    for name in (
        "payments_count",
        "gross_sales",
        "payment_fees",
        "net_settlement",
        "rail_movement",
    ):
        assert sum(Decimal(row[name]) for row in own) == Decimal(stated[name])
    assert (stated["opening_position"], stated["closing_position"]) == ("0", "4.95")


@pytest.mark.thorough
def test_a_sealed_quarter_holds_and_is_packed(quarter, closer, tmp_path):
    """Made again it is the same, also when it is closed again; a package says how to check it."""
    assert verify_statement(quarter, closer.desk.lake).holds
    assert package(closer.desk.lake, "2026-Q3", out=tmp_path / "q3.zip").folder == quarter
    assert closer.close("2026-Q3").state == "unchanged"


@pytest.mark.thorough
def test_a_month_that_is_gone_or_altered_breaks_the_quarter(quarter, closer):
    """Verifying a quarter looks at the statements whose seals it names."""
    with (quarter.with_name("2026-08") / "lines.csv").open("a") as file:
        file.write("x\n")
    shutil.rmtree(quarter.with_name("2026-09"))
    broken = "; ".join(verify_statement(quarter, closer.desk.lake).broken)
    assert "the statement of 2026-08: lines.csv differs from the seal" in broken
    assert "the statement of 2026-09, with the seal" in broken and "is missing" in broken


def test_a_seal_of_a_month_that_is_exchanged_is_found(quarter, closer):
    """The manifest's own seal no longer fits, whatever it says of its months."""
    facts = read_manifest(quarter)
    facts["month_seals"][0]["seal"] = "0" * 64
    (quarter / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")
    assert "manifest.json differs from the seal" in verify_statement(quarter).broken


@pytest.mark.thorough
def test_a_late_payment_is_restated_in_its_month_before_the_quarter(quarter, closer):
    """The quarter waits for its month; then it is restated too, and names the month's new seal."""
    closer.desk.service.payments.append(payment(99, "2026-08-20T10:00:00Z", "7", "0.07"))
    august = month("2026-08")
    closer.read(Request(start=august.start, end=august.end, rereads=True))
    with pytest.raises(PeriodNotClosed, match="first restate it with svc-analytics close --month"):
        closer.close("2026-Q3")
    states = [done.state for done in closer.close_all_due()]
    assert states[:2] == ["restated", "restated"]  # September opens with what August left
    again = closer.close("2026-Q3")
    assert again.state == "restated" and again.folder.name == "2026-Q3-v2"
    named = read_manifest(again.folder)["month_seals"][1]
    assert (named["version"], named["label"]) == (2, "2026-08")
    assert verify_statement(again.folder, closer.desk.lake).holds


def test_a_year_to_date_is_not_sealed(closer):
    """Next month there is another one."""
    with pytest.raises(ConfigError, match="2026-10-ytd is a year to date, which is not sealed"):
        closer.close("2026-10-ytd")


@pytest.mark.thorough
def test_a_quarter_is_due_behind_its_months_when_asked_for(closer):
    """August to October are due alone; once July has a record, the quarter has all its months."""
    labels = [done.label for done in closer.close_all_due()]
    assert labels == [done.label for done in closer.close_all_due(longer=["quarter", "year"])]
    assert labels == ["2026-08", "2026-09", "2026-10"]
    closer.desk.service.payments.append(payment(98, "2026-07-20T10:00:00Z", "7", "0.07"))
    closer.confirm("2026-07")
    labels = [done.label for done in closer.close_all_due(longer=["quarter"])]
    assert labels == ["2026-07", "2026-08", "2026-09", "2026-10", "2026-Q3"]
    with pytest.raises(ConfigError, match="longer names 'week'"):
        closer.close_all_due(longer=["week"])


def test_a_quarter_of_tehran_is_sealed_over_the_months_of_tehran(closer):
    """The command that it names has the zone."""
    with pytest.raises(PeriodNotClosed, match="--month 2026-07 --zone Asia/Tehran"):
        close(closer.desk.lake, "2026-Q3", zone="Asia/Tehran", read=closer.read)
