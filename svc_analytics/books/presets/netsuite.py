"""NetSuite: Setup, Import/Export, Import CSV Records, Journal Entry."""

from svc_analytics.books.entry import Journal
from svc_analytics.books.presets.preset import CSV_FILE, CodeForm, Preset, at_most, harmless, rows

_OF_LINE = "Journal Entry - Line: "
HEADER = (
    *("External ID", "Date", "Memo", "Subsidiary"),
    *(f"{_OF_LINE}{name}" for name in ("Account", "Debit", "Credit", "Memo")),
)
_DATES = {"MDY": "%m/%d/%Y", "DMY": "%d/%m/%Y", "YMD": "%Y-%m-%d"}
_LONGEST = 999


def _write(journal: Journal) -> str:
    date = _DATES[journal.settings.get("date_order", "MDY")]
    subsidiary = journal.settings.get("subsidiary", "")
    lines = [
        [
            *(entry.entry_id, entry.day.strftime(date)),
            *(harmless(entry.narration, _LONGEST), subsidiary, line.account),
            *(journal.debit(line), journal.credit(line)),
            harmless(line.fitted(_LONGEST), _LONGEST),
        ]
        for entry, line in journal.lines
    ]
    return rows([HEADER, *lines])


PRESET = Preset(
    "netsuite",
    "NetSuite",
    "csv",
    _write,
    arrives="posts, or waits for approval, as the company is set",
    before="choose Add, and neither Update nor Add or Update; one entry that is refused fails the "
    "whole file: try it in a sandbox account",
    again="with Add, each entry is refused, because one of its External ID is there; with Add or "
    "Update, the entry is changed, and its lines, which have no key, may be added to it",
    settings={
        "date_order": CodeForm("MDY|DMY|YMD", "MDY, DMY or YMD", "MDY"),
        "subsidiary": at_most(83, "Parent Company"),
    },
    digits=10,
    file=CSV_FILE,
)
