"""ERPNext: Data Import, Journal Entry, Insert New Records.

An entry is named by its id, as Data Import takes it since 2022 (frappe#15238), and no two entries
have one name.
"""

from svc_analytics.books.entry import Journal
from svc_analytics.books.presets.preset import (
    CSV_FILE,
    Preset,
    at_most,
    harmless,
    only_first,
    rows,
    with_places,
)

HEADER = (
    *("name", "voucher_type", "posting_date", "company", "user_remark"),
    *("cheque_no", "cheque_date"),
    *("accounts.account", "accounts.debit_in_account_currency"),
    *("accounts.credit_in_account_currency", "accounts.user_remark", "accounts.cost_center"),
)
_LONGEST = 140


def _write(journal: Journal) -> str:
    company = journal.settings.get("company", "")
    center = journal.settings.get("cost_center", "")
    lines = []
    for place, entry, line in with_places(journal):
        day, remark = entry.day.isoformat(), harmless(entry.narration, _LONGEST)
        outer = [entry.entry_id, "Journal Entry", day, company, remark, entry.entry_id, day]
        inner = [line.account, journal.debit(line), journal.credit(line)]
        inner += [harmless(line.fitted(_LONGEST), _LONGEST), center]
        # A row is of the entry above if, and only if, these cells are all blank.
        lines.append([*only_first(place, outer), *inner])
    return rows([HEADER, *lines])


PRESET = Preset(
    "erpnext",
    "ERPNext",
    "csv",
    _write,
    arrives="a draft, unless Submit After Import is on",
    again="each entry is refused, because one of its name is there; Frappe of before 2022 gives "
    "names of its own, and takes it twice",
    before="leave Submit After Import off; look for the id in Reference Number first",
    settings={"company": at_most(140, "Acme Ltd"), "cost_center": at_most(140, "Main - ACME")},
    required=("company",),
    file=CSV_FILE,
    account=at_most(140, "Sales - ACME"),
)
