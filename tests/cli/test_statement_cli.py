"""`statement`: printed and written, in another currency too, and a figure explained."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics.cli.commands.figures import explanation_text
from tests.support.prepared import extracted


def test_a_statement_is_printed_and_written(filled, run):
    """One figure a line, one currency a column; files where the last line says."""
    done = run("statement", "--month", "2026-10")
    assert done.code == 0 and "status: not closed" in done.out
    assert "Sales less fees and refunds" in done.out
    assert (filled / "statements" / "2026-10" / "summary.csv").exists()


def test_named_metadata_is_written_and_a_misspelt_name_is_told(filled, run):
    """Whoever misspells a property sees so, before the empty column is passed on.

    In JSON, beside the manifest, decimals are text, so that no reader turns them into floats.
    """
    words = ("--metadata", "cart, crat", "--format", "csv, json", "--json")
    done = run("statement", "--month", "2026-10", *words)
    head = (filled / "statements" / "2026-10" / "lines.csv").read_text().splitlines()[0]
    assert "comment,metadata.cart,metadata.crat,receipt_verdict" in head
    assert "metadata.crat is empty in every line" in done.err and "metadata.cart " not in done.err
    assert (filled / "statements" / "2026-10" / "statement.json").exists()
    document = json.loads(done.out)
    assert document["label"] == "2026-10" and document["status"] == "final"
    assert isinstance(document["summary"][0]["net_sales"], str)


def test_names_may_be_given_with_commas_or_each_by_an_option_of_its_own(filled, run, monkeypatch):
    """The last --format alone had counted; a variable holds them in one text, blanks and all."""
    monkeypatch.setenv("SVC_STATEMENT_METADATA", 'cart, "city, street"')
    words = ("--format", "csv", "--format", "json,parquet")
    done = run("statement", "--month", "2026-10", *words)
    folder = filled / "statements" / "2026-10"
    assert {".csv", ".json", ".parquet"} <= {path.suffix for path in folder.iterdir()}
    assert "metadata.city, street is empty" in done.err and "metadata.cart " not in done.err


def test_out_must_be_a_folder_of_its_own(filled, run, tmp_path):
    """A folder with somebody's files is refused, and kept."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    done = run("statement", "--month", "2026-10", "--out", str(tmp_path / "mine"))
    assert done.code == 1 and "not a statement" in done.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


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
    table, _, sql = out[out.index("\noccurred_at") + 1 :].partition("\n\nwith records")
    assert table.split()[:4] == ["occurred_at", "kind", "contribution", "order_reference"]
    assert len(table[: table.index("\n\n")].splitlines()) == 22
    assert max(map(len, table.splitlines())) <= 90
    assert "select" in sql and "select" not in out[: out.index(table)]  # behind the records
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
    table = text[text.rindex("\n\n", 0, text.index("\n-")) :].strip().partition("\n\n")[0]
    assert max(map(len, table.splitlines())) <= 100
    assert table.split()[0] in ("paid_at", "settled_at", "occurred_at", "incurred_at")


def test_a_balance_that_nobody_asserted_is_told_so(filled, run):
    """Not as something that was not read."""
    words = [*WORDS]
    words[4] = "outside_movement"
    out = run(*words).out
    assert "a balance in the period: write one into assertions.csv" in out and "0 records" in out


# ---------- `--in`: a second figure beside USD, by rates of the user's own


LEDGER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  usdt      100     1     2026-10-05T08:00      100
"""
RATES = "date,currency,rate,source\n2026-10-05,EUR,0.9,ECB\n2026-10-31,EUR,0.6,ECB\n"


@pytest.fixture
def lake(desk) -> Path:
    """A lake with a payment of 100 USD."""
    desk.serve(LEDGER)
    return extracted(desk).lake.path


@pytest.mark.usefixtures("kept")
def test_a_statement_is_shown_in_eur_by_the_file_that_counts(lake, run, tmp_path, monkeypatch):
    """100 USD less a hundredth: the option counts before SVC_RATES, and that before the lake's."""
    files = {"0.9": lake / "rates.csv", "0.8": tmp_path / "set.csv", "0.7": tmp_path / "given.csv"}
    for rate, file in files.items():
        file.write_text(RATES.replace("0.9", rate))
    words = ("statement", "2026-10", "--format", "html", "--in", "eur")
    page = lake / "statements" / "2026-10" / "statement.html"
    run(*words)
    assert "89.10</b> EUR, external rates" in page.read_text()
    monkeypatch.setenv("SVC_RATES", str(files["0.8"]))
    run(*words)
    assert "79.20</b> EUR" in page.read_text()
    run(*words, "--rates", str(files["0.7"]))
    assert "69.30</b> EUR" in page.read_text()
