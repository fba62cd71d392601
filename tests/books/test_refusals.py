"""What a system refuses is refused here too: by its importer, and before a file is written.

So is a mistake in the chart of accounts: each names its line and how to mend it.

Account numbers, names of files, lengths and signs are those that each system publishes.
"""

import re
from dataclasses import replace
from datetime import date

import pytest

from svc_analytics.books.accounts import Accounts, parse_accounts, read_accounts, refusals, starter
from svc_analytics.books.entries import DAY, MONTH
from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.export import make_books, preset_files
from svc_analytics.books.presets import PRESETS
from svc_analytics.errors import ConfigError
from tests.support.importers import IMPORTERS, Refused
from tests.support.seeded_books import SeededMonth, accounts, chart_of, euro


def entry(day: int, *cents: int) -> Entry:
    """An entry of a day of October, with a line for each amount."""
    lines = [
        EntryLine("sales", "", "4000", amount, "Sales: 2 payments, 0.5 btc", "0000")
        for amount in cents
    ]
    return Entry(f"SVC-2026-10-{day:02}", date(2026, 10, day), "Payments", tuple(lines))


def journal(*entries: Entry, places: int = 2) -> Journal:
    """A journal of October."""
    first, last = date(2026, 10, 1), date(2026, 10, 31)
    return Journal("2026-10", first, last, 0, entries, "USD", places)


def named_as_beancount_does(one: Entry) -> Entry:
    """The same entry on an account of income."""
    return replace(one, lines=tuple(replace(each, account="Income:A4000") for each in one.lines))


def written(preset: str, *entries: Entry, chart: Accounts | None = None) -> bytes:
    """The first file of a system."""
    if preset == "beancount":
        entries = tuple(map(named_as_beancount_does, entries))
    made = replace(journal(*entries), settings=(chart or accounts()).settings.get(preset, {}))
    return PRESETS[preset].files(made)[0]


GOOD = (entry(1, -1234, 1200, 34), entry(2, 500, -500))
BAD = {
    "qbo": [
        ("JournalNo,", "Journal No,"),
        (",,12.34", ",12.34,12.34"),
        (",,12.34", ",,12.340"),
        (",,12.34", ",,12.35"),
        ("10/01/2026", "2026-10-01"),
        ("SVC-2026-10-01", "SVC-2026-10-01-" + "X" * 9),
        ("SVC-2026-10-02", "SVC-2026-10-01"),
        ("Sales", "=cmd()"),
    ],
    "xero": [
        ("*Narration", "Narration"),
        ("0000", ""),
        ("-12.34", "-12.344"),
        ("-12.34", "12.34"),
        ("01/10/2026", "2026-10-01"),
        ("4000", "4000 - Sales"),
    ],
    "odoo": [
        ("line_ids/debit", "line_ids/debet"),
        ("\r\n,,,,", "\r\nsvc.x,M,2026-10-01,r,"),
        ("\r\n,,,,", "\r\nsvc.x,,,,"),
        ("svcanalytics.SVC_2026_10_01_sales_2", ""),
        ("SVC_2026_10_01_sales_2", "SVC_2026_10_01_sales"),
        (",,12.34", ",0.00,12.34"),
        ("SVC_2026_10_02", "SVC_2026_10_01"),
        ("2026-10-01,", "01.10.2026,"),
    ],
    "erpnext": [
        ("Journal Entry", "Journal"),
        ("\r\nSVC-2026-10-01,", "\r\n,"),
        ("\r\n,,,,,,,", "\r\n,,,Acme,,,,"),
        (",,12.34", ",,12.3400001"),
        (",Main - ACME", ""),
    ],
    "netsuite": [
        (",,12.34", ",,12.35"),
        (",,12.34", ",,12345678901.00"),
        ("SVC-2026-10-01,", ","),
        (",,12.34", ",-12.34,"),
    ],
    "datev": [
        ("12,34", "12.34"),
        ("12,34", "12,35"),
        ('"H"', '"C"'),
        (";0110;", ";1001;"),
        ('"SVC-2026-10-01";"";', '"SVC-2026-10-01";;'),
        ('"EXTF"', '"DTVF"'),
        ("4000;1599", "4000A;1599"),
        ("4000;1599", "1599;1599"),
        (";700;", ";510;"),
        ('"SVC-2026-10-01"', '"SVC 2026/ä"'),
    ],
    "hledger": [
        ("    4000   ", "    40  00   "),
        ("-12.34", "-12.35"),
        ("account 4000\n", ""),
        ("Sales 2", "Sales: 2"),
    ],
    "ledger": [("UUID: SVC-2026-10-01", "UUID: SVC-2026-10-02")],
    "beancount": [
        ("Income:A4000  ", "4000  "),
        ("-12.34", "-12.35"),
        ("Sales: 2", 'Sales" 2'),
        ("SVC-2026-10-02", "SVC-2026-10-01"),
        ("  entry_id", "entry"),
    ],
    "csv": [(",,12.34", ",1.00,12.34"), ("entry_id", "id"), (",,12.34", ",,-12.34")],
}
CASES = [(name, old, new) for name, pairs in BAD.items() for old, new in pairs]


