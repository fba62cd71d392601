"""Odoo: Accounting, Journal Entries, Import records."""

from svc_analytics.books.entry import Journal
from svc_analytics.books.presets.form import CodeForm, at_most
from svc_analytics.books.presets.preset import Preset, harmless, only_first, rows, with_places

# Technical names: Odoo takes any other for the one that it is most like.
HEADER = (
    *("id", "journal_id", "date", "ref"),
    *("line_ids/account_id", "line_ids/name", "line_ids/debit", "line_ids/credit"),
)
_LONGEST = 250


def _write(journal: Journal) -> str:
    name = journal.settings.get("journal", "")
    lines = []
    for place, entry, line in with_places(journal):
        outer = [
            f"svcanalytics.{entry.entry_id.replace('-', '_')}",
            name,
            entry.day.isoformat(),
            harmless(f"{entry.entry_id} {entry.narration}", _LONGEST),
        ]
        amounts = (journal.debit(line), journal.credit(line))
        inner = [line.account, harmless(line.fitted(_LONGEST), _LONGEST), *amounts]
        lines.append([*only_first(place, outer), *inner])
    return rows([HEADER, *lines])


PRESET = Preset(
    "odoo",
    "Odoo",
    "csv",
    _write,
    arrives="a draft; importing again updates it",
    before="take the default account off the journal, or Odoo may add a line of its own",
    settings={"journal": at_most(64, "Miscellaneous Operations")},
    required=("journal",),
    account=CodeForm(
        r"[A-Za-z0-9.]{1,64}", "its code, at most 64 letters, digits and points", "4000"
    ),
)
