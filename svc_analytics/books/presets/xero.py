"""Xero: Accounting, Manual journals, Import."""

from svc_analytics.books.entry import Journal
from svc_analytics.books.presets.preset import CSV_FILE, CodeForm, Preset, at_most, harmless, rows

HEADER = (
    *("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
    *("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2"),
)
_LONGEST = 4000
_NARRATION = 500


def _write(journal: Journal) -> str:
    tracked = [cell for pair in journal.tracking.items() for cell in pair]
    ends = (tracked + [""] * 4)[:4]
    lines = [
        [
            # Lines of one narration and date are one journal: the id keeps two apart.
            f"{harmless(entry.narration, _NARRATION)} {entry.entry_id}",
            entry.day.strftime("%d/%m/%Y"),
            *(harmless(line.fitted(_LONGEST), _LONGEST), line.account, line.tax),
            *(journal.text(line.cents), *ends),
        ]
        for entry, line in journal.lines
    ]
    return rows([HEADER, *lines])


PRESET = Preset(
    "xero",
    "Xero",
    "csv",
    _write,
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
    file=CSV_FILE,
    most_lines=300,
)
