"""Sealed months meet: each opens with what the one before it closed with, in every coin.

Quarters and years are sealed over the seals of their months, and name them.
"""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import verify_statement
from svc_analytics.closing import close, neighbours
from svc_analytics.closing.close import close_all_due
from svc_analytics.closing.handover.package import package
from svc_analytics.closing.neighbours import Ends, mismatches
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import read_manifest
from svc_analytics.errors import ConfigError, PeriodNotClosed
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.periods import month
from tests.support.closings import Closer, table
from tests.support.fake_service import payment, payout, refund
from tests.support.rings import sample

SEPTEMBER, OCTOBER = month("2026-09"), month("2026-10")
TEHRAN = {"zone": "Asia/Tehran"}


def position(folder: Path, name: str, coin: str = "btc") -> str | None:
    """A position in the summary of a sealed folder; None for a coin that it does not have."""
    rows = {row["currency"]: row[f"{name}_position"] for row in table(folder, "summary")}
    return rows.get(coin)


def states(results: list[CloseResult]) -> list[tuple[str, str]]:
    return [(each.label, each.state) for each in results]


def come_late(closer: Closer, *records: dict[str, Any]) -> None:
    """Let the service list records that it did not list before, and the lake read them."""
    for record in records:
        of_payouts = "paid_at" not in record
        (closer.desk.service.payouts if of_payouts else closer.desk.service.payments).append(record)
    closer.desk.extract(rereads=True)


def late_payment(at: str = "2026-09-30T10:00:00Z", coin: str = "btc") -> dict[str, Any]:
    return payment(99, at, "7", "0.5", currency=coin, usd_value=None)


@pytest.mark.thorough
def test_a_record_that_comes_while_october_is_read_restates_september_first(closer):
    """The reading of October reaches into September, which was found unchanged before it."""
    closer.closed("2026-08", "2026-09")
    late = payout(99, "2026-09-30T22:00:00Z", "2", "0.02", currency="btc")

    def read(request: Request) -> ExtractionResult:
        if (
            request.rereads
            and request.start == OCTOBER.start
            and not closer.desk.service.payouts[2:]
        ):
            closer.desk.service.payouts.append(late)
        return closer.read(request)

    closed = close_all_due(closer.desk.lake, read=read)
    assert states(closed) == [
        ("2026-08", "unchanged"),
        ("2026-09", "restated"),
        ("2026-10", "sealed"),
    ]
    september, october = (each.folder for each in closed[1:])
    assert position(september, "closing") == position(october, "opening") == "2.93"
    assert read_manifest(october)["previous_seal"] == closed[1].seal


@pytest.mark.parametrize("kind", sample(["payment", "payout", "refund", "another coin"], 4))
def test_a_month_is_not_sealed_upon_one_that_closes_otherwise(closer, kind):
    """It names the earlier month, the coin, both figures and the command."""
    closer.closed("2026-09")
    at = "2026-09-20T10:00:00Z"
    records = {
        "payment": late_payment(),
        "payout": payout(99, at, "2", "0.02", currency="btc"),
        "refund": refund(99, closer.desk.service.payments[0], at, "1"),
        "another coin": late_payment(coin="eth"),
    }
    come_late(closer, records[kind])
    opening = {"payment": "11.45", "payout": "2.93", "refund": "3.95", "another coin": "6.5"}[kind]
    coin, closing = ("eth", "0") if kind == "another coin" else ("btc", "4.95")
    waiting = closer.close("2026-10")
    assert (waiting.state, waiting.seal) == ("provisional", None)
    assert [reason.text for reason in waiting.reasons] == [
        f"in {coin} 2026-09 version 1 closes with {closing}, and 2026-10 opens with {opening}; "
        "close 2026-09 again: svc-analytics close --month 2026-09"
    ]


@pytest.mark.thorough
def test_of_several_earlier_months_each_is_restated_in_turn(closer):
    """All that moved an opening, oldest first, and all that follow it."""
    closer.closed("2026-08", "2026-09", "2026-10")
    come_late(closer, late_payment("2026-08-20T10:00:00Z"))
    closed = closer.close_all_due()
    assert {each.state for each in closed} == {"restated"}
    folders = [each.folder for each in closed]
    for before, after in pairwise(folders):
        assert position(before, "closing") == position(after, "opening")
    assert all(verify_statement(folder).holds for folder in folders)
    assert states(closer.close_all_due()) == [(each.label, "unchanged") for each in closed]


