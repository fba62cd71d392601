"""A ledger's own export beside the entries that were imported into it."""

import random
from decimal import Decimal
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.books.accounts import FILE, read_accounts, starter
from svc_analytics.books.export import books_for
from svc_analytics.closing.handover.books import books_source
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY
from svc_analytics.lakehouse import Lakehouse
from tests.support.seeded_shops import MONTH, counts, payment_of, write_lake

Lines = list[tuple[str, int]]  # an account, and its cents
Entries = dict[str, tuple[str, Lines]]  # by id: the day and the lines


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    """A lake with a payment on each of ten days, and a chart of accounts."""
    rng = random.Random(7)
    paid = [
        payment_of(rng, "usdt", Decimal(100 + n), MONTH.start + n * DAY + 1)
        | {"usd_value": Decimal(100 + n), "fee_amount": Decimal(1), "net_amount": Decimal(99 + n)}
        for n in range(10)
    ]
    lake = write_lake(tmp_path / "lake", paid, [])
    (lake.path / FILE).write_text(starter(["usdt"]))
    return lake


def entries_of(lake: Lakehouse) -> Entries:
    source = books_source(lake, "2026-10", {}, may_be_provisional=True)
    books = books_for(lake, source, read_accounts(lake.path / FILE), "qbo")
    return {
        entry.entry_id: (entry.day.isoformat(), [(x.account, x.cents) for x in entry.lines])
        for entry in books.journal.entries
    }


def text(cents: int) -> str:
    return format(Decimal(abs(cents)).scaleb(-2), "f")


def qbo(name: str, day: str, lines: Lines) -> list[str]:
    sides = [(text(n), "") if n > 0 else ("", text(n)) for _, n in lines]
    return [
        f"{name},{day},{account},{debit},{credit},USD"
        for (account, _), (debit, credit) in zip(lines, sides, strict=True)
    ]


def xero(name: str, day: str, lines: Lines) -> list[str]:
    year, month, of = day.split("-")
    signed = [(account, f"{'-' * (n < 0)}{text(n)}") for account, n in lines]
    return [f'"Sales, {name}",{of}/{month}/{year},{account},{n}' for account, n in signed]


def odoo(name: str, day: str, lines: Lines) -> list[str]:
    rows = [row.split(",") for row in qbo(name, day, lines)]
    return [
        ",".join((row[:2] if not place else ["", ""]) + [f"{row[2]} Name", *row[3:5]])
        for place, row in enumerate(rows)
    ]


def report(name: str, day: str, lines: Lines) -> list[str]:
    """QuickBooks' own report: the lines of an entry, then what they come to, then an empty one."""
    rows = [row.split(",") for row in qbo(name, day, lines)]
    cells = [(row[:2] if not place else ["", ""]) + row[2:5] for place, row in enumerate(rows)]
    total = text(sum(n for _, n in lines if n > 0))
    return [*map(",".join, cells), f",,,{total},{total}", ""]


def dated_once(name: str, day: str, lines: Lines) -> list[str]:
    """Each line has the entry's number, and the first alone its day."""
    first, *others = qbo(name, day, lines)
    return [first, *(row.replace(f",{day},", ",,") for row in others)]


def hledger(name: str, day: str, lines: Lines) -> list[str]:
    """With the posting that need not balance, by which a file that is read twice is refused."""
    postings = [(account, f"{'-' * (n < 0)}{text(n)} USD") for account, n in lines]
    return [f"1{name},{day},{name},Sales,{account},{n},0" for account, n in postings] + [
        f"1{name},{day},{name},Sales,(booked:{name}),1 file,1 file"
    ]


def beancount(name: str, day: str, lines: Lines) -> list[str]:
    """What bean-query gives of: date, narration, account, position, entry_meta('entry_id')."""
    return [
        f'{day},"Payments, refunds",{account}, {"-" * (n < 0)}{text(n)} USD,{name}'
        for account, n in lines
    ]


HEADS = {
    beancount: "date,narration,account,position,entry_id",
    qbo: "JournalNo,JournalDate,AccountName,Debits,Credits,Currency",
    dated_once: "JournalNo,JournalDate,AccountName,Debits,Credits,Currency",
    xero: "*Narration,*Date,*AccountCode,*Amount",
    report: 'Acme Inc.\n"October 1-31, 2026"\n\nNum,Date,Account,Debit,Credit',
    hledger: "txnidx,date,code,description,account,amount,total",
    odoo: "id,date,line_ids/account_id,line_ids/debit,line_ids/credit",
}


def matched(lake: Lakehouse, write, entries: list[tuple[str, str, Lines]]) -> svc.Match:
    rows = [row for entry in entries for row in write(*entry)]
    path = lake.path.parent / "ledger.csv"
    path.write_text("\n".join([HEADS[write], *rows]))
    return svc.match(lake, "books", path, month="2026-10", preset="qbo")


