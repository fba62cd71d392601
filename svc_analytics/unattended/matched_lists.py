"""The lists of others that SVC_MATCH names, and their matches with the months that a run closed.

What became of a match changes nothing of the close. Each open row is a state of its own, so that a
row that stays open is told once, and one that is new is told.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing.result import CloseResult
from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import counted
from svc_analytics.lake.lake import Lake
from svc_analytics.matching.headings import BOOKS, KINDS
from svc_analytics.matching.tables import MEANING
from svc_analytics.money import format_amount
from svc_analytics.periods import MONTH, noun_of
from svc_analytics.unattended.notices import OPEN, Notice, read_notice_log, state

NAME = "SVC_MATCH"
_UNMATCHED, _MONTH = "unmatched", "{month}"
_MOST = 200  # open rows of a list that are told one by one


@dataclass(frozen=True)
class NamedList:
    """A list that the settings name: what it is of, and its file, whose name may hold a month."""

    name: str  # orders, payouts, or books and their ledger, such as books-xero
    path: str

    @property
    def how(self) -> tuple[str, str | None]:
        """The kind of the list, and the ledger of books."""
        kind, _, ledger = self.name.partition("-")
        return kind, ledger or None

    @property
    def is_monthly(self) -> bool:
        """Whether each month has a file of its own."""
        return _MONTH in self.path

    def file(self, folder: Path, label: str) -> Path:
        """Return the file of a month, by the label of its folder."""
        return folder / self.path.replace(_MONTH, label.partition("@")[0])


def read_lists(text: str) -> tuple[NamedList, ...]:
    """Read the text of SVC_MATCH; raise `ConfigError` for what names no list.

    >>> [each.name for each in read_lists("orders=a-{month}.csv, books-xero=/srv/ledger.csv")]
    ['orders', 'books-xero']
    """
    lists = []
    for part in filter(None, map(str.strip, re.split(r"[,\r\n]", text))):
        name, _, path = map(str.strip, part.partition("="))
        lists.append(NamedList(name, path))
        kind, ledger = lists[-1].how
        if not path or kind not in KINDS or (ledger in PRESETS) != (kind == BOOKS):
            forms = "orders=FILE, payouts=FILE or books-xero=FILE, with commas between"
            raise ConfigError(f"{NAME} has {part!r:.60}: write {forms}")
    return tuple(lists)


@dataclass(frozen=True)
class ListMatches:
    """The matches of a run: its lake, where the settings are from, and the months' zone."""

    lake: Lake
    source: SettingPlaces
    at: PeriodOptions

    def states(self, results: Sequence[CloseResult]) -> Iterator[tuple[str, list[Notice]]]:
        """Match what the settings name; yield a line for each match, and what is to be told of it.

        The months are those that this run sealed, the newest sealed one, and those of which rows
        were open.
        """
        log = read_notice_log(self.lake.path).command("close")
        before = [each for each in log.states if each.event == OPEN]
        try:
            lists = self.source.read(NAME, read_lists)
        except ConfigError as error:
            yield str(error), [_failed(NAME, "", error), *before]
            return
        for label in _months(results, before):
            for each in lists:
                yield self._matched(each, label, before)

    def _matched(
        self, each: NamedList, label: str, before: Iterable[Notice]
    ) -> tuple[str, list[Notice]]:
        from svc_analytics.matching.match import match  # loads what reads lists

        file, (kind, ledger) = each.file(self.source.folder, label), each.how
        of = f"{label}, {each.name}"
        try:
            month = label.partition("@")[0]
            both = match(self.lake, kind, file, month=month, preset=ledger, **self.at)
            both.save()
        except Exception as error:  # whatever it is, the month is closed
            known = [one for one in before if one.subject == _subject(of)]
            return f"{of}: not matched: {error}", [_failed(of, label, error), *known]
        rows = both.table.filter(both.table["is_open"])
        states = [_row(of, label, row) for row in rows.slice(0, _MOST).to_pylist()]
        if len(rows) > _MOST:
            line = f"and {len(rows) - _MOST} more: svc-analytics match lists them"
            states.append(state(f"{OPEN}:{of}:{line}", OPEN, [_subject(of), line], label))
        texts = [counted(both.open_count, "open row"), *both.notes]
        return f"{of}: {', '.join(texts)}, saved in {both.place}", states


def _months(results: Sequence[CloseResult], before: Iterable[Notice]) -> list[str]:
    """Return the labels of the months to match, oldest first."""
    sealed = [each for each in results if each.seal and noun_of(each.label) == MONTH]
    labels = {each.label for each in sealed if each.is_new} | {each.period for each in before}
    return [each.label for each in sealed if each.label in labels or each is sealed[-1]]


def _subject(of: str) -> str:
    return f"{of}: rows are open"


def _row(of: str, label: str, row: dict[str, Any]) -> Notice:
    sides = [
        f"{side} {row[f'{side}_key'] or '–'} {format_amount(amount)} {row[f'{side}_currency']}"
        for side in ("theirs", "ours")
        if (amount := row[f"{side}_amount"]) is not None
    ]
    line = f"{MEANING[row['code']]}: {', '.join(sides)}"
    digest = sha256(f"{line} {row['record_ids']}".encode()).hexdigest()[:16]
    return state(f"{OPEN}:{of}:{digest}", OPEN, [_subject(of), line], label)


def _failed(of: str, label: str, error: Exception) -> Notice:
    digest = sha256(str(error).encode()).hexdigest()[:16]
    return state(f"{_UNMATCHED}:{of}:{digest}", _UNMATCHED, [f"{of}: not matched: {error}"], label)
