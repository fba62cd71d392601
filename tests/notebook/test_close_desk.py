"""The close desk without a browser: its buttons pressed, its lists chosen from, over HTTP."""

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing import month_states
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, NoLake, Unavailable, install
from svc_analytics.interrupts import check_stop
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.notebook.desk import desk_months, panel as panel_module
from svc_analytics.notebook.desk.controls import Looks
from svc_analytics.notebook.desk.desk_months import STOPPED
from svc_analytics.notebook.desk.panel import Desk as CloseDesk, Panel
from svc_analytics.notebook.desk.records import (
    MonthRecords,
    StatementTable,
    View,
    Wanted,
    statement_tables,
)
from svc_analytics.periods import month
from svc_analytics.render.month_state import SIGNS, MonthState
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.desks import Desk
from tests.support.dirty_month import make_dirty_lake
from tests.support.documents import demo_copy
from tests.support.fake_service import FakeService, payment, payout, refund, refusal
from tests.support.ledgers import read_ledger
from tests.support.loopback import on_a_socket
from tests.support.prepared import extracted, once
from tests.support.publishing import contents

LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2026-09-10T09:00
 payment  btc       2       0.02  2026-10-05T08:00
 payment  btc       10      0.10  2026-10-06T08:00
 payment  usdt      100     1     2026-10-07T08:00
 refund   btc       0.5           2026-10-08T08:00  1
 payout   btc       0.25    0.01  2026-10-09T08:00