@pytest.mark.parametrize("write", HEADS, ids=lambda each: each.__name__)
def test_an_export_that_holds_each_entry_once_agrees(write, lake):
    """Of a system with ids, one where the id stands in a text, one that leaves cells empty."""
    entries = entries_of(lake)
    both = matched(lake, write, [(name, *entry) for name, entry in entries.items()])
    debits = sum(n for _, lines in entries.values() for _, n in lines if n > 0)
    assert counts(both) == {"agreed": len(entries)} and not both.open_count
    assert both.total("theirs") == both.total("ours") == {"usd": Decimal(debits).scaleb(-2)}


@pytest.mark.parametrize("write", [qbo, odoo], ids=lambda each: each.__name__)
def test_each_line_counts_once_where_accounts_begin_alike_or_stand_in_brackets(write, lake):
    """In the books "4000" begins "4000 fees"; Odoo's export has a name behind each."""
    chart = starter(["usdt"]).replace('"6100"', '"4000 fees"').replace('"1010"', '"(cash)"')
    (lake.path / FILE).write_text(chart)
    entries = entries_of(lake)
    assert {"4000", "4000 fees", "(cash)"} <= {name for _, x in entries.values() for name, _ in x}
    both = matched(lake, write, [(name, *entry) for name, entry in entries.items()])
    assert counts(both) == {"agreed": len(entries)}


@pytest.mark.parametrize("write", HEADS, ids=lambda each: each.__name__)
def test_each_way_in_which_an_entry_differs_has_a_line(write, lake):
    """Deleted, doubled, on another account, in another month, not ours: each once; edited, two.

    Of those one has other amounts, and one another day of the month.
    """
    (one, two, three, four, five, six, *others) = [(k, *v) for k, v in entries_of(lake).items()]
    edited = [(account, 2 * cents) for account, cents in two[2]]  # which is not written twice
    moved = [(account.replace("4000", "4001"), cents) for account, cents in three[2]]
    foreign = ("RENT-1", "2026-10-09", [("6000", 5000), ("1000", -5000)])
    theirs = [(two[0], two[1], edited), (three[0], three[1], moved), (six[0], "2026-10-30", six[2])]
    theirs += [(four[0], "2026-11-02", four[2]), five, five, foreign, *others]
    both = matched(lake, write, theirs)
    assert counts(both) == {
        "agreed": len(others),
        "other_period": 1,
        "entry_missing": 1,
        "entry_doubled": 1,
        "entry_edited": 2,
        "entry_foreign": 1,
        "other_account": 1,
    }
    assert both.by["entry_missing"]["ours"] == {"usd": debit(one[2])}
    assert both.by["entry_doubled"]["theirs"] == {"usd": 2 * debit(five[2])}
    assert both.by["other_period"]["theirs"] == {}
    assert both.by["entry_foreign"]["theirs"] == {"usd": Decimal(50)}


def test_an_entry_in_two_currencies_is_edited_and_one_without_a_day_is_refused(lake):
    """A line of 50 in another coin is no part of the sum in USD; without a day it has no month."""
    (name, (day, lines)), *others = entries_of(lake).items()
    rows = [row for other, entry in others for row in qbo(other, *entry)]
    path = lake.path.parent / "ledger.csv"
    euros = f"{name},{day},1000,50.00,,EUR"
    path.write_text("\n".join([HEADS[qbo], *rows, *qbo(name, day, lines), euros]))
    both = svc.match(lake, "books", path, month="2026-10", preset="qbo")
    assert counts(both) == {"agreed": len(others), "entry_edited": 1}
    assert both.by["entry_edited"]["theirs"] == {"eur": Decimal(50), "usd": debit(lines)}
    path.write_text("\n".join([HEADS[qbo], *rows, *qbo(name, "", lines)]))
    with pytest.raises(ConfigError, match=rf"line {len(rows) + 2}: its entry has no day"):
        svc.match(lake, "books", path, month="2026-10", preset="qbo")


def debit(lines: Lines) -> Decimal:
    return Decimal(sum(cents for _, cents in lines if cents > 0)).scaleb(-2)


def test_the_file_that_was_imported_is_not_the_ledgers_own(lake):
    """It would agree whatever the ledger holds."""
    folder = lake.path / "books"
    folder.mkdir()
    rows = [row for name, entry in entries_of(lake).items() for row in qbo(name, *entry)]
    (folder / "2026-10.qbo.csv").write_text("\n".join([HEADS[qbo], *rows]))
    with pytest.raises(ConfigError, match="is our own"):
        svc.match(lake, "books", folder / "2026-10.qbo.csv", month="2026-10", preset="qbo")
