"""The chart of accounts: each mistake names its line and how to mend it."""

import pytest

from svc_analytics.books.accounts import parse_accounts, starter
from svc_analytics.errors import ConfigError

MISTAKES = {
    '[accounts]\nsalse = "4000"': "line 2: accounts.salse is unknown: did you mean sales?",
    "[accounts]\n\nsales = 4000": 'line 3: accounts.sales is no text: put it in quotes, as "4000"',
    '[coins]\nusdt = "money"': "line 2: coins.usdt is of no class 'money': choose cash, intangible",
    '[acounts]\nsales = "1"': "line 1: acounts is unknown: did you mean accounts?",
    'sales = "4000"': "line 1: sales stands before any section: move it below one",
    '[accounts]\nsales = "=1+1"': "line 2: accounts.sales begins with =",
    '[accounts]\nsales = " 4000"': "line 2: accounts.sales is empty, or has blanks at an end",
    '[accounts]\nsales = "40\u202e00"': "line 2: accounts.sales holds a character that cannot be",
    '[datev]\nconsultant = "12"': "line 2: datev.consultant cannot be '12': it must be of the form",
    '[tracking]\na = "x"\nb = "y"\nc = "z"': "line 4: tracking.c is a third one",
    '[accounts]\nsales = "4000': "write each line as name",
    '[hledger]\nx = "1"': "line 2: hledger.x is unknown",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: ascii(text)[:40])
def test_a_mistake_names_its_line_and_the_fix(text: str) -> None:
    """In one sentence, which begins with the file."""
    with pytest.raises(ConfigError) as refused:
        parse_accounts(text)
    assert str(refused.value).startswith("books.toml") and MISTAKES[text] in str(refused.value)


def test_the_starter_is_whole_but_for_the_coins_of_the_merchant() -> None:
    """What it lacks is named, with the line to write."""
    chart = parse_accounts(starter())
    assert chart.missing([("sales", ""), ("rounding", ""), ("wallet", "usdt")]) == []
    [missing] = chart.missing([("wallet", "ada")])
    assert missing == 'the wallet of ada: write ada = "cash", "intangible" or "other" in [coins]'


def test_each_line_of_the_starter_that_is_an_example_can_be_used() -> None:
    """With the # taken away, it is still a chart of accounts."""
    lines = [
        line.removeprefix("# ") for line in starter().splitlines() if "=" in line or "[" in line
    ]
    text = "\n".join(line for line in lines if not line.startswith("stablecoins"))
    chart = parse_accounts(text)
    assert chart.settings["datev"]["client"] == "55003" and chart.tax["default"] == "Tax Exempt"
    assert chart.account("wallet", "eth") == "1520"


def test_a_coins_own_account_goes_before_that_of_its_class() -> None:
    """And a coin that is called as a class is not taken for one."""
    chart = parse_accounts(
        '[coins]\nbtc = "other"\neth = "other"\ncash = "other"\n'
        '[wallet]\nother = "1"\neth = "2"\ncash = "3"'
    )
    assert [chart.account("wallet", coin) for coin in ("btc", "eth", "cash")] == ["1", "2", "1"]