@pytest.mark.thorough
def test_a_restated_month_says_that_the_next_one_is_to_be_closed_again(closer):
    """Also when it is closed again, until both meet; verifying either says the same."""
    september, october = (each.folder for each in closer.closed("2026-09", "2026-10"))
    come_late(closer, late_payment())
    restated = closer.close("2026-09")
    text = (
        "in btc 2026-09 version 2 closes with 11.45, and 2026-10 version 1 opens with 4.95; "
        "close 2026-10 again: svc-analytics close --month 2026-10"
    )
    assert restated.state == "restated" and restated.reasons[0].text == text
    assert closer.close("2026-09").reasons[0].text == text
    assert text in verify_statement(october).broken
    assert verify_statement(restated.folder).broken == (text,)
    assert not verify_statement(september).broken  # its successor speaks for the month


@pytest.mark.parametrize("error", sample([KeyboardInterrupt(), OSError("gone")], 2), ids=repr)
def test_what_comes_behind_a_seal_loses_no_result(closer, monkeypatch, error):
    """The month is sealed: its result is returned, with a note that nothing was compared."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(neighbours, "unmet_neighbours", fail)
    closed = closer.close()
    assert closed.state == "sealed" and closed.seal == read_manifest(closed.folder)["seal"]
    assert closed.note is not None and closed.note.startswith("its neighbours were not looked at")


def test_a_stop_before_the_seal_leaves_no_seal(closer, monkeypatch):
    """Warnings are looked up first: what fails there fails before anything is sealed."""
    monkeypatch.setattr(close, "warnings_of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        closer.close()
    assert not list(closer.desk.lake.path.glob("statements/*/manifest.json"))


@pytest.mark.thorough
def test_a_chain_of_another_zone_meets_its_own(closer):
    """Tehran's October opens with what Tehran's September closed with, not with UTC's."""
    closer.closed("2026-09", **TEHRAN)
    come_late(closer, late_payment())
    waiting = closer.close("2026-10", **TEHRAN)
    command = "svc-analytics close --month 2026-09 --zone Asia/Tehran"
    assert waiting.state == "provisional" and waiting.reasons[0].text.endswith(command)
    september = closer.close("2026-09", **TEHRAN)
    october = closer.close("2026-10", **TEHRAN).folder
    assert read_manifest(october)["previous_seal"] == september.seal
    of_utc = closer.close("2026-10")
    assert of_utc.state == "sealed" and read_manifest(of_utc.folder)["previous_seal"] is None


@pytest.mark.thorough
def test_a_month_closed_into_a_folder_of_ones_own_is_closed_again_there(closer, tmp_path):
    """The command names the folder, and the seal before is found in the lake's folder too."""
    own = tmp_path / "the books"
    closer.close("2026-09", out=own / "2026-09")
    come_late(closer, late_payment())
    waiting = closer.close("2026-10", out=own / "2026-10")
    assert waiting.reasons[0].text.endswith(f"--month 2026-09 --out '{own / '2026-09'}'")
    sealed = closer.close("2026-09")
    assert closer.close("2026-10").state == "sealed"
    apart = closer.close("2026-10", out=tmp_path / "apart" / "2026-10")
    assert read_manifest(apart.folder)["previous_seal"] == sealed.seal
    assert verify_statement(apart.folder, closer.desk.lake).holds


ENDS = {
    "equal": ({"btc": "5"}, {"btc": "5"}, []),
    "known and other": ({"btc": "5"}, {"btc": "6"}, [True]),
    "a coin of the first": ({"btc": "5", "eth": "1"}, {"btc": "5"}, [True]),
    "a coin of the second": ({"btc": "5"}, {"btc": "5", "eth": "1"}, [True]),
    "a coin at zero": ({"btc": "5", "eth": "0"}, {"btc": "5"}, []),
    "unknown in one": ({"btc": ""}, {"btc": "5"}, [False]),
    "unknown in both": ({"btc": ""}, {"btc": ""}, []),
    "a coin that an unknown may hide": ({"btc": ""}, {"btc": "", "eth": "1"}, []),
}


@pytest.mark.parametrize(("closing", "opening", "known"), ENDS.values(), ids=ENDS.keys())
def test_positions_are_compared_coin_by_coin(closing, opening, known):
    """Whether a mismatch is of known positions: only such a one keeps a month unsealed."""
    before, after = Ends("a", SEPTEMBER, {}, closing), Ends("b", OCTOBER, opening, {})
    assert [each.is_known for each in mismatches(before, after, opening)] == known


# ---------- quarters and years over their months


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
        closer.close("2026-Q3", **TEHRAN)
