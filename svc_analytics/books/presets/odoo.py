"""Odoo: Accounting, Journal Entries, Import records.

An entry and each line of it have an external id: a second import updates them. A line without one
is made anew each time (`ir_fields`, `_str_to_one2many`).
"""

import re
from collections import Counter
from collections.abc import Iterator

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.presets.preset import (
    CSV_FILE,
    CodeForm,
    Preset,
    at_most,
    harmless,
    only_first,
    rows,
    with_places,
)

# Technical names: Odoo takes any other for the one that it is most like.
HEADER = (
    *("id", "journal_id", "date", "ref"),
    *("line_ids/id", "line_ids/account_id", "line_ids/name"),
    *("line_ids/debit", "line_ids/credit"),
)
_LONGEST = 250


def _write(journal: Journal) -> str:
    name = journal.settings.get("journal", "")
    ids = [line_id for entry in journal.entries for line_id in _line_ids(entry)]
    lines = []
    for line_id, (place, entry, line) in zip(ids, with_places(journal), strict=True):
        text = harmless(f"{entry.entry_id} {entry.narration}", _LONGEST)
        outer = [_entry_id(entry), name, entry.day.isoformat(), text]
        inner = [line_id, line.account, harmless(line.fitted(_LONGEST), _LONGEST)]
        amounts = (journal.debit(line), journal.credit(line))
        lines.append([*only_first(place, outer), *inner, *amounts])
    return rows([HEADER, *lines])


def _entry_id(entry: Entry) -> str:
    return f"svcanalytics.{entry.entry_id.replace('-', '_')}"


def _line_ids(entry: Entry) -> Iterator[str]:
    """Yield the external ids of an entry's lines: by what each is of, whatever its account is."""
    seen: Counter[str] = Counter()
    for line in entry.lines:
        name = f"{_entry_id(entry)}_{_name(line)}"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}_{seen[name]}"


def _name(line: EntryLine) -> str:
    """Name a line by letters, digits and underscores alone; no two coins have one name."""
    if re.fullmatch("[a-z0-9]*", line.coin):
        return f"{line.figure}_{line.coin}".rstrip("_")
    return f"{line.figure}__{line.coin.encode().hex()}"


PRESET = Preset(
    "odoo",
    "Odoo",
    "csv",
    _write,
    arrives="a draft; importing again updates it",
    again="the draft and its lines are updated by their external ids, and nothing is doubled; "
    "Odoo refuses to change an entry that is posted",
    before="take the default account off the journal, or Odoo may add a line of its own",
    settings={"journal": at_most(64, "Miscellaneous Operations")},
    required=("journal",),
    file=CSV_FILE,
    account=CodeForm(
        r"[A-Za-z0-9.]{1,64}", "its code, at most 64 letters, digits and points", "4000"
    ),
)
