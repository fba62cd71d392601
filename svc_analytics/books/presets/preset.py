"""What every preset says of itself, and what an importer would refuse of a journal."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import single_line

_LONGEST = 60


@dataclass(frozen=True)
class CodeForm:
    """The form of an account, a tax code or a setting: as an expression, and in words."""

    pattern: str
    words: str
    example: str

    def refusal(self, text: str) -> str:
        """Say why a text is not of the form, and how to write it; empty where it is.

        >>> CodeForm("[A-Z]{1,3}", "1 to 3 capital letters", "SVC").refusal("a  b")
        "cannot be 'a␣␣b': write 1 to 3 capital letters, as SVC"
        """
        if re.fullmatch(self.pattern, text):
            return ""
        return f"cannot be '{shown(text)}': write {self.words}, as {self.example}"


def shown(text: str) -> str:
    """Return a text in which unseen signs, and blanks side by side or at an end, can be seen."""
    visible = "".join(sign if sign.isprintable() else f"[U+{ord(sign):04X}]" for sign in text)
    cut = visible if len(visible) <= _LONGEST else f"{visible[:_LONGEST]}…"
    return re.sub("^ +| {2,}| +$", lambda blanks: "␣" * len(blanks[0]), cut)


ANY_FILE = CodeForm(".+", "any name", "books.txt")


def at_most(count: int, example: str) -> CodeForm:
    """Return the form of a text that is free but for its length."""
    return CodeForm(f".{{1,{count}}}", f"at most {count} signs", example)


_ACCOUNT = at_most(100, "4000")
_TAX = at_most(100, "Tax Exempt")
_TRACKING = at_most(100, "Online")
CLEARING = "clearing"  # the setting of an account that each line is booked against
_STARTS = re.compile(r"^[=+\-@'\s]+")


@dataclass(frozen=True)
class Preset:
    """A system's import file: how it is written, and what its importer refuses."""

    name: str
    title: str
    ending: str
    write: Callable[[Journal], str]
    arrives: str  # what becomes of an imported entry
    again: str  # what becomes of it when the file is imported again
    before: str = ""  # what to do in the system before an import
    encoding: str = "utf-8"
    settings: Mapping[str, CodeForm] = field(default_factory=dict)  # the form of each
    required: tuple[str, ...] = ()
    takes_tax: bool = False
    needs_tax: bool = False
    tax: CodeForm = _TAX
    account: CodeForm = _ACCOUNT
    account_by: Callable[[Mapping[str, str]], CodeForm] | None = None  # where settings decide
    tracked: tuple[str, ...] | None = ()  # what it tracks; None for whatever the merchant names
    tracking: CodeForm = _TRACKING
    digits: int = 11  # the most that may stand before the point
    places: int = 2  # the most behind it
    most_lines: int | None = None  # of a file
    longest_id: int | None = None  # signs of an entry's id
    file: CodeForm = ANY_FILE  # what its name must be
    file_prefix: str = ""  # how the name begins
    is_included: bool = False  # a file stays where the program reads it: none takes its place
    file_of: Callable[[Journal, Entry], object] = lambda journal, entry: None  # what parts files

    def form_of_account(self, settings: Mapping[str, str]) -> CodeForm:
        """Return the form of an account, in a company with these settings."""
        return self.account_by(settings) if self.account_by else self.account

    def files(self, journal: Journal) -> list[bytes]:
        """Write a journal: one file, or more where a file takes no more lines."""
        self.check(journal)
        return [self.write(part).encode(self.encoding) for part in self._parts(journal)]

    def left_out(self, tax: Iterable[str], tracking: Iterable[str]) -> list[str]:
        """Name the settings of the merchant that a file for this system has no place for."""
        names = [f"the code of {name} in [tax]" for name in tax if not self.takes_tax]
        known = tracking if self.tracked is None else self.tracked
        return names + [f"{name} in [tracking]" for name in tracking if name not in known]

    def check(self, journal: Journal) -> None:
        """Raise `ConfigError` for what the system would refuse, and say how to mend it.

        What it would refuse of the file of accounts is `accounts.refusals`.
        """
        for problem in self._problems(journal):
            raise ConfigError(f"{self.title} would refuse this: {problem}")

    def _problems(self, journal: Journal) -> Iterator[str]:
        for name in self.required:
            if name not in journal.settings:
                yield f"write {name} below [{self.name}] in the file of accounts"
        if journal.places > self.places:
            yield f"{journal.currency} has {journal.places} places, and it takes {self.places}"
        for entry in journal.entries:
            if self.longest_id and len(entry.entry_id) > self.longest_id:
                yield f"the id {entry.entry_id} has over {self.longest_id} signs: book it by hand"
            if sum(line.cents for line in entry.lines):
                yield f"{entry.entry_id} is out of balance"
            if self.most_lines and len(entry.lines) > self.most_lines:
                yield f"{entry.entry_id} has over {self.most_lines} lines"
            for line in entry.lines:
                yield from self._problems_of(line, entry, journal)

    def _problems_of(self, line: EntryLine, entry: Entry, journal: Journal) -> Iterator[str]:
        if why := self.form_of_account(journal.settings).refusal(line.account):
            yield f"an account {why}"
        if line.account == journal.settings.get(CLEARING):
            yield f"{line.figure} is booked on {line.account}, the clearing account itself"
        if abs(line.cents) >= 10 ** (self.digits + journal.places):
            yield f"{line.figure} of {entry.day} has over {self.digits} digits: book it by hand"

    def _parts(self, journal: Journal) -> Iterator[Journal]:
        """Yield a journal in parts of whole entries that a file takes."""
        part: list[Entry] = []
        for entry in journal.entries:
            if part and self._is_full(part, entry, journal):
                yield replace(journal, entries=tuple(part))
                part = []
            part.append(entry)
        yield replace(journal, entries=tuple(part))

    def _is_full(self, part: list[Entry], entry: Entry, journal: Journal) -> bool:
        """Whether an entry needs another file than those before it."""
        count = sum(len(each.lines) for each in (*part, entry))
        is_other = self.file_of(journal, part[0]) != self.file_of(journal, entry)
        return is_other or (self.most_lines is not None and count > self.most_lines)


def harmless(text: str, most: int, without: str = "") -> str:
    """Return a text for a cell: one visible line that is no formula, cut to a length.

    An importer takes an apostrophe before a formula literally, so its first signs go instead.

    >>> harmless("=cmd()|x", 20, "|"), harmless("12 payments", 6)
    ('cmd() x', '12 pa…')
    """
    line = single_line("".join(" " if sign in without else sign for sign in text))
    line = _STARTS.sub("", line)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
