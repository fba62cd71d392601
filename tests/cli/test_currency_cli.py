"""`statement --in` and `close --in`: a second figure beside USD, by rates of the user's own."""

from pathlib import Path

import pytest

from tests.support.prepared import extracted

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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--in", "EUR"), "only xlsx, html, pdf show another currency"),
        (("--rates", "rates.csv"), "name it too, with --in EUR"),
    ],
)
def test_what_cannot_be_shown_is_refused(lake, run, words, told):
    """Before a file is written."""
    done = run("statement", "2026-10", *words)
    assert done.code == 2 and told in done.err
    assert not (lake / "statements").exists()


def test_all_months_that_are_due_take_no_currency(lake, run, monkeypatch):
    """A day without a rate in one of them would keep the others from being closed."""
    monkeypatch.setenv("SVC_BASE_URL", "https://pay.example")
    monkeypatch.setenv("SVC_CHECKOUT_KEY", f"svc_live_{'0' * 64}")
    done = run("close", "--all-due", "--format", "html", "--in", "EUR")
    assert done.code == 2 and "--in goes with one period" in done.err
