"""A wrong argument of a public name: one line that says what was given and what is wanted."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest

import svc_analytics as svc
from svc_analytics.arguments import as_instant
from svc_analytics.errors import ConfigError

ORDER = pd.DataFrame({"order": ["o-1"], "amount": [5], "currency": ["btc"]})
MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda _: svc.open_lake(3), "data_dir is the number 3: give a path"),
    (lambda _: svc.statement("data", "2026-10"), "lake is the text 'data': give an open lake"),
    (lambda _: svc.close(3, "2026-10"), "lake is the number 3"),
    (lambda _: svc.extract("data"), "lake is the text 'data'"),
    (lambda lake: lake.sql(3), "query is the number 3: give a query as text"),
    (lambda lake: lake.sql("from coverage", 3), "parameters is the number 3: give a dict"),
    (
        lambda lake: svc.statement(lake, "2026-10", zone=3.5),
        "zone is the number 3.5: give the name of a zone as text",
    ),
    (
        lambda lake: svc.statement(lake, "2026-10", calendar=["jalali"]),
        'calendar is a list: give "gregorian" or "jalali"',
    ),
    (
        lambda lake: svc.statement(lake, "2026-10", as_of=1.5),
        "as_of is the number 1.5: give a datetime with a zone, text such as",
    ),
    (
        lambda lake: svc.statement(lake, "2026-10", metadata="cart"),
        "metadata is the text 'cart': give a list, such as",
    ),
    (
        lambda lake: svc.close(lake, "2026-10", formats="csv"),
        "formats is the text 'csv': give a list, such as",
    ),
    (lambda _: svc.show(5), "the table is the number 5: give a frame"),
    (lambda _: svc.search([1]), "the table is a list: give a frame"),
    (lambda _: svc.verify_statement(2), "folder is the number 2: give a path"),
    (lambda _: svc.diff_statements("a", None), "b is None: give a path"),
    (lambda _: svc.verify_receipts(5, "s"), "tokens is the number 5: give a path"),
    (lambda _: svc.verify_receipts([], 5), "secrets are texts .*, not int"),
    (lambda _: svc.verify_webhooks(5), "path_or_lines is the number 5: give a path"),
    (
        lambda _: svc.verify_webhook("{}", "t=1,v1=a", "s", 0),
        "body is the text '{}': give the raw body as bytes",
    ),
    (
        lambda _: svc.verify_webhook(b"{}", 5, "s", 0),
        "header is the number 5: give the x-pay-signature header as text",
    ),
    (
        lambda lake: svc.statement(lake, 202610),
        'month is the number 202610: give it as text in quotes, such as "2026-10"',
    ),
    (lambda _: svc.Client("data"), "settings is the text 'data': give what svc.read_set"),
    (lambda _: svc.demo_lake(months="3"), "months is the text '3'"),
    (lambda lake: svc.example_receipts(lake, 1), "secret is the number 1"),
    (lambda _: svc.restore(3), "the target of the backup is the number 3"),
    (lambda _: svc.pick("data"), "lake is the text 'data'"),
    (lambda lake: svc.draw("position", lake), "chart is the text 'position'"),
    (lambda lake: lake.explain("2026-10", None, "net_sales"), "currency is None: give the slug"),
    (lambda lake: lake.explain("2026-10", "btc", ["net_sales"]), "figure is a list: give the name"),
    (lambda lake: svc.statement(lake, "2026-10", zone=pd.NA), "zone is missing: give the name"),
    (lambda lake: svc.statement(lake, "2026-10", calendar=pd.NA), "calendar is missing: give"),
    (lambda lake: svc.compare(lake, pd.NA), "a month is missing: give it as text"),
    (lambda lake: svc.match(lake, "orders", ORDER, month=pd.NA), "month is missing: give it"),
    (lambda lake: svc.pick(lake, pd.NA), "start is missing: give a month as text"),
    (lambda lake: svc.pick(lake, parts=pd.NA), "parts is missing: give a function, or one of"),
    (lambda lake: lake.months("payments"), "stream is the text 'payments': give one of"),
    (lambda _: svc.show(ORDER, exact=pd.NA), "exact is missing: give True or False"),
    (lambda _: svc.show(ORDER, only=pd.NA), "what to show is missing: give a list"),
    (lambda _: svc.search(ORDER, why=pd.NA), "why is missing: give it as text"),
    (lambda lake: svc.close(lake, "2026-10", out=3), "out is the number 3: give a path"),
    (lambda lake: svc.desk(lake, lang=pd.NA), "lang is missing: give the code of a language"),
    (lambda _: svc.Request(end="2026-10-01"), "end is the text '2026-10-01': give UTC micro"),
    (lambda _: svc.Request(streams=["refunds"]), "there is no stream 'refunds': payments and"),
    (lambda lake: svc.extract(lake, workers="8"), "workers is the text '8': give how many"),
    (lambda _: svc.diff_statements("a\0b", "c"), "a holds letters that no path can have"),
    (lambda _: svc.verify_receipts([], "\udcff"), "a secret holds bytes that are no UTF-8 text"),
    (lambda lake: svc.accept(lake, 1, "x", reason="r", by="b"), "rule is the number 1"),
    (lambda lake: svc.accept(lake, "x", None, reason="r", by="b"), "record is None: give it as"),
    (lambda lake: svc.match(lake, "orders", ORDER, month="2026-10", window=-1), "window is a num"),
    (lambda lake: svc.backup(lake, "there", keep="3"), "keep is the text '3': give how many of"),
    (lambda lake: svc.backup(lake, "there", keep=-1), "keep is how many of .*: one or more"),
    (lambda _: svc.verify_receipts(ORDER, "s", column="order", keep=1), "keep is the number 1"),
    (lambda _: svc.verify_receipts([], [b"whsec-of-a-shop"]), "^(?!.*whsec)"),  # nor is it shown
    (lambda _: svc.show(ORDER, 1), "title is the number 1: give it as text"),
    (lambda _: svc.show(ORDER, most="5"), "most is the text '5': give a whole number of rows"),
    (lambda _: svc.show(ORDER, coins=["btc"]), "coins is for a statement"),
    (lambda _: svc.show(pd.concat([ORDER, ORDER], axis=1)), "two columns are called 'order'"),
    (lambda _: svc.search(ORDER.T), "the column 0 holds values that do not go together"),
    (lambda _: svc.show(pd.DataFrame({"x": [10**40]})), "the column 'x' holds .* too large a one"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_wrong_type_is_one_line(call, message, lake):
    """It names the argument, what was given, what is wanted; nothing is read or written."""
    with pytest.raises(ConfigError, match=message) as refused:
        call(lake)
    assert "\n" not in str(refused.value)


MIDNIGHT = 1_793_491_200_000_000  # 2026-11-01T00:00:00Z


@pytest.mark.parametrize(
    "given",
    [
        MIDNIGHT,
        "2026-11-01",
        "2026-11-01T03:30:00+03:30",
        datetime(2026, 11, 1, tzinfo=UTC),
        datetime(2026, 11, 1, 3, 30, tzinfo=timezone(timedelta(hours=3, minutes=30))),
    ],
    ids=["microseconds", "date", "text", "datetime", "datetime of Tehran"],
)
def test_an_instant_is_taken_as_people_write_it(given):
    """Midnight of the first of November in UTC, each time."""
    assert as_instant("as_of", given) == MIDNIGHT


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (datetime(2026, 11, 1), "as_of is a datetime without a zone"),
        ("1 November", "'1 November' is not a date or an instant"),
        (MIDNIGHT * 1000, "as_of is the number 1793491200000000000, of no year"),
        (True, "as_of is True"),
    ],
    ids=["no zone", "words", "nanoseconds", "a flag"],
)
def test_an_instant_that_could_be_another_is_refused(given, message):
    """A time of no zone, another unit, or no time at all."""
    with pytest.raises(ConfigError, match=message):
        as_instant("as_of", given)


def test_a_missing_file_of_tokens_is_named_before_a_missing_secret():
    """The nearest thing to mend comes first."""
    with pytest.raises(ConfigError, match=r"nofile\.csv"):
        svc.verify_receipts("nofile.csv")
    with pytest.raises(ConfigError, match="SVC_RECEIPT_SECRETS is not set"):
        svc.verify_receipts(["v1.a.b"])


def test_a_column_of_periods_is_shown_as_periods():
    """Not as the number by which pandas stores one."""
    shown = svc.show(pd.DataFrame({"month": [pd.Period("2026-10")]}))
    assert "2026-10" in repr(shown)
