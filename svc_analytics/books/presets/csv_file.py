"""A plain CSV: one line a row, with all that is known of it."""

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, harmless, rows
from svc_analytics.periods import CALENDARS

# The columns, with their meanings.
HEADER = {
    "entry_id": "the entry, whose lines sum to zero",
    "day": "day of the entry",
    "narration": "what the entry is about, in words",
    "figure": "the figure that the line is of",
    "coin": "coin slug; empty where the line is of all",
    "account": "the account of the line",
    "debit": "what is debited to the account, in the column currency",
    "credit": "what is credited to the account, in the column currency",
    "currency": "the currency of the books",
    "description": "what the line is about, in words",
    "tax": "the tax code of the line",
}
JALALI = "jalali_day"
_LONGEST = 4000


def _write(journal: Journal) -> str:
    has_jalali = journal.settings.get("jalali") == "yes"
    head = [*HEADER, *([JALALI] if has_jalali else []), *journal.tracking]
    lines = [_row(journal, entry, line, has_jalali) for entry, line in journal.lines]
    return rows([head, *lines])


def _row(journal: Journal, entry: Entry, line: EntryLine, has_jalali: bool) -> list[str]:
    return [
        *(entry.entry_id, entry.day.isoformat(), harmless(entry.narration, _LONGEST)),
        *(line.figure, harmless(line.coin, _LONGEST), line.account),
        *(journal.debit(line), journal.credit(line), journal.currency),
        *(harmless(line.fitted(_LONGEST), _LONGEST), line.tax),
        *([CALENDARS["jalali"].day_text(entry.day)] if has_jalali else []),
        *journal.tracking.values(),
    ]


PRESET = Preset(
    "csv",
    "a plain CSV",
    "csv",
    _write,
    arrives="as your program takes it",
    again="as your program takes it: entry_id stays the same, and tells it",
    settings={"jalali": CodeForm("yes|no", "yes or no", "yes")},
    takes_tax=True,
    tracked=None,
    digits=40,
    places=18,
)