"""
FORMS = ("payment", "refund", "payout", "receipt")
OCTOBER = "2026-10"


@pytest.fixture
def service() -> FakeService:
    found = FakeService()
    found.payments, found.payouts = read_ledger(LEDGER)
    found.payments[2] |= {"metadata": {"customer": {"id": "C-3"}}, "usd_value": "1000.126"}
    return found


@pytest.fixture
def served(service, settings) -> Iterator[Settings]:
    """The service on a socket, as a close meets it."""
    with on_a_socket(service) as url:
        yield replace(settings, base_url=url)


@pytest.fixture
def opened(served, desk) -> CloseDesk:
    """The close desk of a lake into which everything was read."""
    extracted(desk)
    return svc.desk(desk.lake, settings=served)


@pytest.fixture
def panel(opened) -> Panel:
    return Panel(opened._months, lambda: None)


@pytest.fixture
def october(service, tmp_path_factory) -> Panel:
    """October at a desk at which tests only look: it is opened once."""

    def show() -> Panel:
        desk = extracted(Desk.at(tmp_path_factory.mktemp("looked at") / "data", service))
        shown = Panel(svc.desk(desk.lake, settings=desk.settings)._months, lambda: None)
        shown.months.tiles[OCTOBER].click()
        return shown

    found = once("October at a desk", show)
    found.records.find.value = ""
    return found


def states(panel: Panel) -> dict[str, str]:
    """What the tiles say, by month, when each was compared with the lake."""
    panel.judging.wait(60)
    texts = {label: each.description for label, each in panel.months.tiles.items()}
    return {label: text.splitlines()[1].split(" ", 1)[1] for label, text in texts.items()}


def press_figure(panel: Panel, name: str) -> None:
    """Press the figure that is called so, in whichever table it stands."""
    for _, title in panel.figures.which.options:
        panel.figures.which.value = title
        for row in panel.figures.table.content["rows"]:
            for column, cell in enumerate(row.get("cells", ())):
                if cell.get("label", "").startswith(f"{name}: "):
                    panel.figures.table.press(row["place"], column)
                    return
    pytest.fail(f"no figure {name}")


def numbers(one: StatementTable) -> Iterator[tuple[Wanted, str, Decimal]]:
    """Yield each figure of a table that leads to records: what it wants, its name and its value."""
    for row, cells in enumerate(one.table.rows):
        for column, cell in enumerate(cells):
            wanted = one.wanted(row, column)
            if wanted and cell.is_number and "%" not in cell.text and not cell.note:
                text = (cell.exact or cell.text).replace(",", "")
                yield wanted, one.name(row, column), Decimal(text)


def texts(content: dict[str, Any], column: str) -> list[str]:
    """What a table shows in the column of this head."""
    place = [head["text"] for head in content["head"]].index(column)
    return [row["cells"][place]["text"].strip() for row in content["rows"] if "cells" in row]


def press_close(panel: Panel) -> str:
    """Close the month that is shown; return what the panel says of it."""
    closing = panel.closing
    (closing.check if closing.close.layout.display == "none" else closing.close).click()
    assert panel.closing.run is not None, panel.closing.outcome.value
    panel.closing.run.wait(60)
    text: str = panel.closing.outcome.value
    return text


@pytest.mark.usefixtures("no_printer")
def test_a_press_seals_a_month_and_others_hand_it_over(panel):
    """The first month that is due is shown already; the tiles follow.

    What is handed over lies beside the seal, which stays as it is; the browser gets the same bytes.
    """
    assert states(panel) == {"2026-11": "running", "2026-10": "not closed", "2026-09": "late"}
    assert panel.closing.close.description == "Close September"
    handover, statements = panel.handover, panel._desk.lake.path / "statements"
    for button in handover.buttons.values():
        assert button.disabled and "close it first" in button.tooltip
    assert "September 2026 is sealed, version 1" in press_close(panel)
    assert states(panel) == {"2026-11": "running", "2026-10": "not closed", "2026-09": "sealed"}
    assert panel.closing.close.layout.display == "none"
    assert panel.closing.check.description == "Check September again"
    tile = panel.months.tiles["2026-09"].description
    assert tile == "Sep 2026\n\N{CHECK MARK} sealed\nversion 1"
    for text in ("Sealed, version 1", "not signed or stamped"):
        assert text in panel.figures.head.value
    sent: list[Any] = []
    handover.link.send = lambda *said: sent.append(said)
    sealed = contents(statements / "2026-09")
    for form in ("html", "zip"):
        handover.buttons[form].click()
        place = "2026-09.zip" if form == "zip" else f"2026-09-forms/statement.{form}"
        assert f"statements/{place}" in handover.message.value
        path = statements / place
        assert sent[-1][1] == [path.read_bytes()] and sent[-1][0]["name"] == path.name
    assert contents(statements / "2026-09") == sealed


@pytest.mark.thorough
def test_a_restated_month_shows_what_changed(service, panel):
    """A late payment of 7 btc makes a second version; both versions are compared below."""
    panel.months.tiles[OCTOBER].click()
    press_close(panel)
    service.payments.append(payment(99, "2026-10-20T08:00:00Z", "7", "0", currency="btc"))
    assert "October 2026 is sealed, version 2" in press_close(panel)
    assert states(panel)[OCTOBER] == "sealed" and panel._desk.tile.version == 2
    shown = panel.figures.head.value
    assert "What changed from version 1 to version 2" in shown and "Gross sales" in shown


def test_a_tile_takes_the_answer_of_its_own_close(service, panel):
    """A month that a close refused is blocked at once, before any month is compared again."""
    service.payments[0]["amount"] = "12.50x"
    panel.judging.wait(60)
    panel.judging.start = lambda: None
    press_close(panel)
    panel._desk._judged.clear()
    panel.months.tiles[OCTOBER].click()
    tile = panel.months.tiles["2026-09"].description
    assert tile == "Sep 2026\n\N{WARNING SIGN} blocked\n1 reason"


@pytest.mark.thorough
def test_all_due_months_are_closed_by_one_press(panel):
    """Oldest first; the last is shown then, and the others say to whom the buttons belong.

    What was said of the first is gone with it.
    """
    panel.findings.answer.value = "Accepted. This payment of 75 usdt is not counted."
    panel.closing.all_due.click()
    assert panel.closing.run is not None
    panel.closing.run.wait(60)
    assert panel.findings.answer.value == ""
    september, october = panel.closing.outcome.value.split("October 2026 is sealed, version 1")
    assert "September 2026 is sealed, version 1. To open its page" in september
    assert "Next: open its page" in october and "October 2026" in panel.handover.month.value


def test_a_month_that_an_older_one_blocks_offers_to_close_that_one(tmp_path):
    """The desk opens on the older one, and names no command; what is not verified yet is said."""
    lake = make_dirty_lake(tmp_path / "data")
    panel = Panel(svc.desk(lake)._months, lambda: None)
    assert panel._desk.tile.label == "2026-06"
    panel.months.tiles["2026-07"].click()
    assert panel.closing.before.description == "Close June again"
    assert "168 receipts are not verified yet" in panel.findings.head.value
    assert panel._desk.other_reasons == []  # the only reason stands once, beside its name
    assert "blocked</span>" in panel.closing.head.value
    assert "in usdt, June 2026 version 1 closes with 16,128.87885001932" in panel.closing.head.value
    assert "svc-analytics" not in "".join(map(str, english(panel)))


def test_what_a_dirty_month_needs_is_seen_before_it_is_closed(tmp_path):
    """What changed since a seal, what was received of a record set aside, and what is left out."""
    panel = Panel(svc.desk(make_dirty_lake(tmp_path / "data"))._months, lambda: None)
    assert "What changed since version 1" in panel.figures.head.value
    changed = seen(panel.figures.head.value)
    assert "new: 2026-06, UTC · final, not sealed" in changed
    assert "day 30 Jun 2026" in changed and "T21:15" not in changed
    assert "every digit: point at it<" in panel.figures.head.value  # and no Python
    assert "250.5" in panel.figures.head.value and "1 record differs" in panel.figures.head.value
    assert states(panel)["2026-08"] == "blocked"
    panel._desk.refresh()  # until it is judged anew, what blocks it is not forgotten
    assert [one.kind for one in panel._desk.tiles if one.label == "2026-08"] == ["blocked"]
    panel.months.tiles["2026-08"].click()
    assert panel.closing.close.description == "Close August before July"
    panel.findings.record.click()
    shown = seen(panel.records.record.value)
    assert "Set aside, as it was received" in shown and "0.1234567890123456789" in shown
    assert "10 August 2026" in shown and "usdt" in shown
    panel.records.hide.click()
    assert not panel.records.record.value
    rows = panel.findings.table.content["rows"]
    later = next(row for row in rows if "75 usdt" in row["cells"][0]["text"])
    panel.findings.table.press(later["place"], 0)
    assert "wait until the service has completed it" in panel.findings.effect.value
    sealed = panel._desk.lake.path / "statements/2026-06"
    sealed.chmod(0o755)
    for file in sealed.glob("lines.*"):
        file.unlink()
    panel.months.tiles["2026-06"].click()  # a damaged seal takes nothing else from the desk
    assert "cannot be read" in panel.figures.head.value and panel.figures.shown is not None
    panel.months.tiles["2026-09"].click()
    assert panel.closing.before.layout.display == "none"
    assert "over since 1 October" in panel.closing.head.value
    assert panel.months.tiles["2026-09"].description.endswith("over since 1 October")
    press_figure(panel, "Gross sales, All coins but pepe, USD")
    assert "pepe has no USD value here; sums in USD leave it out" in panel.figures.reasons.value


def test_a_finding_is_accepted_with_a_reason_and_a_name(service, served, desk):
    """It blocks the month; accepted, one row is written, and the month is due again."""
    service.payments[0]["paid_at"] = "2026-10-04T09:00:00Z"  # no other month is looked at
    extracted(desk)
    service.payouts[0]["payment_id"] = None  # so the refund is restated, too
    desk.extract(rereads=True)
    opened = svc.desk(desk.lake, settings=served)
    panel = Panel(opened._months, lambda: None)
    panel.months.tiles[OCTOBER].click()
    assert states(panel)[OCTOBER] == "blocked"
    findings = panel.findings
    for reason, name in (("", "Mina"), ("known", " ")):
        findings.reason.value, findings.name.value = reason, name
        findings.accept.click()
        assert "say why" in findings.fault.value or "name" in findings.fault.value
        assert "Error" not in findings.answer.value
    findings.name.value = "Mina"
    while findings.chosen:  # the next one is chosen when one is accepted
        findings.reason.value = "a correction, see ticket 7"
        findings.accept.click()
    assert states(panel)[OCTOBER] == "not closed"
    written = (opened._months.lake.path / "acknowledgements.csv").read_text().splitlines()
    assert written[0] == "check,record_id,reason,by,at,content" and len(written) == 3
    assert all(",Mina,20" in row for row in written[1:])
    assert Panel(opened._months, lambda: None).findings.name.value == "Mina"


def test_the_form_says_what_accepting_does_to_the_money(service, served, desk):
    """Before the button; then the finding says that the payment is not counted."""
    service.payments[0] |= {"paid_at": "2026-10-04T09:00:00Z", "amount": "12.50x"}
    extracted(desk)
    panel = Panel(svc.desk(desk.lake, settings=served)._months, lambda: None)
    panel.months.tiles[OCTOBER].click()
    findings = panel.findings
    coin = service.payments[0]["currency"]
    assert f"This payment of 12.50x {coin} will not be counted." in findings.effect.value
    assert findings.reason.placeholder == "why this may be left out of the figures"
    findings.reason.value, findings.name.value = "a test", "Mina"
    findings.accept.click()
    assert f"This payment of 12.50x {coin} is not counted." in findings.answer.value


def test_notes_are_a_line_a_rule_and_accepted_together(service, served, desk):
    """Closed, behind those that block; one act and one reason accepts all of a kind.

    Each is called as its record is known. A record that would leave the figures is accepted alone.
    """
    service.payments[0] |= {"paid_at": "2026-10-04T09:00:00Z", "amount": "12.50x"}
    for each in service.payments[1:]:
        each["fee_bearer"] = "customer"
    extracted(desk)
    panel = Panel(svc.desk(desk.lake, settings=served)._months, lambda: None)
    panel.months.tiles[OCTOBER].click()
    findings = panel.findings
    *_, note = findings.table.content["rows"]
    assert [cell["text"] for cell in note["cells"]] == [
        *("▸ 3 payments do not name the merchant as fee bearer", "btc, usdt", "nothing")
    ]
    assert findings.all.layout.display == "none"
    findings.table.press(note["place"], 0)
    assert findings.all.description == "accept all 3 of this kind"
    assert "payment SVC-" in findings.table.content["rows"][-1]["cells"][0]["text"]
    findings.reason.value, findings.name.value = "agreed in the contract", "Mina"
    findings.all.click()
    assert "accepted: 3 payments do not name the merchant" in findings.answer.value
    assert sum(bool(each.accepted) for each in panel._desk.findings) == 3


def test_records_that_are_looked_at_stay_when_a_close_ends(october):
    """It ends in a thread of its own; of another month nothing stays."""
    press_figure(october, "Sales after fees, btc")
    rows = october.records.table.content["rows"]
    october.follow()
    assert october.records.table.content["rows"] == rows != []
    october.choose(next(label for label in october.months.tiles if label != "2026-10"))
    assert not october.records.table.content.get("rows")
    october.choose("2026-10")


def test_a_figure_leads_to_its_records_and_a_record_to_its_receipt(october):
    """Two presses; the SQL is beside them, and the total below them is the figure.

    Of a ratio there are the totals of both its parts.
    """
    press_figure(october, "Sales after fees, btc")
    head = october.records.head.value
    assert "Sales after fees, btc: 11.88 btc" in head and "<pre>" in head
    assert "records 1 to 2 of 2" in october.records._count.value
    foot = [cell["text"].strip() for cell in october.records.table.content["foot"]]
    assert foot[:4] == ["Total", "", "", "11.88"]
    october.records.table.press(0, 0)
    shown = october.records.record.value
    assert "Payment SVC-000002 · order-2 · receipt: missing" in shown and "its receipt" in shown
    facts = shown.partition("<details")[0]  # a customer whom the shop did not name has an id
    assert "Payer id" in facts and "Customer" not in facts
    press_figure(october, "Effective fee rate, btc")
    foot = [cell["text"].strip() for cell in october.records.table.content["foot"]]
    assert foot[:5] == ["Total", "", "", "0.12", "12"]


def test_a_record_is_opened_by_its_kind(october):
    """A payout is a payout; a refund is itself, with its payment of another month beside it."""
    for figure, title, forms in (
        ("Payouts sent, btc", "Payout payout-6", ["payout"]),
        ("Refunds debited, btc", "Refund of SVC-000001", ["payment", "refund", "receipt"]),
        ("Net movement, btc", "Payment SVC-000002", ["payment", "receipt"]),
    ):
        press_figure(october, figure)
        october.records.table.press(0, 0)
        shown = october.records.record.value
        assert title in shown and [form for form in FORMS if f"its {form}<" in shown] == forms


def test_a_receipt_of_another_month_has_its_verdict(tmp_path_factory):
    """A refund of the demo that returns a payment of an earlier month, which was verified."""
    lake = demo_copy(tmp_path_factory)
    found = lake.sql(
        "select payout_id, refunds.month, verdict from refunds "
        "join receipt_status using (payment_id) where payment_month < refunds.month "
        "and refunds.status = 'completed' and verdict <> 'not_checked' limit 1"
    )
    [[refund, label, verdict]] = found.values.tolist()
    records = MonthRecords(lake, month(label))
    assert records.find("refund", refund)["receipt"]["verdict"].to_pylist() == [verdict]
    records.close()


@pytest.mark.thorough
def test_the_sql_beside_a_figure_gives_that_figure(desk):
    """Of every table: of the month, of each day in Tehran, of months of payment, and in USD.

    The sum below the records of a figure is the figure.
    """
    desk.serve(LEDGER)
    desk.extract()
    made = svc.statement(desk.lake, OCTOBER, zone="Asia/Tehran")
    records, tables = MonthRecords(desk.lake, made.period), [*statement_tables(made)]
    with open_warehouse(desk.lake) as warehouse:
        for one in tables:
            for wanted, name, shown in numbers(one):
                if not wanted.coin:
                    continue
                page = records.behind(wanted)
                [[value]] = warehouse.query(page.sql)
                assert shown == (-1 if wanted.is_negated else 1) * value.as_py(), name
                assert not page.figure.is_sum or page.totals == {"contribution": shown}, name
    records.close()
    assert [one.title for one in tables] == [
        *("Figures", "Other figures", "More figures", "By day", "Position by day"),
        "Refunds by month of payment",
    ]


def test_records_are_ordered_by_the_exact_value_of_any_column(october):
    """Ten is more than two: amounts are no texts. The order is that of all records."""
    press_figure(october, "Sales after fees, btc")
    table = october.records.table
    place = [head["text"] for head in table.content["head"]].index("btc")
    for way, amounts in (("ascending", ["1.98", "9.9"]), ("descending", ["9.9", "1.98"])):
        table.order(place)
        assert [text.strip() for text in texts(table.content, "btc")] == amounts
        assert table.content["head"][place]["order"] == way


def test_a_figure_says_how_it_is_made_before_it_lists(october):
    """Of records of which kinds; a position in USD is two rows, and nothing is a contribution.

    What leaves the wallet has a minus, in its records too.
    """
    makeup = october.records.makeup
    press_figure(october, "Net movement, btc")
    assert [texts(makeup.content, head) for head in ("made of", "records", "btc")] == [
        ["Payments", "Payouts", "Refunds"],
        ["2", "1", "1"],
        ["11.88", "-0.26", "-0.5"],
    ]
    press_figure(october, "Position in USD, btc")
    assert texts(makeup.content, "made of") == ["Closing position", "Implied rate"]
    assert "Rate" in [head["text"] for head in october.records.table.content["head"]]
    makeup.press(0, 0)
    assert "Closing position, btc: 14.09 btc" in october.records.head.value
    press_figure(october, "Refunds debited, btc")
    assert "Refunds debited, btc: -0.5 btc" in october.records.head.value
    assert texts(october.records.table.content, "btc") == ["-0.5"]


def test_all_coins_in_usd_say_what_each_coin_adds_and_what_is_left_out(october):
    """Two of three payments have no value in USD; a coin leads on to its records."""
    press_figure(october, "Gross sales, All coins but btc, usdt, USD")
    makeup = october.records.makeup.content
    assert texts(makeup, "made of") == ["btc", "usdt"]
    assert texts(makeup, "without a USD value") == ["1", "1"]
    october.records.makeup.press(0, 0)
    assert "USD gross sales, btc: " in october.records.head.value


def test_records_are_found_by_any_part_of_what_is_shown_of_them(october):
    """A receipt number, a reference, a customer, an amount, a time, a rounded USD value.

    Among all records behind the figure, not among those of the page.
    """
    press_figure(october, "Net movement, btc")
    for text in ("SVC-000003", "ORDER-3", "c-3", "9.9", "2026-10-06 08:00Z", "1,000.13"):
        october.records.find.value = text
        assert texts(october.records.table.content, "Order reference") == ["order-3"], text
        assert october.records.table.content["foot"][0]["text"] == "Total found"
    october.records.find.value = "order-4"
    assert "no record" in october.records._count.value


def test_the_records_found_are_saved_as_csv(october):
    """All of them, every digit, with what each adds; the browser writes the file."""
    press_figure(october, "Net movement, btc")
    sent: list[dict[str, str]] = []
    october.records.table.box.send = sent.append
    october.records.csv.click()
    [saved] = sent
    rows = [*csv.DictReader(StringIO(saved["text"]))]
    assert saved["name"] == "net-movement-btc-2026-10.csv" and len(rows) == 4
    assert sum(Decimal(row["contribution"]) for row in rows) == Decimal("11.12")


def test_a_person_who_is_done_before_the_comparison_gave_way_stops_nothing(desk):
    """The comparison that was asked to give way is made later; its thread does not die of it."""
    desk.serve(LEDGER)
    desk.extract()
    months = svc.desk(desk.lake)._months
    months._is_asked.set()
    assert months.judge_next() is True


@pytest.mark.parametrize(
    ("figure", "worths"),
    [("refunds_debited", [-1]), ("usd_refunds", [-1]), ("rail_movement", [10, -1, -2])],
)
def test_the_worth_of_what_leaves_the_wallet_has_a_minus_too(desk, figure, worths):
    """A payment of 10 USD, of which 1 was refunded, and a payout of 2."""
    paid = payment(1, "2026-10-05T08:00:00Z", "10", "0")
    desk.service.payments = [paid]
    desk.service.payouts = [
        refund(2, paid, "2026-10-06T08:00:00Z", "1"),
        payout(3, "2026-10-07T08:00:00Z", "2"),
    ]
    desk.extract()
    records = MonthRecords(desk.lake, month(OCTOBER))
    rows = records.behind(Wanted(figure, "usdt")).table
    assert sorted(rows["usd_value"].to_pylist()) == sorted(map(Decimal, worths))
    records.close()


def test_records_are_read_a_page_at_a_time(desk):
    """The first twenty, then the rest; how many there are is counted over all."""
    desk.service.payments = [
        payment(n, f"2026-10-05T08:{n:02}:00Z", str(n), "0.01", currency="btc")
        for n in range(1, 26)
    ]
    desk.extract()
    records = MonthRecords(desk.lake, month(OCTOBER))
    wanted = Wanted("gross_sales", "btc")
    first, last = (records.behind(wanted, View(skipped=n)) for n in (0, 20))
    assert (len(first.table), len(last.table), first.count) == (20, 5, 25)
    assert last.table["amount"].to_pylist()[-1] == Decimal(25)
    records.close()


def in_persian(lake: Lakehouse, settings: Settings) -> Panel:
    return Panel(svc.desk(lake, settings=settings, lang="fa", digits="fa")._months, lambda: None)


def test_the_desk_is_in_persian_where_it_is_chosen(opened, served):
    """Months have their names, numbers Persian digits; of English there are ids, coins and forms.

    A number that is typed in Persian digits is found.
    """
    panel = in_persian(opened._months.lake, served)
    assert panel.months.tiles[OCTOBER].description.startswith("اکتبر \u2066۲۰۲۶")
    assert panel.closing.close.description == "بستن سپتامبر"
    panel.figures.table.press(1, 1)
    panel.records.find.value = "۲٫۹۷"
    assert "۱ تا ۱ از ۱ رکورد" in seen(panel.records._count.value)
    panel.records.table.press(0, 0)
    known = {*english(panel)} - {"btc", "UTC", "SQL", "CSV", "PDF", "Shop", "cart"}
    known -= {"Run", "All", "Cells"}  # as JupyterLab's menu says it
    assert known == set()


@pytest.mark.usefixtures("kept")
def test_what_a_close_does_and_brings_is_told_in_persian(opened, served, monkeypatch):
    """Its steps, its outcome, what the service's address lacks, and how a seal is broken."""
    panel, told = in_persian(opened._months.lake, served), list[str]()
    monkeypatch.setattr(panel.closing, "note", told.append)
    outcome = seen(press_close(panel))
    assert "مهر شد، نسخهٔ ۱" in outcome and not re.findall(r"(?<![\w/])[a-z]{3,}(?![\w/])", outcome)
    words = panel._desk.looks.language
    assert len(told) > 4 and [text for text in told if text and not words.translation(text)] == []
    panel._desk._settings = replace(served, base_url="")
    panel.closing.check.click()
    assert seen(panel.closing.outcome.value).startswith("SVC_BASE_URL تنظیم نشده است")
    (opened._months.lake.path / "statements/2026-09/summary.csv").write_text("altered")
    panel.handover.buttons["zip"].click()
    assert "بسته‌بندی نشد: summary.csv با مهر نمی‌خواند؛" in seen(panel.handover.message.value)


