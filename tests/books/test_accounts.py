"""The chart of accounts: each mistake names its line and how to mend it."""

import pytest

from svc_analytics.books.accounts import parse_accounts, read_accounts, starter
from svc_analytics.errors import ConfigError

MISTAKES = {
    '[accounts]\nsalse = "4000"': "line 2: accounts.salse is unknown: did you mean sales?",
    "[accounts]\n\nsales = 4000": 'line 3: accounts.sales is no text: put it in quotes, as "4000"',
    '[coins]\nusdt = "money"': "line 2: coins.usdt is of no class 'money': choose cash, intangible",
    '[acounts]\nsales = "1"': "line 1: acounts is unknown: did you mean accounts?",
    'sales = "4000"': "line 1: sales stands before any section: move it below one",
    '[accounts]\nsales = "=1+1"': "line 2: accounts.sales begins with =",
    '[accounts]\nsales = " 4000"': "line 2: accounts.sales is empty, or has blanks at an end",
    '[accounts]\nsales = "40\u202e00"': "line 2: accounts.sales holds a character that cannot be "
    "seen (U+202E right-to-left override): type it anew",
    '[accounts]\nsales = "4000\u200b"': "(U+200B zero width space): type it anew",
    '[accounts]\nsales = "40\\u200b00"': "line 2: accounts.sales holds a character that cannot be",
    '[accounts]\nsales = "Sales\u00a0Coins"': "(U+00A0 no-break space): type it anew",
    '[accounts]\nsales = "4000\u200c"': "(U+200C zero width non-joiner): type it anew",
    '[tracking]\n"a\u200b" = "x"': "line 2: tracking.a[U+200B] has in its name a character that",
    '[datev]\nconsultant = "12"': "line 2: datev.consultant cannot be '12': write 4 to 7 digits",
    '[books]\nprefix = "svc"': "cannot be 'svc': write 1 to 6 capital letters or digits, as SVC",
    '[books]\ncurrency = "EURO"': "line 2: books.currency cannot be 'EURO': write a code of three",
    '[tracking]\na = "x"\nb = "y"\nc = "z"': "line 4: tracking.c is a third one",
    '[accounts]\nsales = "4000': "line 2: Unterminated string",
    '[accounts]\n\nsales = "4000"\n[coins': "line 4: ",
    "[accounts]\nsales = 4000\nfees": "line 3: ",
    '[hledger]\nx = "1"': "line 2: hledger.x is unknown: [hledger] takes no settings",
    '[accounts]\nsales\u00a0= "4000"': "line 2: this line holds a character that cannot be seen",
    "[accounts]\nsales = “4000”": 'write each line as name = "value" in straight quotes',
    '[csv]\nzzz = "1"': "line 2: csv.zzz is unknown: choose among jalali",
    '[wallet]\nchas = "1010"': "line 2: wallet.chas is unknown: did you mean cash?",
    '[wallet]\nada = "1010"': "line 2: wallet.ada is no coin of [coins]: write there",
    '[coins]\n# usdt\nUSDT = "cash"': "line 3: coins.USDT is no coin of the records: write usdt",
    '[coins]\n"usdt " = "cash"': "line 2: coins.usdt␣ is no coin of the records: write usdt",
    '\n[[coins]]\nusdt = "cash"': "line 2: coins has two brackets at each end: write [coins]",
    '\ncoins = "cash"': "line 2: coins is a section: write [coins] in a line of its own",
    '[accounts]\n[accounts.more]\nx = "1"': "line 2: accounts.more is a section within a section",
    '[coins]\n\nusdt.eth = "cash"': "line 3: coins.usdt is parted by a point: put its whole name",
    '[tax]\nsales = "a"\n"sales" = "b"': "line 3: tax.sales stands in line 2 too: keep one of them",
    "[tax]\n[coins]\n[ tax ]": "line 3: tax stands in line 1 too: keep one of them",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: ascii(text)[:40])
def test_a_mistake_names_its_line_and_the_fix(text):
    """In one sentence, which begins with the file."""
    with pytest.raises(ConfigError) as refused:
        parse_accounts(text)
    assert str(refused.value).startswith("books.toml") and MISTAKES[text] in str(refused.value)


def test_what_is_no_utf_8_names_its_line(tmp_path):
    """And a mark at the beginning of the file, as some editors write it, is none of the text."""
    path = tmp_path / "books.toml"
    path.write_bytes(b'\xef\xbb\xbf[tracking]\r\nRegion = "S\xe3o"\r\n')
    with pytest.raises(ConfigError, match=r"books.toml, line 2: this is no UTF-8: save it as"):
        read_accounts(path)
    path.write_bytes(b'\xef\xbb\xbf[tracking]\r\nRegion = "Lisboa"\r\n')
    assert read_accounts(path).tracking == {"Region": "Lisboa"}


def test_a_joiner_within_a_persian_word_is_taken():
    """It changes how the letters beside it are drawn."""
    assert parse_accounts('[accounts]\nsales = "حساب\u200cها"').accounts["sales"]


def test_a_coin_without_a_class_names_the_one_that_is_like_it():
    """Where the month has none of that name."""
    chart = parse_accounts('[coins]\n\nbitcoin = "other"\n[wallet]\nother = "1"')
    [missing] = chart.missing([("wallet", "btc")])
    assert missing.endswith("in [coins] (books.toml, line 3 has bitcoin: is btc meant?)")


def test_the_starter_is_whole_but_for_the_coins_of_the_merchant():
    """What it lacks is named, with the line to write."""
    chart = parse_accounts(starter())
    assert chart.missing([("sales", ""), ("rounding", ""), ("wallet", "usdt")]) == []
    [missing] = chart.missing([("wallet", "ada")])
    assert missing == 'the wallet of ada: write ada = "cash", "intangible" or "other" in [coins]'


def test_each_line_of_the_starter_that_is_an_example_can_be_used():
    """With the # taken away, it is still a chart of accounts."""
    lines = [
        line.removeprefix("# ") for line in starter().splitlines() if "=" in line or "[" in line
    ]
    text = "\n".join(line for line in lines if not line.startswith("stablecoins"))
    chart = parse_accounts(text)
    assert chart.settings["datev"]["client"] == "55003" and chart.tax["default"] == "Tax Exempt"
    assert chart.account("wallet", "eth") == "1520"


def test_a_coins_own_account_goes_before_that_of_its_class():
    """And a coin that is called as a class is not taken for one."""
    chart = parse_accounts(
        '[coins]\nbtc = "other"\neth = "other"\ncash = "other"\n'
        '[wallet]\nother = "1"\neth = "2"\ncash = "3"'
    )
    assert [chart.account("wallet", coin) for coin in ("btc", "eth", "cash")] == ["1", "2", "1"]
