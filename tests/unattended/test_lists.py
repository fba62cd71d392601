"""Lists that the settings name: matched after a close, and each open row told once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.unattended import run_notices
from tests.support.mail import PostOffice

CLOSE = ("close", "--all-due")
MONTHS = ("2026-08", "2026-09", "2026-10")
HEAD = "Order ID,Date,Status,Currency,Total\n"
Write = Callable[..., None]


@pytest.fixture
def write(closer, monkeypatch) -> Write:
    """Write the shop's orders of October: the one that was paid, and others that were not."""
    monkeypatch.setenv("SVC_MATCH", "orders=orders-{month}.csv")
    closer.closed(*MONTHS)
    [paid] = [each for each in closer.desk.service.payments if "2026-10" in each["paid_at"]]

    def write(*unpaid: str) -> None:
        rows = [f"{name},2026-10-05,paid,usdt,7\n" for name in unpaid]
        first = f"{paid['id']},2026-10-05,paid,usdt,{paid['amount']}\n"
        Path("orders-2026-10.csv").write_text(HEAD + first + "".join(rows))

    return write


@pytest.fixture
def told(office, monkeypatch) -> PostOffice:
    monkeypatch.setenv("SVC_NOTIFY", f"{office.web}/hook")
    monkeypatch.setattr(run_notices, "readable_forms", lambda: ("json",))
    return office


def heard(office: PostOffice) -> list[tuple[str, list[str]]]:
    """The events, each with its lines but for the last, which says what to do."""
    return [(each["event"], each["lines"][:-1]) for each in office.documents()]


def line(name: str) -> str:
    return f"no payment for a paid order: theirs {name} 7 usdt"


def test_each_open_row_is_told_once_and_a_new_one_when_it_comes(call, write, told):
    """Two are open: one message. The same again: none. One more: that one alone; then none is."""
    write("A-1", "A-2")
    done = call(*CLOSE)
    assert done.code == 0 and "2026-10, orders: 2 open rows, saved in " in done.err
    assert heard(told) == [("open", [line("A-1"), line("A-2")])]
    assert Path("data/matches/2026-10/orders/match.json").exists()
    assert call(*CLOSE).code == 0 and heard(told) == []
    write("A-2", "A-3")
    assert call(*CLOSE).code == 0 and heard(told) == [("open", [line("A-3")])]
    write()
    assert call(*CLOSE).code == 0 and heard(told) == [("well", [])]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("orders=none.csv", "2026-10, orders: not matched: cannot read "),
        ("order=a.csv", "SVC_MATCH has 'order=a.csv': write orders=FILE, payouts=FILE or "),
        ("books=a.csv", "SVC_MATCH has 'books=a.csv': write orders=FILE"),
        ("orders-xero=a.csv", "SVC_MATCH has 'orders-xero=a.csv': write orders=FILE"),
        ("orders", "SVC_MATCH has 'orders': write orders=FILE"),
    ],
)
def test_what_cannot_be_matched_is_one_line_and_the_close_is_as_it_was(
    call, write, told, monkeypatch, setting, says
):
    monkeypatch.setenv("SVC_MATCH", setting)
    done = call(*CLOSE)
    assert done.code == 0 and done.err.count(says) == 1
    assert [event for event, _ in heard(told)] == ["unmatched"]
    assert call(*CLOSE).code == 0 and heard(told) == []


def test_rows_that_were_open_are_not_settled_by_a_file_that_is_gone(call, write, told):
    """It is told that they could not be matched, not that all is well; nor are they told again."""
    write("A-1")
    call(*CLOSE)
    heard(told)
    Path("orders-2026-10.csv").rename("aside.csv")
    assert call(*CLOSE).code == 0 and [event for event, _ in heard(told)] == ["unmatched"]
    Path("aside.csv").rename("orders-2026-10.csv")
    assert call(*CLOSE).code == 0 and heard(told) == []


def test_a_fault_of_the_matcher_does_not_undo_the_close(call, write, told, monkeypatch):
    def match(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("svc_analytics.matching.match.match", match)
    done = call(*CLOSE)
    assert done.code == 0 and "2026-10, orders: not matched: out of order" in done.err
