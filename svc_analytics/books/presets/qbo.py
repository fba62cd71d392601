"""QuickBooks Online: Settings, Import data, Journal entries."""

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.presets.preset import CSV_FILE, CodeForm, Preset, harmless, rows

HEADER = ("JournalNo", "JournalDate", "AccountName", "Debits", "Credits", "Description")
_TRACKED = ("Location", "Class")  # columns of a company that tracks them
_DATES = {"MDY": "%m/%d/%Y", "DMY": "%d/%m/%Y", "YMD": "%Y-%m-%d"}
_LONGEST = 4000


def _write(journal: Journal) -> str:
    date = _DATES[journal.settings.get("date_order", "MDY")]
    tracked = [name for name in _TRACKED if name in journal.tracking]
    ends = [journal.tracking[name] for name in tracked]
    lines = [
        [
            *(entry.entry_id, entry.day.strftime(date), line.account),
            *(journal.debit(line), journal.credit(line)),
            *(_description(entry, line), *ends),
        ]
        for entry, line in journal.lines
    ]
    return rows([[*HEADER, *tracked], *lines])


def _description(entry: Entry, line: EntryLine) -> str:
    """Say on each line which external rate there is: the file has no text of an entry."""
    text = line.fitted(_LONGEST - len(entry.rates) - 2)
    return harmless(", ".join(filter(None, [text, entry.rates])), _LONGEST)


PRESET = Preset(
    "qbo",
    "QuickBooks Online",
    "csv",
    _write,
    arrives="posts at once",
    again="each entry is refused while the warning of a journal number used twice is on; "
    "with the warning off, all is booked twice",
    before="turn account numbers off, and the warning of a journal number used twice on",
    settings={"date_order": CodeForm("MDY|DMY|YMD", "MDY, DMY or YMD", "MDY")},
    tracked=_TRACKED,
    file=CSV_FILE,
    account=CodeForm('[^"]{1,100}', "at most 100 signs, and no double quotes", "Income:Sales"),
    longest_id=21,
    most_lines=999,  # rows of a file, as guides say; no page of the vendor does
)
