# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""`statement --explain`: little for the eye, everything in a form that is asked for."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics.cli.explanations import explanation_text
from tests.cli.test_cli import connected, extracted, filled, running
from tests.support.desks import Run

WORDS = ("statement", "--month", "2026-10", "--explain", "net_settlement", "--currency", "usdt")


def test_a_person_sees_twenty_records_that_fit(filled, run, monkeypatch):
    """What matters first, no line wider than the terminal, and how to get the rest."""
    monkeypatch.setenv("COLUMNS", "90")
    found = svc.open_lake("data").sql(
        "select count(*) as n from ledger_entries "
        "where month = '2026-10' and currency = 'usdt' and kind <> 'payout'"
    )
    out = run(*WORDS).out
    assert found["n"][0] > 20 and f"the first 20 of {found['n'][0]} records" in out
    table = out[out.index("\noccurred_at") + 1 :]
    assert table.split()[:4] == ["occurred_at", "kind", "contribution", "order_reference"]
    assert len(table[: table.index("\n\n")].splitlines()) == 22
    assert max(map(len, table.splitlines())) <= 90
    assert " columns not shown: " in out and "add --csv, --json, or --out FILE" in out


@pytest.mark.thorough
def test_every_form_has_every_record(filled, run):
    """They add up to the figure, whichever is read."""
    value = svc.open_lake("data").explain("2026-10", "usdt", "net_settlement").value
    document = json.loads(run(*WORDS, "--json").out)
    printed = list(csv.DictReader(io.StringIO(run(*WORDS, "--csv").out)))
    assert run(*WORDS, "--out", "records.parquet").out == ""
    written = pq.read_table("records.parquet").to_pylist()
    for rows in (document["rows"], printed, written):
        assert sum(Decimal(row["net"]) for row in rows) == value
    assert Decimal(document["value"]) == value


@pytest.mark.thorough
@pytest.mark.parametrize("figure", ["payments_count", "fee_leakage", "refunds_paid", "net_sales"])
def test_the_columns_of_every_figure_fit(filled, monkeypatch, figure):
    """However many its records have; when and how much come first."""
    monkeypatch.setenv("COLUMNS", "100")
    text = explanation_text(svc.open_lake("data").explain("2026-10", "usdt", figure))
    table = text[text.rindex("\n\n", 0, text.index("\n-")) :]
    assert max(map(len, table.splitlines())) <= 100
    assert table.split()[0] in ("paid_at", "settled_at", "occurred_at", "incurred_at")


def test_a_balance_that_nobody_asserted_is_told_so(filled, run):
    """Not as something that was not read."""
    words = [*WORDS]
    words[4] = "outside_movement"
    out = run(*words).out
    assert "nobody asserted a balance: write one into assertions.csv" in out and "0 records" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--explain", "net_sales"), "give --explain FIGURE and --currency C together"),
        (("--csv",), "give --explain FIGURE and --currency C together"),
        (("--explain", "net_sales", "--currency", "usdt", "--out", "x.txt"), ".csv, .parquet"),
    ],
)
def test_options_that_do_not_fit_are_refused(filled, run, words, said):
    """In one line, with exit code 2."""
    done = run("statement", "--month", "2026-10", *words)
    assert done.code == 2 and said in done.err and len(done.lines) == 1
