"""Systems that import a CSV, each a table of columns: its name, and the cell of a line."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, at_most, harmless
from svc_analytics.periods import CALENDARS

_CSV_FILE = CodeForm(r"(?i).+\.csv", "a name that ends in .csv", "books.csv")
_DATES = {"MDY": "%m/%d/%Y", "DMY": "%d/%m/%Y", "YMD": "%Y-%m-%d"}
_DATE_ORDER = CodeForm("MDY|DMY|YMD", "MDY, DMY or YMD", "MDY")


@dataclass(frozen=True)
class CsvRow:
    """A line of an entry, and the cells that more than one system has of it."""

    journal: Journal
    entry: Entry
    line: EntryLine
    place: int  # of the line in its entry, from 0

    def narration(self, most: int) -> str:
        """Say what the entry is about, in at most so many letters."""
        return harmless(self.entry.narration, most)

    def description(self, most: int) -> str:
        """Describe the line in at most so many letters."""
        return harmless(self.line.fitted(most), most)

    def setting(self, name: str) -> str:
        """Return a setting of the merchant; empty where there is none."""
        return self.journal.settings.get(name, "")

    def tracked(self, place: int) -> str:
        """Return a cell of what is tracked: names and values by turns, none behind the last."""
        cells = [cell for pair in self.journal.tracking.items() for cell in pair]
        return cells[place] if place < len(cells) else ""


Columns = Mapping[str, Callable[[CsvRow], str]]
_NO_COLUMNS: Columns = {}


def _entry_id(row: CsvRow) -> str:
    return row.entry.entry_id


def _account(row: CsvRow) -> str:
    return row.line.account


def _debit(row: CsvRow) -> str:
    return row.journal.debit(row.line)


def _credit(row: CsvRow) -> str:
    return row.journal.credit(row.line)


def _day(row: CsvRow) -> str:
    return row.entry.day.isoformat()


def _day_in_order(row: CsvRow) -> str:
    return row.entry.day.strftime(_DATES[row.setting("date_order") or "MDY"])


def csv_text(
    journal: Journal,
    of_line: Columns,
    of_entry: Columns = _NO_COLUMNS,
    tracked: Iterable[str] = (),
) -> str:
    """Write a row for each line; the columns of an entry are empty but on its first line.

    What the merchant tracks, of what a system has columns for, stands behind them.
    """
    names = [name for name in tracked if name in journal.tracking]
    lines = [[*of_entry, *of_line, *names]]
    for entry in journal.entries:
        for place, line in enumerate(entry.lines):
            row = CsvRow(journal, entry, line, place)
            first = ["" if place else cell(row) for cell in of_entry.values()]
            ends = [journal.tracking[name] for name in names]
            lines.append([*first, *(cell(row) for cell in of_line.values()), *ends])
    return csv_lines(lines)


def csv_lines(lines: Iterable[Iterable[str]], end: str = "\r\n") -> str:
    """Write cells as CSV, those in quotes that need it."""
    return "".join(",".join(map(_quoted, line)) + end for line in lines)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",;\r\n]', text) else text


def _with_rates(row: CsvRow) -> str:
    """Describe a line, with the external rate that there is: the file has no text of an entry."""
    text = row.line.fitted(4000 - len(row.entry.rates) - 2)
    return harmless(", ".join(filter(None, [text, row.entry.rates])), 4000)


# QuickBooks Online: Settings, Import data, Journal entries.
_QBO_COLUMNS: Columns = {
    "JournalNo": _entry_id,
    "JournalDate": _day_in_order,
    "AccountName": _account,
    "Debits": _debit,
    "Credits": _credit,
    "Description": _with_rates,
}
_QBO_TRACKED = ("Location", "Class")  # columns of a company that tracks them
QBO = Preset(
    "qbo",
    "QuickBooks Online",
    "csv",
    partial(csv_text, of_line=_QBO_COLUMNS, tracked=_QBO_TRACKED),
    arrives="posts at once",
    again="each entry is refused while the warning of a journal number used twice is on; "
    "with the warning off, all is booked twice",
    before="turn account numbers off, and the warning of a journal number used twice on",
    settings={"date_order": _DATE_ORDER},
    tracked=_QBO_TRACKED,
    file=_CSV_FILE,
    account=CodeForm('[^"]{1,100}', "at most 100 signs, and no double quotes", "Income:Sales"),
    longest_id=21,
    most_lines=999,  # rows of a file, as guides say; no page of the vendor does
)

# Xero: Accounting, Manual journals, Import.
_XERO_COLUMNS: Columns = {
    # Lines of one narration and date are one journal: the id keeps two apart.
    "*Narration": lambda row: f"{row.narration(500)} {row.entry.entry_id}",
    "*Date": lambda row: row.entry.day.strftime("%d/%m/%Y"),
    "Description": lambda row: row.description(4000),
    "*AccountCode": _account,
    "*TaxRate": lambda row: row.line.tax,
    "*Amount": lambda row: row.journal.text(row.line.cents),
    "TrackingName1": lambda row: row.tracked(0),
    "TrackingOption1": lambda row: row.tracked(1),
    "TrackingName2": lambda row: row.tracked(2),
    "TrackingOption2": lambda row: row.tracked(3),
}
XERO = Preset(
    "xero",
    "Xero",
    "csv",
    partial(csv_text, of_line=_XERO_COLUMNS),
    arrives="a draft, which an adviser posts",
    again="each entry is a second draft: delete those whose narration ends with an id that is "
    "there already",
    before="set the lock dates before the month; name a tax rate of 0 % in [tax]",
    takes_tax=True,
    needs_tax=True,
    tax=at_most(50, "Tax Exempt"),
    account=CodeForm(
        r"[A-Za-z0-9.-]{1,10}", "its code, at most 10 letters, digits, points and hyphens", "4000"
    ),
    tracked=None,
    file=_CSV_FILE,
    most_lines=300,
)


# Odoo: Accounting, Journal Entries, Import records. An entry and each line of it have an external
# id: a second import updates them. A line without one is made anew each time (`ir_fields`,
# `_str_to_one2many`).


def _odoo_id(row: CsvRow) -> str:
    return f"svcanalytics.{row.entry.entry_id.replace('-', '_')}"


def _odoo_line_id(row: CsvRow) -> str:
    """Return the external id of a line: by what it is of, whatever its account is."""
    name = _odoo_name(row.line)
    count = [*map(_odoo_name, row.entry.lines[: row.place + 1])].count(name)
    return f"{_odoo_id(row)}_{name}" if count == 1 else f"{_odoo_id(row)}_{name}_{count}"


def _odoo_name(line: EntryLine) -> str:
    """Name a line by letters, digits and underscores alone; no two coins have one name."""
    if re.fullmatch("[a-z0-9]*", line.coin):
        return f"{line.figure}_{line.coin}".rstrip("_")
    return f"{line.figure}__{line.coin.encode().hex()}"


# Technical names: Odoo takes any other for the one that it is most like.
_ODOO_ENTRY: Columns = {
    "id": _odoo_id,
    "journal_id": lambda row: row.setting("journal"),
    "date": _day,
    "ref": lambda row: harmless(f"{row.entry.entry_id} {row.entry.narration}", 250),
}
_ODOO_LINE: Columns = {
    "line_ids/id": _odoo_line_id,
    "line_ids/account_id": _account,
    "line_ids/name": lambda row: row.description(250),
    "line_ids/debit": _debit,
    "line_ids/credit": _credit,
}
ODOO = Preset(
    "odoo",
    "Odoo",
    "csv",
    partial(csv_text, of_line=_ODOO_LINE, of_entry=_ODOO_ENTRY),
    arrives="a draft; importing again updates it",
    again="the draft and its lines are updated by their external ids, and nothing is doubled; "
    "Odoo refuses to change an entry that is posted",
    before="take the default account off the journal, or Odoo may add a line of its own",
    settings={"journal": at_most(64, "Miscellaneous Operations")},
    required=("journal",),
    file=_CSV_FILE,
    account=CodeForm(
        r"[A-Za-z0-9.]{1,64}", "its code, at most 64 letters, digits and points", "4000"
    ),
)

# ERPNext: Data Import, Journal Entry, Insert New Records. An entry is named by its id, as Data
# Import takes it since 2022 (frappe#15238), and no two entries have one name. A row is of the
# entry above if, and only if, the cells of the entry are all blank.
_ERPNEXT_ENTRY: Columns = {
    "name": _entry_id,
    "voucher_type": lambda row: "Journal Entry",
    "posting_date": _day,
    "company": lambda row: row.setting("company"),
    "user_remark": lambda row: row.narration(140),
    "cheque_no": _entry_id,
    "cheque_date": _day,
}
_ERPNEXT_LINE: Columns = {
    "accounts.account": _account,
    "accounts.debit_in_account_currency": _debit,
    "accounts.credit_in_account_currency": _credit,
    "accounts.user_remark": lambda row: row.description(140),
    "accounts.cost_center": lambda row: row.setting("cost_center"),
}
ERPNEXT = Preset(
    "erpnext",
    "ERPNext",
    "csv",
    partial(csv_text, of_line=_ERPNEXT_LINE, of_entry=_ERPNEXT_ENTRY),
    arrives="a draft, unless Submit After Import is on",
    again="each entry is refused, because one of its name is there; Frappe of before 2022 gives "
    "names of its own, and takes it twice",
    before="leave Submit After Import off; look for the id in Reference Number first",
    settings={"company": at_most(140, "Acme Ltd"), "cost_center": at_most(140, "Main - ACME")},
    required=("company",),
    file=_CSV_FILE,
    account=at_most(140, "Sales - ACME"),
)

# NetSuite: Setup, Import/Export, Import CSV Records, Journal Entry.
_NETSUITE_COLUMNS: Columns = {
    "External ID": _entry_id,
    "Date": _day_in_order,
    "Memo": lambda row: row.narration(999),
    "Subsidiary": lambda row: row.setting("subsidiary"),
    "Journal Entry - Line: Account": _account,
    "Journal Entry - Line: Debit": _debit,
    "Journal Entry - Line: Credit": _credit,
    "Journal Entry - Line: Memo": lambda row: row.description(999),
}
NETSUITE = Preset(
    "netsuite",
    "NetSuite",
    "csv",
    partial(csv_text, of_line=_NETSUITE_COLUMNS),
    arrives="posts, or waits for approval, as the company is set",
    before="choose Add, and neither Update nor Add or Update; one entry that is refused fails the "
    "whole file: try it in a sandbox account",
    again="with Add, each entry is refused, because one of its External ID is there; with Add or "
    "Update, the entry is changed, and its lines, which have no key, may be added to it",
    settings={"date_order": _DATE_ORDER, "subsidiary": at_most(83, "Parent Company")},
    digits=10,
    file=_CSV_FILE,
)

# A plain CSV: one line a row, with all that is known of it.
_PLAIN: Mapping[str, tuple[str, Callable[[CsvRow], str]]] = {
    "entry_id": ("the entry, whose lines sum to zero", _entry_id),
    "day": ("day of the entry", _day),
    "narration": ("what the entry is about, in words", lambda row: row.narration(4000)),
    "figure": ("the figure that the line is of", lambda row: row.line.figure),
    "coin": (
        "coin slug; empty where the line is of all",
        lambda row: harmless(row.line.coin, 4000),
    ),
    "account": ("the account of the line", _account),
    "debit": ("what is debited to the account, in the column currency", _debit),
    "credit": ("what is credited to the account, in the column currency", _credit),
    "currency": ("the currency of the books", lambda row: row.journal.currency),
    "description": ("what the line is about, in words", lambda row: row.description(4000)),
    "tax": ("the tax code of the line", lambda row: row.line.tax),
}
PLAIN_MEANINGS = {name: meaning for name, (meaning, _) in _PLAIN.items()}


def _write_plain(journal: Journal) -> str:
    columns = {name: cell for name, (_, cell) in _PLAIN.items()}
    if journal.settings.get("jalali") == "yes":
        columns["jalali_day"] = lambda row: CALENDARS["jalali"].day_text(row.entry.day)
    return csv_text(journal, columns, tracked=journal.tracking)


PLAIN_CSV = Preset(
    "csv",
    "a plain CSV",
    "csv",
    _write_plain,
    arrives="as your program takes it",
    again="as your program takes it: entry_id stays the same, so it can find out",
    settings={"jalali": CodeForm("yes|no", "yes or no", "yes")},
    takes_tax=True,
    tracked=None,
    digits=40,
    places=18,
)
