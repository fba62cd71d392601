"""Account numbers, names of files, lengths and signs are those that each system publishes."""

from dataclasses import replace

import pytest

from svc_analytics.books.accounts import parse_accounts, refusals
from svc_analytics.books.presets import PRESETS
from svc_analytics.errors import ConfigError
from tests.books.test_refusals import GOOD, written

DATEV = '[datev]\nconsultant = "29098"\nclient = "55003"\nclearing = "{clearing}"\n{more}'
PLACES = [("sales", "")]


def datev(sales: str, clearing: str = "1599", more: str = "") -> list[str]:
    chart = f'[accounts]\nsales = "{sales}"\n{DATEV.format(clearing=clearing, more=more)}'
    return refusals(parse_accounts(chart), PRESETS["datev"], PLACES)


@pytest.mark.parametrize(
    ("sales", "length", "is_taken"),
    [
        ("4400", "4", True),
        ("70000", "4", True),  # of a customer: one digit longer
        ("440000", "4", False),
        ("44000000", "8", True),
        ("700000000", "8", True),
        ("440", "4", True),
        ("0", "4", False),
        ("00000", "4", False),
    ],
)
def test_an_account_of_datev_is_as_long_as_its_accounts_are(sales, length, is_taken):
    """At most a digit longer than account_length, and not zero (fields 7 and 8 of its format)."""
    found = datev(sales, more=f'account_length = "{length}"')
    assert (found == []) == is_taken
    assert is_taken or f"line 2: accounts.sales cannot be '{sales}': write 1 to " in found[0]


def test_the_clearing_account_is_held_to_the_same_rule():
    """It stands in field 8 of each line; without a setting, accounts have four digits."""
    [told] = datev("4400", "159900")
    assert "line 6: datev.clearing cannot be '159900': write 1 to 5 digits" in told


@pytest.mark.parametrize(
    ("name", "value", "is_taken"),
    [
        ("consultant", "1000", False),
        ("consultant", "1001", True),
        ("consultant", "9999999", True),
        ("client", "99999", True),
        ("client", "0", False),
        ("clearing", "000", False),
    ],
)
def test_numbers_of_datev_lie_within_their_bounds(name, value, is_taken):
    """1001 to 9999999, and 1 to 99999."""
    text = f'[datev]\n{name} = "{value}"'
    if is_taken:
        assert parse_accounts(text).settings["datev"][name] == value
    else:
        with pytest.raises(ConfigError, match=f"line 2: datev.{name} cannot be '{value}'"):
            parse_accounts(text)


def test_a_number_of_a_journal_in_quickbooks_has_21_signs_at_most():
    """Beyond, the entry says so."""
    fits = replace(GOOD[0], entry_id="SVCXYZ-2026-10-01-C10")
    assert len(fits.entry_id) == 21 and written("qbo", fits)
    with pytest.raises(ConfigError, match="the id SVCXYZ-2026-10-01-C100 has over 21 signs"):
        written("qbo", replace(fits, entry_id=f"{fits.entry_id}0"))


@pytest.mark.parametrize(("account", "is_taken"), [("Sales:Coins", True), ('The "best"', False)])
def test_an_account_of_quickbooks_has_no_quotes(account, is_taken):
    chart = parse_accounts(f"[accounts]\nsales = '{account}'")
    assert (refusals(chart, PRESETS["qbo"], PLACES) == []) == is_taken


def test_a_tax_rate_of_xero_has_50_signs_at_most():
    chart = '[accounts]\nsales = "4000"\n[tax]\ndefault = "{}"'
    for count in (50, 51):
        found = refusals(parse_accounts(chart.format("x" * count)), PRESETS["xero"], PLACES)
        assert len(found) == count - 50


# ---------- names of files


def test_a_file_for_datev_is_called_as_datev_wants_it(run, books_lake):
    """It begins with EXTF_, by itself; a name that does not is refused, and nothing is written."""
    with (books_lake / "books.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + DATEV.format(clearing="1599", more=""))
    words = ("books", "2026-10", "--preset", "datev")
    assert run(*words).code == 0
    assert (books_lake / "books" / "EXTF_2026-10.datev.csv").exists()
    done = run(*words, "--out", "october.csv")
    told = "the file's name cannot be 'october.csv': write a name that begins with EXTF_ and ends"
    assert done.code == 2 and told in done.err and not (books_lake.parent / "october.csv").exists()
    assert run(*words, "--out", "EXTF_october.csv").code == 0


@pytest.mark.parametrize("name", ["qbo", "netsuite"])
def test_a_file_that_is_uploaded_ends_in_csv(run, books_lake, name):
    """Another ending is refused by the screen that takes it."""
    words = ("books", "2026-10", "--preset", name, "--out")
    assert run(*words, "october.txt").code == 2
    assert run(*words, "october.CSV").code == 0


def test_a_file_that_is_included_has_any_name(run, books_lake):
    assert run("books", "2026-10", "--preset", "hledger", "--out", "october").code == 0