@pytest.mark.parametrize(("name", "old", "new"), CASES, ids=lambda text: re.sub(r"\W", "", text))
def test_an_importer_refuses_a_file_that_its_vendor_refuses(name, old, new):
    """The same file is taken as it was written."""
    encoding = PRESETS[name].encoding
    content = written(name, *GOOD)
    assert len(IMPORTERS[name](content)) == 2
    text = content.decode(encoding)
    assert old in text
    with pytest.raises((Refused, ValueError)):
        IMPORTERS[name](text.replace(old, new, 1).encode(encoding))


@pytest.mark.parametrize("name", PRESETS)
def test_an_entry_out_of_balance_is_written_for_no_system(name):
    """One cent is enough."""
    with pytest.raises(ConfigError, match="SVC-2026-10-01 is out of balance"):
        written(name, entry(1, -1234, 1235))


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("netsuite", (-(10**12), 10**12), "over 10 digits: book it by hand"),
        ("datev", (-(10**12), 10**12), "over 10 digits"),
        ("beancount", (-(10**22), 10**22), "over 20 digits"),
        ("qbo", (-(10**13), 10**13), "over 11 digits"),
        ("xero", (-300, *[1] * 300), "has over 300 lines"),
    ],
)
def test_what_is_beyond_a_systems_limits_is_not_written(name, lines, why):
    """The message says which entry, and what to do."""
    with pytest.raises(ConfigError, match=why):
        written(name, entry(1, *lines))


@pytest.mark.parametrize(
    ("name", "setting"), [("datev", "consultant"), ("odoo", "journal"), ("erpnext", "company")]
)
def test_a_system_that_needs_a_setting_is_not_written_without(name, setting):
    """It names the setting and its section."""
    chart = replace(accounts(), settings={})
    with pytest.raises(ConfigError, match=rf"write {setting} below \[{name}\]"):
        written(name, *GOOD, chart=chart)


CHARTS = {
    ("odoo", '[odoo]\njournal = "M"\n[accounts]\nsales = "40-00 Sales"'): "line 4: accounts.sales "
    "cannot be '40-00 Sales': write its code, at most 64 letters, digits and points, as 4000",
    ("beancount", '[accounts]\nsales = "4000"'): "line 2: accounts.sales cannot be '4000': write A",
    ("hledger", '[accounts]\nsales = "Sales  Coins"'): "accounts.sales cannot be 'Sales␣␣Coins'",
    ("ledger", '[accounts]\nsales = "<Sales>"'): "accounts.sales cannot be '<Sales>'",
    (
        "xero",
        '[accounts]\nsales = "4000"',
    ): "books.toml: no tax code of wallet, sales: write default = ",
    ("datev", '[datev]\n[tax]\ndefault = "19 %"'): "line 3: tax.default cannot be '19 %': write 4",
    ("erpnext", "\n[erpnext]"): 'line 2: write company below [erpnext], as company = "Acme Ltd"',
    ("csv", f'[tracking]\na = "{"x" * 101}"'): "line 2: tracking.a cannot be 'xxx",
    ("csv", f'[coins]\nbtc = "cash"\n[wallet]\ncash = "{"x" * 101}"'): "line 4: wallet.cash cannot",
}


