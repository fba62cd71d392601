"""What a comparison of a month with the lake said, kept for as long as the lake stays as it is.

It lies in the cache folder under a hash of all that it rests on, so it is never out of date; what
is lost there is only made again.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from svc_analytics.closing.register import FILE as REGISTER
from svc_analytics.closing.seals import STATEMENTS, Manifest
from svc_analytics.files import find_made, keep_made, program_digest
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import data_folders
from svc_analytics.messages import Message
from svc_analytics.periods import Period, month_of
from svc_analytics.statements.balance_assertions import FILE as ASSERTIONS
from svc_analytics.warehouse.acknowledgements import FILE as ACCEPTED

_KIND = "months"
_MOST = 1000  # answers that are kept
_MONTH_FILE = re.compile("[0-9]{4}-[0-9]{2}")


@dataclass(frozen=True)
class Judgement:
    """Why a month cannot be sealed, or would not be today, and whether it differs from its seal."""

    reasons: tuple[str, ...] = ()
    has_changed: bool = False

    @classmethod
    def read(cls, content: bytes) -> "Judgement":
        """Read what was kept."""
        facts = json.loads(content)
        stored = facts.pop("reasons")
        reasons = (each if isinstance(each, str) else Message.from_json(each) for each in stored)
        return cls(tuple(reasons), **facts)

    def to_json(self) -> str:
        """Return it as it is kept: of a reason that is a message, what it was made of."""
        reasons = [each.to_json() if isinstance(each, Message) else each for each in self.reasons]
        return json.dumps({"reasons": reasons, "has_changed": self.has_changed})


def find_judgement(lake: Lake, period: Period, sealed: Manifest | None) -> Judgement | None:
    """Return the kept judgement of a month, or of its newest seal; None where there is none."""
    content = find_made(_KIND, _rests_on(lake, period, sealed))
    return Judgement.read(content) if content else None


def keep_judgement(
    lake: Lake, period: Period, sealed: Manifest | None, judge: Callable[[], Judgement]
) -> Judgement:
    """Return the kept judgement of a month; where there is none, judge it and keep the answer."""

    def make() -> bytes:
        return judge().to_json().encode()

    return Judgement.read(keep_made(_KIND, _rests_on(lake, period, sealed), make, _MOST))


def _rests_on(lake: Lake, period: Period, sealed: Manifest | None) -> str:
    """Name all that an answer is made of: the month, its seal, the files, the program.

    A sealed month is stated as of its seal, so months behind that have no part in it.
    """
    until = month_of(parse_bound(sealed["as_of"])).label if sealed else ""
    seal = sealed["seal"] if sealed else ""
    facts = (lake.place, lake.merchant_id, period.folder, period.calendar, seal)
    return "\n".join([*facts, program_digest(), *_files(lake, until)])


def _files(lake: Lake, until: str) -> Iterator[str]:
    """Yield each file of the lake with its size and its time; of later months none."""
    names = [ACCEPTED] if until else [ACCEPTED, ASSERTIONS, f"{STATEMENTS}/{REGISTER}"]
    folders = (lake.path / name for name in data_folders())
    paths = (path for folder in folders for path in sorted(folder.glob("*.parquet")))
    for path in [*paths, *(lake.path / name for name in names)]:
        if not (until and _MONTH_FILE.fullmatch(path.stem) and path.stem > until):
            yield from _stamp(path)


def _stamp(path: Path) -> Iterator[str]:
    with suppress(FileNotFoundError):
        facts = path.stat()
        yield f"{path.parent.name}/{path.name} {facts.st_size} {facts.st_mtime_ns}"