def test_an_error_that_is_english_says_in_persian_of_which_kind_it_is():
    """Its own words stand behind, from left to right; one that we raise nowhere did not work."""
    looks = Looks(Language("fa"))
    behind = '<bdi dir="ltr">502 from the service</bdi></div>'
    assert looks.error(Unavailable("502 from the service")).endswith(behind)
    assert "سرویس پاسخ نداد" in looks.error(Unavailable("502 from the service"))
    assert "انجام نشد: " in seen(looks.error(OSError("disk")))
    assert Looks().sentence(Unavailable("502 from the service")) == "502 from the service"


@pytest.mark.thorough
def test_a_month_is_closed_and_handed_over_in_persian(opened, served):
    """The page that a Persian desk opens is Persian, too."""
    panel = in_persian(opened._months.lake, served)
    assert "سپتامبر ۲۰۲۶ مهر شد" in seen(press_close(panel))
    panel.handover.buttons["html"].click()
    page = opened._months.lake.path / "statements/2026-09-forms/statement.html"
    assert '<html lang="fa" dir="rtl">' in page.read_text("utf-8")


def seen(html: str) -> str:
    """What is seen of HTML: no tags, no SQL, no marks of direction."""
    shown = re.sub("<pre>.*?</pre>|<style>.*?</style>|<[^>]+>", "", html, flags=re.DOTALL)
    return re.sub("[\u2066\u2069]", "", shown)