@pytest.mark.parametrize(("name", "text"), CHARTS)
def test_what_a_system_refuses_of_a_chart_names_its_line_and_the_fix(name, text):
    """In words, with an example; none is refused by a system that has no such rule."""
    places = [("sales", ""), ("wallet", "btc")]
    found = refusals(parse_accounts(text), PRESETS[name], places)
    assert CHARTS[name, text] in "\n".join(found)


def test_a_month_of_more_lines_than_a_file_takes_is_several_files():
    """Each holds whole entries, and Xero takes each."""
    days = [entry(day, -20, *[1] * 20) for day in range(1, 29)]
    files = PRESETS["xero"].files(journal(*days))
    assert [len(IMPORTERS["xero"](file)) for file in files] == [14, 14]


@pytest.mark.parametrize("name", ["csv", "hledger", "ledger"])
def test_amounts_of_38_digits_are_written_to_the_cent(name):
    """Those who have no limit take them; the others say which entry is too large."""
    books = make_books(SeededMonth(3, largest=10**20).source(), accounts())
    [content, *_] = preset_files(books, PRESETS[name])
    assert (
        max(abs(amount) for each in IMPORTERS[name](content) for _, amount in each.lines) > 10**17
    )
    with pytest.raises(ConfigError, match="book it by hand"):
        preset_files(books, PRESETS["netsuite"])


def test_a_provisional_month_says_so_in_every_entry_and_line():
    """Whoever opens the books sees it without our program."""
    source = replace(SeededMonth(3).source(None), is_provisional=True)
    books = make_books(source, accounts())
    for each, line in books.journal.lines:
        assert each.narration.startswith("PROVISIONAL: ")
        assert line.description.startswith("PROVISIONAL: ")


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("by", [DAY, MONTH])
def test_each_entry_says_that_its_rates_are_external(name, by):
    """In every system, on a line of the entry; that of a day says which rate, and who says so."""
    books = make_books(SeededMonth(3).source(), chart_of(name), by, euro())
    text = b"".join(preset_files(books, PRESETS[name])).decode(PRESETS[name].encoding)
    for each in books.journal.entries:
        [row, *_] = [row for row in text.splitlines() if f"{each.rates}" in row]
        assert each.rates.startswith("external rate") and row
    assert by == MONTH or re.search(
        r"external rate 1 USD = 0.\d+ EUR on 20\d\d-\d\d-\d\d .ECB.", text
    )


def test_a_text_that_is_too_long_counts_the_coins_that_it_leaves_out():
    """No amount is cut. DATEV's text has 60 letters; its additional information has them all."""
    units = ("0.00990513 btc", "0.028444616005250785 eth", "0.5 sol", "12.5 usdt")
    line = EntryLine("sales", "", "4000", -1234, "Sales: 76 payments", "0000", units)
    other = EntryLine("fees", "", "4000", 1234, "Fees", "0000")
    content = written("datev", replace(GOOD[0], lines=(line, other))).decode("cp1252")
    assert '"Sales: 76 payments, 0.00990513 btc, and 3 coins more"' in content
    assert f'"Text";"Sales: 76 payments, {", ".join(units)}"' in content


def test_a_day_in_the_jalali_calendar_stands_beside_the_other_on_request():
    """1 October 2026 is 9 Mehr 1405."""
    made = replace(journal(*GOOD), settings={"jalali": "yes"})
    head, first, *_ = PRESETS["csv"].files(made)[0].decode().splitlines()
    assert head.endswith(",jalali_day") and first.endswith(",1405-07-09")


def test_no_account_is_booked_against_itself():
    """DATEV takes pairs of accounts: a line on the clearing account has no other to go to."""
    text = (
        starter()
        .replace("# [datev]  ", "[datev]  ")
        .replace('# clearing = "1599"', 'clearing = "4000"')
    )
    [_, _, told] = refusals(parse_accounts(text), PRESETS["datev"], [("sales", "")])
    assert told.startswith("books.toml, line 10: accounts.sales is the clearing account of [datev]")
    with pytest.raises(ConfigError, match="sales is booked on 4000, the clearing account itself"):
        PRESETS["datev"].check(
            replace(journal(*GOOD), settings=accounts().settings["datev"] | {"clearing": "4000"})
        )


# ---------- the chart of accounts


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
