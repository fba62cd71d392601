"""What a lake holds, by content: under it is kept what was found of a month."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath

from svc_analytics.closing.seals import STATEMENTS, Manifest, seal_of
from svc_analytics.files import program_digest
from svc_analytics.instants import parse_bound
from svc_analytics.lake.checksums import content_digest
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import data_folders
from svc_analytics.periods import Period, month_of
from svc_analytics.render.folder import MANIFEST
from svc_analytics.statements.balance_assertions import FILE as ASSERTIONS
from svc_analytics.warehouse.acknowledgements import FILE as ACCEPTED

_MONTH_FILE = re.compile("[0-9]{4}-[0-9]{2}")
_SEALED = [f"{STATEMENTS}/*/{name}" for name in (MANIFEST, "summary.*")]


@dataclass(frozen=True)
class LakeContents:
    """What a lake held at a moment: whose it is, and a digest of each file that answers rest on."""

    facts: tuple[str, ...]
    records: dict[str, str]  # by path below the lake
    beside: dict[str, str]  # what only a month without a seal is held to: balances, other seals

    @classmethod
    def read(cls, lake: Lake) -> "LakeContents":
        """Read what Parquet files say of themselves, and all bytes of the others."""
        facts = (lake.place, lake.merchant_id, program_digest())
        records = [ACCEPTED, *(f"{name}/*.parquet" for name in data_folders())]
        return cls(facts, _digests(lake, records), _digests(lake, [ASSERTIONS, *_SEALED]))

    def beneath(self, period: Period, sealed: Manifest | None) -> str:
        """Name all that an answer on a month is made of: on its newest seal, if it has one.

        A sealed month is stated as of its seal, so months behind that have no part in it.
        """
        facts = [*self.facts, period.folder, period.calendar, f"{period.start} {period.end}"]
        if sealed:
            until = month_of(parse_bound(sealed["as_of"])).label
            facts.append(seal_of(sealed))
            paths = [path for path in self.records if not _is_behind(path, until)]
        else:
            met = (ASSERTIONS, f"{STATEMENTS}/{period.shift(-1).folder}")
            paths = [*self.records, *(path for path in self.beside if path.startswith(met))]
        files = self.records | self.beside
        return "\n".join([*facts, *(f"{path} {files[path]}" for path in paths)])


def _digests(lake: Lake, patterns: Iterable[str]) -> dict[str, str]:
    digests = {}
    for path in sorted(path for each in patterns for path in lake.path.glob(each)):
        with suppress(FileNotFoundError):
            digests[path.relative_to(lake.path).as_posix()] = content_digest(path)
    return digests


def _is_behind(path: str, until: str) -> bool:
    month = PurePath(path).stem
    return bool(_MONTH_FILE.fullmatch(month)) and month > until