def english(panel: Panel) -> Iterator[str]:
    """Yield the English words of everything that the desk shows; an id has digits in it."""
    yield from english_of(panel.box)


def english_of(box: Any) -> Iterator[str]:
    for widget in parts(box):
        names = ("description", "tooltip", "placeholder", "content")
        shown = [getattr(widget, name, "") for name in names]
        shown += [widget.value] if hasattr(widget, "placeholder") else []
        for text in map(seen, strings(shown)):
            yield from re.findall(r"(?<![\w/-])[A-Za-z]{3,}(?![\w/-])", text)


def strings(value: Any) -> Iterator[str]:
    """Yield the texts of lists and of what dictionaries hold."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings([each for name, each in value.items() if name not in ("dir", "order")])
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def parts(box: Any) -> Iterator[Any]:
    """Yield a widget and all within it."""
    yield box
    for part in getattr(box, "children", ()):
        yield from parts(part)


def test_a_month_behind_an_older_one_says_which_to_close_first(october):
    assert "Close September 2026 first" in october.closing.later.value


@pytest.mark.thorough
def test_a_month_that_is_closed_before_an_older_one_is_told_so(panel):
    """In the words of the command: the seals of the two are not chained."""
    panel.months.tiles[OCTOBER].click()
    press_close(panel)
    panel.months.tiles["2026-09"].click()
    assert "2026-10 was closed before" in press_close(panel)


def test_a_missing_key_is_one_line_when_the_button_is_pressed(opened):
    """Everything else needs no key."""
    panel = Panel(svc.desk(opened._months.lake)._months, lambda: None)
    panel.closing.close.click()
    assert panel.closing.run is None and not panel.closing.close.disabled
    assert "SVC_BASE_URL is not set: give the service&#x27;s address" in panel.closing.outcome.value


@pytest.mark.thorough
def test_a_month_that_is_chosen_during_a_close_is_shown_after_it(service, panel):
    """A line says so at once."""
    asked, on = Event(), Event()
    _hold(service, asked, on)
    panel.closing.close.click()
    run = panel.closing.run
    assert run is not None and asked.wait(20)
    panel.months.tiles[OCTOBER].click()
    assert "October 2026 is shown when the close is over" in panel.closing.later.value
    on.set()
    run.wait(60)
    assert panel.closing.close.description == "Close October" and not panel.closing.later.value
    assert "October 2026" in panel.figures.head.value and states(panel)["2026-09"] == "sealed"


def _hold(service: FakeService, asked: Event, on: Event) -> None:
    """Let the service say that it was asked, and answer when it may."""
    handle = service.handle

    def slow(request: Any) -> Any:
        asked.set()
        on.wait(20)
        return handle(request)

    service.handle = slow  # type: ignore[method-assign]


def test_a_close_is_stopped_at_a_page_and_while_the_service_is_away(service, panel, opened):
    """Long before the patience with the service ends; nothing is sealed, and it can begin again.

    Of what an interruption leaves, the tests of `extraction` and `test_kills` tell.
    """

    def refuse(_: object) -> Any:
        asked.set()
        return refusal(503)

    for is_away in (False, True):
        asked, on = Event(), Event()
        if is_away:
            service.handle = refuse  # type: ignore[method-assign]
        else:
            _hold(service, asked, on)
        panel.closing.close.click()
        run = panel.closing.run
        assert run is not None and asked.wait(20) and panel.closing.close.disabled
        panel.closing.stop.click()
        on.set()
        run.wait(30)
        assert STOPPED in panel.closing.outcome.value and not opened._months.tile.versions
        assert not panel.closing.close.disabled


@pytest.mark.thorough
def test_a_second_desk_sees_what_the_first_has_closed(panel, opened, served):
    """It closes the same month without harm: it is sealed once."""
    other = Panel(svc.desk(opened._months.lake, settings=served)._months, lambda: None)
    assert "September 2026 is sealed, version 1" in press_close(panel)
    other.closing.again.click()
    assert states(other)["2026-09"] == "sealed"
    assert "was checked: the records still give what was sealed" in press_close(other)
    assert len(opened._months.tile.versions) == 1


def test_the_page_reads_without_a_kernel(opened):
    """Months, figures and their status, as HTML and as text; its checks agree."""
    page = opened._repr_html_()
    for text in (
        "October 2026",
        "not closed",
        "can be closed from 2 Dec 2026",
        "Sales less fees and refunds",
    ):
        assert text in page and text in repr(opened)
    assert "all agree" in opened.check(net_sales="daily.net_sales")


@pytest.mark.usefixtures("kept")
def test_a_desk_without_its_widgets_says_what_to_install(opened, monkeypatch):
    """In a running notebook; it can still be read."""
    shown: list[Any] = []
    monkeypatch.setattr(panel_module, "display", lambda each, **_: shown.append(each))
    monkeypatch.setattr(panel_module, "ipython_shell", lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    opened._ipython_display_()
    (page,) = map(repr, shown)
    assert f"need ipywidgets and anywidget: {install('lab')}" in page
    assert "October 2026" in page


def test_an_empty_folder_is_told_at_once(lake):
    """As everywhere else."""
    with pytest.raises(NoLake):
        svc.desk(lake)
    with pytest.raises(ConfigError, match="settings"):
        svc.desk(lake, settings="x")  # type: ignore[arg-type]


def test_each_state_has_a_sign_of_its_own():
    """Not by colour alone."""
    assert len({*SIGNS.values()}) == len(SIGNS) == 6


@pytest.mark.usefixtures("kept")
def test_a_month_that_is_chosen_does_not_wait_for_others(panel, monkeypatch):
    """The comparison of another month gives way at once, and is made afterwards."""
    panel.judging.wait(60)
    begun, over = Event(), Event()
    compared, known = month_states.judged, desk_months.is_judged

    def long(*asked: Any) -> MonthState:
        begun.set()
        while not over.is_set():
            check_stop()
        return compared(*asked)

    monkeypatch.setattr(desk_months, "is_judged", lambda *_: False)
    monkeypatch.setattr(desk_months, "judged", long)
    panel._desk.refresh()
    panel.judging.start()
    assert begun.wait(20)
    panel.months.tiles[OCTOBER].click()
    monkeypatch.setattr(desk_months, "is_judged", known)
    over.set()
    assert "October 2026" in panel.figures.head.value
    assert states(panel)[OCTOBER] == "not closed"


# ---------- Does it agree?


def drop(panel: Panel, *rows: str, name: str = "orders.csv") -> None:
    """Drop a list, which comes in two parts."""
    text = "\n".join(["Order ID,Date,Status,Currency,Total", *rows]).encode()
    for at, part in ((0, text[:9]), (9, text[9:])):
        panel.match._receive({"name": name, "at": at, "size": len(text)}, [memoryview(part)])


def open_rows(panel: Panel) -> list[list[str]]:
    return [
        [cell["text"] for cell in row["cells"]] for row in panel.match.table.content.get("rows", [])
    ]


def october_orders(panel: Panel) -> list[str]:
    """A list that says what the payments of October say, and where they are chosen."""
    panel.months.tiles[OCTOBER].click()
    found = panel._desk.lake.sql("select * from payments where month = '2026-10'")
    return [
        f"{each.receipt_no},2026-10-05,paid,{each.currency},{each.amount.normalize():f}"
        for each in found.itertuples()
    ]


def test_a_list_that_is_dropped_says_what_agrees_and_what_is_open(panel):
    """Of three payments one is ordered with more, and an order was not paid; each is one row."""
    rows = october_orders(panel)
    drop(panel, *rows)
    assert "Nothing is open: it agrees." in seen(panel.match.message.value)
    assert "both agree" in seen(panel.match.summary.value) and open_rows(panel) == []
    drop(panel, *rows[:-1], rows[-1] + "1", "A-7,2026-10-06,paid,usdt,48.25")
    assert "2 rows are open" in seen(panel.match.message.value)
    assert [row[0] for row in open_rows(panel)] == [  # first what both sides have
        "less was paid than ordered",
        "no payment for a paid order",
    ]
    assert open_rows(panel)[1][1:] == ["A-7", "48.25 usdt", "", ""]


def test_a_row_opens_its_record_and_is_known_by_a_sentence(panel):
    rows = october_orders(panel)
    drop(panel, *rows[:-1], "A-7,2026-10-06,paid,usdt,48.25")
    assert panel.match.record.disabled  # the first row is theirs alone
    panel.match.table.press(1, 0)
    panel.match.record.click()  # of the second row, a payment without an order
    assert rows[-1].split(",")[0] in panel.records.record.value
    panel.match.table.press(0, 0)
    panel.match.know.click()
    assert "there is no reason" in seen(panel.match.message.value)
    panel.match.reason.value, panel.match.name.value = "paid in cash", "Mina"
    panel.match.know.click()
    assert "1 row is open" in seen(panel.match.message.value) and panel.match.reason.value == ""
    assert "paid in cash,Mina," in (panel._desk.lake.path / "matches.csv").read_text()
    panel.match.save.click()
    assert (panel._desk.lake.path / "matches/2026-10/orders/match.json").exists()


def test_open_rows_are_read_a_page_at_a_time_and_go_with_their_month(panel):
    rows = october_orders(panel)
    drop(panel, *rows, *(f"A-{n},2026-10-06,paid,usdt,1" for n in range(45)))
    assert "rows 1 to 20 of 45" in seen(panel.match.count.value) and panel.match.back.disabled
    panel.match.table.turn(1)
    panel.match.on.click()
    assert "rows 41 to 45 of 45" in seen(panel.match.count.value) and panel.match.on.disabled
    assert len(open_rows(panel)) == 5
    panel.months.tiles["2026-09"].click()
    assert open_rows(panel) == [] and panel.match.message.value == panel.match.summary.value == ""


def test_a_list_that_cannot_be_read_is_one_line_and_another_kind_is_tried_at_once(panel):
    october_orders(panel)
    drop(panel, "A-7,2026-11-06,paid,usdt,1")
    assert "has no row of 2026-10" in seen(panel.match.message.value)
    panel.match.kind.value = "payouts"
    assert "orders.csv" in seen(panel.match.message.value) and open_rows(panel) == []


def test_the_box_is_in_persian(opened, served):
    panel = in_persian(opened._months.lake, served)
    rows = october_orders(panel)
    drop(panel, *rows[:-1], "A-7,2026-10-06,paid,usdt,48.25")
    assert "۲ سطر باز است" in seen(panel.match.message.value)
    names = {each.title for each in PRESETS.values()} | {"usdt", "btc"}
    assert {*english_of(panel.match.box)} <= {word for name in names for word in name.split()}
