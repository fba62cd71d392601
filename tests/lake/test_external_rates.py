"""The rates that a person types: each line is read exactly, or refused with its number."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from svc_analytics.config import read_rates_path
from svc_analytics.errors import ConfigError
from svc_analytics.external_rates import ExternalRates, parse_rates, read_rates

HEAD = "date,currency,rate,source\n"
LINES = HEAD + (
    "2026-10-30,EUR,0.921500000000000001,ECB\n"
    '2026-10-31,IRT,112500,"Bonbast, sell"\n'
    "2026-10-31,EUR,0.93,ECB of 30 October\n"
)
HALLOWEEN = date(2026, 10, 31)


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "rates.csv"
    path.write_text(LINES, encoding="utf-8")
    return path


def test_a_dollar_is_so_many_units_of_the_currency(file):
    """1,000.05 USD at 0.93 are 930.0465 EUR, which is 930.05 to the cent."""
    rates = read_rates(file, "eur")
    exact = rates.on(HALLOWEEN).convert(Decimal("1000.05"))
    assert (exact, rates.rounded(exact)) == (Decimal("930.0465"), Decimal("930.05"))


def test_all_eighteen_places_count(file):
    """1,000 USD at 0.921500000000000001."""
    rate = read_rates(file, "EUR").on(date(2026, 10, 30))
    assert rate.convert(Decimal("1000")) == Decimal("921.500000000000001")


def test_the_toman_has_no_places_and_a_name(file):
    """0.5 USD less 56,249.5 toman: half a toman is rounded away from zero, up and down."""
    rates = read_rates(file, "Toman")
    assert rates.on(HALLOWEEN).convert(Decimal("0.5")) == 56250
    assert rates.rounded(Decimal("-56249.5")) == Decimal("-56250")
    assert rates.rounded(Decimal("56249.49")) == Decimal("56249")


def test_a_file_may_say_how_many_places_a_currency_has(file):
    """The Bahraini dinar has three; a line that does not repeat them says the same."""
    file.write_text(
        "date,currency,rate,source,places\n2026-10-30,BHD,0.376,CBB,3\n2026-10-31,BHD,0.376,CBB,\n"
    )
    assert read_rates(file, "BHD").rounded(Decimal("1.0005")) == Decimal("1.001")


def test_the_rates_used_are_listed_with_their_sources(file):
    """Each day once, in order, however often and in whatever order it is asked for."""
    used = read_rates(file, "EUR").of([HALLOWEEN, date(2026, 10, 30), HALLOWEEN])
    assert [each.text for each in used] == [
        "1 USD = 0.921500000000000001 EUR on 2026-10-30 (ECB)",
        "1 USD = 0.93 EUR on 2026-10-31 (ECB of 30 October)",
    ]


def test_a_day_without_a_rate_is_named(file):
    """It takes none from the day before, which has one."""
    with pytest.raises(ConfigError, match="no rate of IRT for 2026-10-29, 2026-10-30: write a"):
        read_rates(file, "IRT").of([date(2026, 10, day) for day in (30, 29, 31)])


def test_rates_that_are_kept_are_read_again(file):
    """With every digit, and only those that were used."""
    rates = read_rates(file, "EUR")
    kept = parse_rates(rates.only([HALLOWEEN]).to_json())
    assert (kept.places, [*kept.by_day.values()]) == (2, [rates.on(HALLOWEEN)])


def test_facts_that_are_no_rates_are_refused():
    with pytest.raises(ConfigError, match="these are no rates"):
        parse_rates({"currency": "EUR", "places": 2, "rates": [{"date": "yesterday"}]})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("2026-11-01,EUR,0,93,ECB", "5 cells, and the first line names 4: .*as 500.25"),
        ('2026-11-01,EUR,"0,93",ECB', "not a plain decimal amount: '0,93'; .*, as 0.92"),
        ("2026-11-01,EUR,۰٫۹۳,ECB", "write the digits 0 to 9 with a point"),
        ("2026-11-01,EUR,0.9300000000000000001,ECB", "19 decimals"),
        ("2026-11-01,EUR,0.00,ECB", "not above zero: write how many units 1 of its base is"),
        ("2026-10-31,EUR,0.94,ECB", "a second rate of this day, besides 1 USD = 0.93 EUR"),
        ("2026-02-30,EUR,0.93,ECB", "no day: write it as 2026-10-31"),
        ("1405-08-10,IRT,112500,Bonbast", "not of the Gregorian calendar"),
        ("2026-11-01,eur,0.93,ECB", "'eur' is no code such as EUR"),
        ("2026-11-01,USD,1,ECB", "'USD' is no code such as EUR"),
        ("2026-11-01,EUR,0.93,", "source is empty"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_its_fix(file, line, told):
    """Also by who asks for another currency; what is no CSV is refused as in every typed file."""
    file.write_text(f"{LINES}{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"line 5: .*{told}"):
        read_rates(file, "IRT")


@pytest.mark.parametrize(
    ("places", "told"), [("3", "is 3 here and 2 in a line above"), ("19", "no number from 0 to 18")]
)
def test_a_currency_has_one_number_of_places(file, places, told):
    first = "date,currency,rate,source,places\n2026-10-30,EUR,0.92,ECB,2\n"
    file.write_text(f"{first}2026-10-31,EUR,0.93,ECB,{places}\n")
    with pytest.raises(ConfigError, match=f"line 3: .*{told}"):
        read_rates(file, "EUR")


@pytest.mark.parametrize("name", ["euro", "USD", "", "btc1"])
def test_what_is_no_other_currency_is_refused(file, name):
    with pytest.raises(ConfigError, match="cannot be shown beside USD"):
        read_rates(file, name)


def test_a_currency_or_a_file_that_is_not_there_is_named(file):
    with pytest.raises(ConfigError, match=r"rates.csv has no rate of GBP: it has EUR, IRT"):
        read_rates(file, "GBP")
    with pytest.raises(ConfigError, match=r"there is no rate file .*other.csv: .*--rates"):
        read_rates(file.with_name("other.csv"), "EUR")


def test_the_file_is_the_lakes_unless_a_setting_or_an_option_names_another(monkeypatch):
    assert read_rates_path(lake := Path("data")) == lake / "rates.csv"
    monkeypatch.setenv("SVC_RATES", "/srv/rates.csv")
    assert read_rates_path(lake) == Path("/srv/rates.csv")
    assert read_rates_path(lake, "mine.csv") == Path("mine.csv")


# ---------- which way a rate is quoted

BASE = "date,base,currency,rate,source\n"
FRIDAY = date(2026, 10, 30)


def rates_of(file: Path, text: str, currency: str) -> ExternalRates:
    file.write_text(text, encoding="utf-8")
    return read_rates(file, currency)


def test_a_rate_of_another_base_is_divided_by_once(file):
    """100 USD at 1 EUR = 1.6 USD are 62.5 EUR; 1 USD at 1 EUR = 1.5 USD is two thirds."""
    lines = "2026-10-30,EUR,USD,1.6,ECB\n2026-10-31,EUR,USD,1.5,ECB\n"
    rates = rates_of(file, BASE + lines, "EUR")
    assert rates.on(FRIDAY).convert(Decimal(100)) == Decimal("62.5")
    assert rates.on(HALLOWEEN).convert(Decimal(1)) == Fraction(2, 3)
    assert rates.on(FRIDAY).text == "1 EUR = 1.6 USD on 2026-10-30 (ECB)"


def test_two_rates_of_one_base_give_the_third(file):
    """1 EUR = 1.2 USD = 0.9 GBP: 1 USD is 0.75 GBP."""
    lines = "2026-10-30,EUR,USD,1.2,ECB\n2026-10-30,EUR,GBP,0.9,ECB\n"
    rates = rates_of(file, BASE + lines, "GBP")
    assert rates.on(FRIDAY).convert(Decimal(1)) == Fraction(3, 4)
    assert rates.on(FRIDAY).text == "1 EUR = 0.9 GBP = 1.2 USD on 2026-10-30 (ECB)"


@pytest.mark.parametrize("day", ["2026-10-30", "30 October 2026"])
def test_the_table_of_the_european_central_bank_is_read_as_it_is(file, day):
    """It says what 1 euro was, ends each line with a comma, and has N/A where it has no rate."""
    table = f"Date,USD,JPY,CYP,GBP,\n{day},1.25,175.1,N/A,0.875,\n2026-10-29,1.6,170,N/A,0.8,\n"
    assert rates_of(file, table, "EUR").on(FRIDAY).per_usd == Fraction(4, 5)
    assert rates_of(file, table, "GBP").on(FRIDAY).per_usd == Fraction(7, 10)
    with pytest.raises(ConfigError, match="has no rate of CYP: it has EUR"):
        read_rates(file, "CYP")


def test_a_table_that_does_not_say_what_it_quotes_is_refused(file):
    with pytest.raises(ConfigError, match="does not say what 1 unit of which currency was"):
        rates_of(file, "date,EUR,GBP\n2026-10-30,0.92,0.8\n", "EUR")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("30,USD,EUR,0.92 31,USD,EUR,1.0853", "1 USD = 1.0853 EUR turns .* (1 USD = 0.92 EUR)"),
        ("30,EUR,USD,1.16 31,EUR,USD,0.86", "1 EUR = 0.86 USD turns .* (1 EUR = 1.16 USD)"),
        ("30,USD,EUR,0.86 31,EUR,USD,0.86", "if it is 1 USD = 0.86 EUR, write base USD"),
        ("31,EUR,USD,1.25 31,USD,EUR,0.8", "a second rate of this day, besides 1 EUR = 1.25 USD"),
    ],
)
def test_a_rate_that_turned_upside_down_is_refused_with_both_readings(file, lines, told):
    text = BASE + "".join(f"2026-10-{line},ECB\n" for line in lines.split())
    with pytest.raises(ConfigError, match=told.replace("(", r"\(").replace(")", r"\)")):
        rates_of(file, text, "EUR")


@pytest.mark.parametrize("rate", ["0.97", "1.03", "0.92", "1.06"])
def test_a_rate_that_moved_is_taken(file, rate):
    """Beside 1.01, as near as its inverse may be: not clearly nearer."""
    text = BASE + f"2026-10-30,USD,CHF,1.01,SNB\n2026-10-31,USD,CHF,{rate},SNB\n"
    assert rates_of(file, text, "CHF").on(HALLOWEEN).per_usd == Fraction(rate)


def test_a_day_without_a_rate_has_the_last_one_where_the_merchant_wrote_so(file, monkeypatch):
    """Ten days at the most, never backwards, and with the day that published it."""
    monkeypatch.setenv("SVC_RATES_GAPS", "last published day before")
    rates = rates_of(file, BASE + "2026-10-30,EUR,USD,1.25,ECB\n", "EUR")
    assert rates.on(date(2026, 11, 9)).text.endswith("2026-11-09 (ECB, published 2026-10-30)")
    for day in (date(2026, 11, 10), date(2026, 10, 29)):
        with pytest.raises(ConfigError, match=f"for {day}: write .*; nor for 10 days before"):
            rates.on(day)
    kept = parse_rates(rates.only([HALLOWEEN]).to_json())
    assert kept.by_day[HALLOWEEN] == rates.on(HALLOWEEN)


def test_the_only_rule_for_days_without_a_rate_is_named(file, monkeypatch):
    monkeypatch.setenv("SVC_RATES_GAPS", "interpolate")
    with pytest.raises(ConfigError, match="'interpolate': the only rule is 'last published day be"):
        read_rates(file, "EUR")


def test_a_spreadsheets_own_way_to_write_the_file_is_read(file):
    """Semicolons, capitals and empty cells behind the last; a comma in a number is refused."""
    text = "Date;Currency;Rate;Source;;\n2026-10-30;EUR;{};ECB;;\n"
    assert rates_of(file, text.format("0.92"), "EUR").on(FRIDAY).rate == Decimal("0.92")
    with pytest.raises(ConfigError, match=r"line 2: .*with a point, as 0\.92"):
        rates_of(file, text.format("0,92"), "EUR")
