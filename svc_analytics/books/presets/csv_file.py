"""A plain CSV: one line a row, with all that is known of it."""

from svc_analytics.books.entry import Entry, Journal, Line
from svc_analytics.books.presets.preset import Preset, harmless, rows
from svc_analytics.periods import CALENDARS

HEADER = (
    *("entry_id", "day", "narration", "figure", "coin", "account", "debit", "credit", "currency"),
    *("description", "tax"),
)
JALALI = "jalali_day"
_LONGEST = 4000


def _write(journal: Journal) -> str:
    has_jalali = journal.settings.get("jalali") == "yes"
    head = [*HEADER, *([JALALI] if has_jalali else []), *journal.tracking]
    lines = [_row(journal, entry, line, has_jalali) for entry, line in journal.lines]
    return rows([head, *lines])


def _row(journal: Journal, entry: Entry, line: Line, has_jalali: bool) -> list[str]:
    return [
        *(entry.entry_id, entry.day.isoformat(), harmless(entry.narration, _LONGEST)),
        *(line.figure, harmless(line.coin, _LONGEST), line.account),
        *(journal.debit(line), journal.credit(line), journal.currency),
        *(harmless(line.description, _LONGEST), line.tax),
        *([CALENDARS["jalali"].day_text(entry.day)] if has_jalali else []),
        *journal.tracking.values(),
    ]


PRESET = Preset(
    "csv",
    "a plain CSV",
    "csv",
    _write,
    arrives="as your program takes it",
    settings={"jalali": "yes|no"},
    digits=40,
    places=18,
)
