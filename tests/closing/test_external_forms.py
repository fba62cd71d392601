"""Forms of a sealed month in another currency: beside its seal, with the rates they rest on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.errors import ConfigError
from tests.closing.test_derived_forms import content
from tests.support.closings import Closer

LEDGER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  usdt      200     2     2026-09-10T09:00      200
 payment  usdt      100     1     2026-10-05T08:00      100
 refund   usdt      40            2026-10-07T08:00  2   40
"""
RATES = """date,currency,rate,source
2026-09-30,EUR,0.8,ECB
2026-10-05,EUR,0.9,ECB
2026-10-07,EUR,0.7,ECB
2026-10-31,EUR,0.6,ECB
2026-09-30,IRT,100000,Bonbast
2026-10-05,IRT,110000,Bonbast
2026-10-07,IRT,120000,Bonbast
2026-10-31,IRT,130000,Bonbast
"""
HTML = {"formats": ("html",)}
EUR = {**HTML, "currency": "EUR"}


@pytest.fixture
def closer(closer) -> Closer:
    """A desk whose lake has a rate file, and whose records have values in USD."""
    closer.serve(LEDGER)
    return closer


@pytest.fixture
def sealed(closer) -> Path:
    """The sealed October, in tables alone."""
    folder = closer.sealed()
    write(closer, RATES)
    return folder


def write(closer: Closer, rates: str) -> None:
    (closer.desk.lake.path / "rates.csv").write_text(rates)


def test_forms_in_another_currency_lie_beside_the_seal(closer, sealed):
    """No byte of the seal changes, and a verification makes them again of their own rates.

    The same rates leave them as they are; one that was corrected makes them anew.
    """
    before, beside = content(sealed), sealed.with_name("2026-10-forms-EUR")
    closed = closer.close(**EUR)
    assert closed.state == "unchanged" and str(beside) in (closed.note or "")
    assert {*content(beside)} == {"statement.html", "forms.json"}
    assert "28.00</b> EUR, external rates" in (beside / "statement.html").read_text()  # 40 * 0.7
    write(closer, RATES.replace("ECB", "another"))
    assert content(sealed) == before and verify_statement(sealed, closer.desk.lake).holds
    write(closer, RATES)
    assert closer.close(**EUR).note is None
    write(closer, RATES.replace("EUR,0.7", "EUR,0.75"))
    assert closer.close(**EUR).note
    assert "30.00</b> EUR, external rates" in (beside / "statement.html").read_text()  # 40 * 0.75


@pytest.mark.thorough
def test_a_page_its_rates_or_facts_that_were_altered_do_not_hold(closer, sealed):
    """An amount of the page, a rate of its facts, none at all, or those of another currency."""
    closer.close(**EUR)
    beside = sealed.with_name("2026-10-forms-EUR")
    kept = json.loads((beside / "forms.json").read_text())
    other = json.loads(json.dumps(kept["rates"]).replace("EUR", "GBP"))
    altered: dict[str, Callable[[str], str]] = {
        "statement.html: ": lambda text: text.replace("28.00", "82.00"),
        "statement": lambda text: text.replace('"rate": "0.7"', '"rate": "0.5"'),
        "these are no rates": lambda _: json.dumps(kept | {"rates": {}}),
        "its rates are of 2026-10-forms-GBP": lambda _: json.dumps(kept | {"rates": other}),
    }
    for told, alter in altered.items():
        path = beside / ("statement.html" if told == "statement.html: " else "forms.json")
        text = path.read_text()
        path.write_text(alter(text))
        assert path.read_text() != text
        broken = verify_statement(sealed, closer.desk.lake).broken
        assert [each for each in broken if each.startswith("2026-10-forms-EUR: ")]
        assert told.removesuffix(": ") in " ".join(broken)
        path.write_text(text)


@pytest.mark.thorough
def test_each_currency_has_a_folder_of_its_own(closer, sealed):
    """And the forms in USD alone keep theirs."""
    for more in (HTML, EUR, {**HTML, "currency": "toman", "lang": "fa"}):
        closer.close(**more)
    names = {path.name for path in sealed.parent.glob("2026-10-*")}
    assert names == {"2026-10-forms", "2026-10-forms-EUR", "2026-10-forms-IRT"}
    plain = sealed.with_name("2026-10-forms") / "statement.html"
    assert "external" not in plain.read_text().partition("</style>")[2]
    assert verify_statement(sealed, closer.desk.lake).holds


@pytest.mark.thorough
def test_a_month_that_is_sealed_now_is_sealed_in_usd(closer):
    """The seal holds nothing of a rate; the other page is made beside it at once."""
    closer.desk.extract()
    write(closer, RATES)
    folder = closer.close(**EUR).folder
    beside = folder.with_name("2026-10-forms-EUR")
    assert "external" not in (folder / "statement.html").read_text().partition("</style>")[2]
    assert "external rates" in (beside / "statement.html").read_text()
    assert verify_statement(folder, closer.desk.lake).holds


@pytest.mark.thorough
def test_a_restatement_has_such_forms_of_its_own(closer, sealed):
    """A payment came late: the second version is shown in EUR, and holds."""
    closer.serve(f"{LEDGER} payment  usdt      10      0     2026-10-07T09:00      10\n")
    closed = closer.close(**EUR)
    page = sealed.with_name("2026-10-v2-forms-EUR") / "statement.html"
    assert closed.state == "restated"
    assert "96.10</b> EUR, external rates" in page.read_text()  # 99 * 0.9 + 10 * 0.7
    assert verify_statement(closed.folder, closer.desk.lake).holds


def test_a_day_without_a_rate_ends_it_before_anything_is_sealed(closer):
    """The error names the day."""
    closer.desk.extract()
    write(closer, RATES.replace("2026-10-07,EUR", "2026-10-08,EUR"))
    with pytest.raises(ConfigError, match="no rate of EUR for 2026-10-07"):
        closer.close(**EUR)
    assert not (closer.desk.lake.path / "statements" / "2026-10").exists()


def test_a_close_in_tables_alone_has_no_place_for_another_currency(closer):
    """Nothing is read, and nothing written."""
    with pytest.raises(ConfigError, match="only xlsx, html, pdf show another currency"):
        closer.close(currency="EUR")
    assert closer.asked == []
