"""What each system's importer makes of a file, or refuses, as its vendor's pages say.

Nothing here is taken from the package: a file is read as the system reads it.
"""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from io import StringIO

MONEY = re.compile(r"\d+\.\d\d\Z")
Row = dict[str, str]


class Refused(Exception):
    """The system does not import the file."""


@dataclass
class Imported:
    """One entry as the system has it: account and amount of each line, plus is a debit."""

    key: str
    day: date
    lines: list[tuple[str, Decimal]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def require(condition: object, why: str) -> None:
    """Refuse the file unless a condition holds."""
    if not condition:
        raise Refused(why)


def table(content: bytes, header: list[str], encoding: str = "utf-8") -> Iterator[Row]:
    """Read CSV under an exact header, every row as long as it, without invisible signs."""
    text = content.decode(encoding)
    require("\n" not in text.replace("\r\n", ""), "a line does not end in CR LF")
    found = list(csv.reader(StringIO(text, newline=""), strict=True))
    require(found[0] == header, f"the header is {found[0]}")
    for row in found[1:]:
        require(len(row) == len(header), "a row has too few or too many cells")
        require(all(cell.isprintable() for cell in row), "a cell has an invisible sign")
        require(not any(re.match(r"[=+@\t]|-\D|'", cell) for cell in row), "a formula")
        yield dict(zip(header, row, strict=True))


def two_sided(debit: str, credit: str) -> Decimal:
    """Read a line's amount from its two cells: one is empty, the other above zero."""
    require(bool(debit) != bool(credit), "a line has both sides, or none")
    require(MONEY.match(debit or credit), f"{debit or credit} has not two places")
    amount = Decimal(debit or credit)
    require(amount > 0, "a line of zero")
    return amount if debit else -amount


def balanced(entries: list[Imported]) -> list[Imported]:
    """Refuse entries that do not sum to zero, are of one line, or share a key."""
    for entry in entries:
        require(sum(amount for _, amount in entry.lines) == 0, f"{entry.key} is out of balance")
        require(len(entry.lines) >= 2, f"{entry.key} has fewer than two lines")
    keys = [entry.key for entry in entries]
    require(len({*keys}) == len(keys), "a key stands twice, or its lines are apart")
    return entries


def by_key(rows: list[tuple[str, date, str, Decimal, str]]) -> list[Imported]:
    """Put lines of one key that stand together into one entry."""
    entries: list[Imported] = []
    for key, day, account, amount, text in rows:
        if not entries or entries[-1].key != key:
            entries.append(Imported(key, day))
        require(entries[-1].day == day, "an entry of two dates")
        require(account, "a line without an account")
        entries[-1].lines.append((account, amount))
        entries[-1].texts.append(text)
    return balanced(entries)


def day_of(text: str, form: str) -> date:
    """Read a day of exactly this form."""
    try:
        found = datetime.strptime(text, form).date()
    except ValueError as error:
        raise Refused(f"{text} is no date") from error
    require(found.strftime(form) == text, f"{text} is no date")
    return found


QBO = ["JournalNo", "JournalDate", "AccountName", "Debits", "Credits", "Description"]


def qbo(content: bytes) -> list[Imported]:
    """QuickBooks Online: contiguous numbers of at most 21 characters, below 1,000 rows."""
    found = []
    for row in table(content, QBO):
        require(0 < len(row["JournalNo"]) <= 21, "JournalNo is too long")
        require(len(row["Description"]) <= 4000 and len(row["AccountName"]) <= 100, "too long")
        amount = two_sided(row["Debits"], row["Credits"])
        require(abs(amount) <= 99_999_999_999, "the amount is too large")
        day = day_of(row["JournalDate"], "%m/%d/%Y")
        found.append((row["JournalNo"], day, row["AccountName"], amount, row["Description"]))
    require(len(found) < 1000, "too many rows")
    return by_key(found)


XERO = [
    *("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
    *("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2"),
]


def xero(content: bytes) -> list[Imported]:
    """Xero: lines of one narration and date are a journal; signed amounts; at most 300 lines."""
    found = []
    for row in table(content, XERO):
        require(all(row[name] for name in XERO if name.startswith("*")), "a required cell is empty")
        require(re.fullmatch(r"[A-Za-z0-9.-]{1,10}", row["*AccountCode"]), "no account code")
        require(MONEY.match(row["*Amount"].removeprefix("-")), "not two places")
        amount = Decimal(row["*Amount"])
        require(amount, "a line of zero")
        day = day_of(row["*Date"], "%d/%m/%Y")
        found.append((row["*Narration"], day, row["*AccountCode"], amount, row["Description"]))
    require(len(found) <= 300, "over 300 lines")
    return by_key(found)


def of_parents(
    rows: Iterator[Row],
    parents: list[str],
    day: str,
    key: str,
    amount: Callable[[Row], Decimal],
    *,
    skip: int = 0,
) -> list[Imported]:
    """Read rows of which the first of an entry alone has the entry's own cells."""
    entries: list[Imported] = []
    inner: list[str] = []
    for row in rows:
        inner = inner or [name for name in row if name not in parents][skip:]
        has = [bool(row[name]) for name in parents]
        require(all(has) or not any(has), "an entry's cells are filled in part")
        if all(has):
            entries.append(Imported(row[key], day_of(row[day], "%Y-%m-%d")))
        require(entries, "the first row is of no entry")
        entries[-1].lines.append((row[inner[0]], amount(row)))
        entries[-1].texts.append(row[inner[1]])
    return balanced(entries)


ODOO = [
    *("id", "journal_id", "date", "ref"),
    *("line_ids/id", "line_ids/account_id", "line_ids/name"),
    *("line_ids/debit", "line_ids/credit"),
]


def odoo(content: bytes) -> list[Imported]:
    """Odoo: the entry's cells on its first line alone; accounts by code; external ids."""
    ids: list[str] = []

    def amount(row: Row) -> Decimal:
        require(re.fullmatch(r"[A-Za-z0-9.]+", row["line_ids/account_id"]), "no account code")
        for name in filter(None, (row["id"], row["line_ids/id"])):
            require(re.fullmatch(r"[a-z]+\.[A-Za-z0-9_]+", name), "no external id")
            ids.append(name)
        require(row["line_ids/id"], "a line without an id is made anew at each import")
        require(len({*ids}) == len(ids), "an external id stands twice")
        return two_sided(row["line_ids/debit"], row["line_ids/credit"])

    return of_parents(table(content, ODOO), ODOO[:4], "date", "id", amount, skip=1)


ERPNEXT = [
    *("name", "voucher_type", "posting_date", "company", "user_remark"),
    *("cheque_no", "cheque_date"),
    *("accounts.account", "accounts.debit_in_account_currency"),
    *("accounts.credit_in_account_currency", "accounts.user_remark", "accounts.cost_center"),
]


def erpnext(content: bytes) -> list[Imported]:
    """ERPNext: a row is of the entry above if its seven cells are blank; no third decimal."""

    def amount(row: Row) -> Decimal:
        require(row["voucher_type"] in ("", "Journal Entry"), "no such voucher type")
        return two_sided(*(row[name] for name in ERPNEXT[8:10]))

    return of_parents(table(content, ERPNEXT), ERPNEXT[:7], "posting_date", "name", amount)


NETSUITE = [
    *("External ID", "Date", "Memo", "Subsidiary", "Journal Entry - Line: Account"),
    *(f"Journal Entry - Line: {name}" for name in ("Debit", "Credit", "Memo")),
]


def netsuite(content: bytes) -> list[Imported]:
    """NetSuite: the entry's cells on every line; ten digits before the point and two behind."""
    found = []
    for row in table(content, NETSUITE):
        amount = two_sided(row[NETSUITE[5]], row[NETSUITE[6]])
        require(abs(amount) < 10**10, "over ten digits")
        require(row["External ID"], "no External ID")
        day = day_of(row["Date"], "%m/%d/%Y")
        found.append((row["External ID"], day, row[NETSUITE[4]], amount, row[NETSUITE[7]]))
    return by_key(found)


PLAIN = [
    *("entry_id", "day", "narration", "figure", "coin", "account", "debit", "credit", "currency"),
    *("description", "tax"),
]


def plain(content: bytes) -> list[Imported]:
    """A plain CSV: a line a row."""
    found = []
    for row in table(content, PLAIN):
        day, amount = day_of(row["day"], "%Y-%m-%d"), two_sided(row["debit"], row["credit"])
        found.append((row["entry_id"], day, row["account"], amount, row["description"]))
    return by_key(found)


def datev(content: bytes) -> list[Imported]:
    """DATEV: EXTF 700, pairs of accounts in Windows-1252; the clearing account ends at zero."""
    lines = content.decode("cp1252").split("\r\n")
    require(lines.pop() == "", "the last line has no end")
    head, names = lines[0].split(";"), lines[1].split(";")
    require(len(head) == 31 and head[:5] == ['"EXTF"', "700", "21", '"Buchungsstapel"', "13"], "")
    require(re.fullmatch(r"\d{17}", head[5]), "no time of making")
    require(1001 <= int(head[10]) <= 9_999_999 and 1 <= int(head[11]) <= 99_999, "numbers")
    require(re.fullmatch('"[A-Z]{3}"', head[21]), "no currency")
    require(len(names) == 125 and names[113] == "Festschreibung", "columns")
    begin, first, last = (date.fromisoformat(head[place]) for place in (12, 14, 15))
    require(begin <= first <= last and (last - begin).days < 366, "two business years")
    found = []
    for text in lines[2:]:
        [row] = csv.reader([text], delimiter=";", strict=True)
        found.append(_datev_row(row, text.split(";"), first, last))
    return by_key(found)


# What the vendor's format has as texts: an empty one has its quotes too.
DATEV_TEXTS = {
    *(2, 3, 6, 9, 11, 12, 14, 16, *range(20, 39), 40, 42, *range(48, 88), 91, 95, 96, 98),
    *(102, 103, 105, 107, 109, 110, 112, 118, 120, 121, 123),
}


def _datev_row(
    row: list[str], bare: list[str], first: date, last: date
) -> tuple[str, date, str, Decimal, str]:
    require(len(row) == 125 and all(cell.isprintable() for cell in row), "columns")
    require(re.fullmatch(r"\d{1,10},\d\d", row[0]) and row[0] != "0,00", "the amount")
    require(bare[1] in ('"S"', '"H"'), "neither debit nor credit")
    if len(bare) == len(row):  # no text holds a semicolon
        texts = {place for place, cell in enumerate(bare, 1) if cell.startswith('"')}
        require(texts == DATEV_TEXTS, "a text without quotes")
    require(all(re.fullmatch(r"\d{1,9}", cell) for cell in row[6:8]), "no account")
    require(row[6] != row[7], "an account against itself")
    require(re.fullmatch(r"(\d{4})?", row[8]) and re.fullmatch(r"\d{4}", row[9]), "BU or date")
    require(re.fullmatch(r"[a-zA-Z0-9$%&*+\-/]{1,36}", row[10]), "Belegfeld 1")
    require(len(row[13]) <= 60 and row[113] == "0", "the text, or locked")
    days = [date(year, int(row[9][2:]), int(row[9][:2])) for year in {first.year, last.year}]
    [day] = [each for each in days if first <= each <= last]
    amount = Decimal(row[0].replace(",", "."))
    return row[10], day, row[6], amount if row[1] == "S" else -amount, row[13]


def plain_text(content: bytes) -> list[Imported]:
    """hledger and ledger: an account ends at two blanks, a comment holds no tag."""
    declared, entries = set(), []
    for line in content.decode().splitlines():
        if line.startswith("account "):
            declared.add(line.removeprefix("account "))
        elif match := re.fullmatch(r"(\d{4}-\d\d-\d\d) \* \(([^)]+)\) ([^:;,|]*)", line):
            entries.append(Imported(match[2], date.fromisoformat(match[1])))
        elif mark := ONCE.fullmatch(line):
            require(mark[1] in (None, entries[-1].key), "the UUID of another entry")
        elif line.startswith(" "):
            posting = re.fullmatch(
                r" {4}(\S(?:[^;]*?\S)?) {2,}(-?\d+(\.\d\d)?) (\w+)  ; (.*)", line
            )
            require(posting, f"no posting: {line}")
            require(posting[1] in declared and "  " not in posting[1], "the account")
            require(not re.search("[:,]", posting[5]), "a tag in a comment")
            entries[-1].lines.append((posting[1], Decimal(posting[2])))
            entries[-1].texts.append(posting[5])
        else:
            require(not line or line.startswith((";", "commodity ", "tag ")), f"no line: {line}")
    return balanced(entries)


ONCE = re.compile(r" {4}(?:; UUID: (\S+)|\(booked:\S+\)  1 file = 1 file)")


def beancount(content: bytes) -> list[Imported]:
    """Beancount: an account begins with one of five words, and every text is in quotes."""
    entries: list[Imported] = []
    day, text = None, r'"([^"\\\n]*)"'
    for line in content.decode().splitlines():
        if head := re.fullmatch(rf"(\d{{4}}-\d\d-\d\d) \* {text}", line):
            day = date.fromisoformat(head[1])
        elif name := re.fullmatch(rf"  entry_id: {text}", line):
            require(day, "no entry")
            entries.append(Imported(name[1], day))
        elif posting := re.fullmatch(rf"  ({BEANCOUNT}) {{2,}}(-?\d+(\.\d+)?) [A-Z]{{3}}", line):
            entries[-1].lines.append((posting[1], Decimal(posting[2])))
        elif said := re.fullmatch(rf"    description: {text}", line):
            entries[-1].texts.append(said[1])
        else:
            is_mark = re.fullmatch(r"\d{4}-\d\d-\d\d open Equity:Booked:[A-Z0-9-]+", line)
            require(not line or line.startswith(";") or is_mark, f"no line: {line}")
    return balanced(entries)


BEANCOUNT = "(?:Assets|Liabilities|Equity|Income|Expenses)(?::[A-Z0-9][A-Za-z0-9-]*)+"
IMPORTERS: dict[str, Callable[[bytes], list[Imported]]] = {
    "qbo": qbo,
    "xero": xero,
    "odoo": odoo,
    "erpnext": erpnext,
    "netsuite": netsuite,
    "datev": datev,
    "hledger": plain_text,
    "ledger": plain_text,
    "beancount": beancount,
    "csv": plain,
}
