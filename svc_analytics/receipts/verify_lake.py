"""Verify the lake's own receipts: one file of verdicts per UTC month of `paid_at`.

With each verdict the file keeps what it depends on: the token, the version of the record,
and a fingerprint of the key ring and the rules. A later run verifies only where one changed.
"""

import hashlib
import hmac
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from svc_analytics.config import Settings
from svc_analytics.errors import LakeError, system_refusals
from svc_analytics.files import locked
from svc_analytics.formatting.display import Display, count_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.instants import now as machine_clock
from svc_analytics.interrupts import check_stop
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN, VERDICTS, VERDICTS_FOLDER
from svc_analytics.lake.side_files import begin_side_folders, list_files
from svc_analytics.messages import Message
from svc_analytics.periods import utc_months
from svc_analytics.receipts.bulk import BulkVerifier, VerifyOnline
from svc_analytics.receipts.helper_processes import (
    PlainRing,
    begin_helper,
    map_shared,
    take_verdicts,
    verify_into_file,
)
from svc_analytics.receipts.lake_months import (
    UNFINISHED,
    Month,
    MonthPart,
    count_parts,
    count_verdicts,
    parts_of,
    read_verdicts,
    verify_part,
    write_verdicts,
)
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.secrets import SigningSecret
from svc_analytics.storage import merge_into

MOST = 8  # processes; more would wait for the one that writes the files
# By which receipts are judged, raised with them: what earlier ones found is found anew. By those of
# 1, digits of a record beyond its token's decimals were not seen.
RULES = 2

OnRows = Callable[[int], object]
_Result = tuple[MonthPart, pa.Table, pa.Table]  # the verdicts on a part: those reused, the new ones


@dataclass(frozen=True)
class VerificationResult(Displayable):
    """How many of the lake's receipts a run verified, and how many were unchanged."""

    checked: int
    unchanged: int

    def _display(self) -> Display:
        unchanged = ("kept from an earlier check", self.unchanged)
        table = count_table("receipts", [("checked now", self.checked), unchanged])
        return Display("Verification of receipts", [], [table])


def ring_fingerprint(ring: Sequence[SigningSecret]) -> str:
    """Return a hash that changes with the rules and with any secret or date; it reveals none."""
    mark = b""
    for entry in ring:
        text = f"svc-analytics ring {RULES} {entry.valid_from}".encode() + mark
        mark = hmac.new(entry.secret.reveal().encode(), text, hashlib.sha256).digest()
    return mark.hex()[:16]


def verify_lake(
    lake: Lake,
    settings: Settings,
    months: Sequence[str] | None = None,
    *,
    workers: int = 1,
    verify_online: VerifyOnline | None = None,
    on_rows: OnRows | None = None,
) -> VerificationResult:
    """Verify the lake's receipts that are new or changed, and save the verdicts.

    `months` are UTC months of `paid_at`, by default all; `verify_online` decides each verdict
    that is unsure offline. After an interruption, finished months are kept. Raises
    `ConfigError` without a receipt secret, `LakeBusy` while another process verifies.
    """
    settings.require_receipt_secrets()
    lake.refresh()
    lake.footers(PAYMENTS)  # raises an error that names a torn or foreign file

    def verify() -> VerificationResult:
        return _Verification(lake, settings, workers, verify_online, on_rows).run(months)

    doing = Message("busy.verifying", place=lake.place)
    with (
        system_refusals(LakeError, f"cannot write verdicts to {lake.place}"),
        locked(lake.path / ".receipts.lock", doing),
    ):
        return merge_into(lake.storage, verify)


def verify_month(lake: Lake, settings: Settings, start: int, end: int) -> VerificationResult:
    """Verify the receipts of the UTC months that [start, end) touches, in microseconds."""
    return verify_lake(lake, settings, [period.label for period in utc_months(start, end)])


@dataclass
class _Verification:
    """One run over the lake's receipts: it counts verdicts, and tells how many came."""

    lake: Lake
    settings: Settings
    workers: int
    verify_online: VerifyOnline | None
    on_rows: OnRows | None
    checked: int = 0
    unchanged: int = 0

    def run(self, labels: Sequence[str] | None) -> VerificationResult:
        """Bring the verdicts of these months up to date, or of all."""
        lake, storage = self.lake, self.lake.storage
        with lake.snapshot([PAYMENTS.name], checked_later=[PAYMENTS.name]) as snapshot:
            self._begin_verdicts()
            stale = list(self._stale(self._months(snapshot, labels)))
            with closing(self._results(stale)) as results:
                for month, parts in groupby(results, key=lambda result: result[0].month):
                    write_verdicts(storage, month.verdicts, self._counted(parts), month.basis())
            list_files(storage, lake.path / VERDICTS_FOLDER, VERDICTS, UNFINISHED)
        return VerificationResult(self.checked, self.unchanged)

    def _begin_verdicts(self) -> None:
        """Remove what a killed run left, and a damaged empty file, which can be had again."""
        folder = self.lake.path / VERDICTS_FOLDER
        for leftover in folder.glob(f".*{UNFINISHED}"):
            leftover.unlink(missing_ok=True)
        if read_verdicts(folder / f"{ORIGIN}.parquet") is None:
            (folder / f"{ORIGIN}.parquet").unlink(missing_ok=True)
        begin_side_folders(self.lake.storage, PAYMENTS)

    def _months(self, snapshot: Path, labels: Sequence[str] | None) -> list[Month]:
        """Return the months to verify, in order."""
        ring, now = ring_fingerprint(self.settings.receipt_secrets), machine_clock()
        files = sorted((snapshot / PAYMENTS.name).glob("*.pq"))
        folder, merchant_id = self.lake.path / VERDICTS_FOLDER, self.lake.merchant_id
        is_online = self.verify_online is not None
        return [
            Month(file, folder / f"{file.stem}.parquet", merchant_id, ring, now, is_online)
            for file in files
            if file.stem != ORIGIN and (labels is None or file.stem in labels)
        ]

    def _stale(self, months: Iterable[Month]) -> Iterator[Month]:
        """Yield the months to verify; the verdicts of the others are counted as they are."""
        for month in months:
            unchanged = None if month.is_online else count_verdicts(month.verdicts, month.basis())
            if unchanged is None:
                yield month
            else:
                self._count(0, unchanged)

    def _count(self, checked: int, unchanged: int) -> None:
        self.checked += checked
        self.unchanged += unchanged
        if self.on_rows:
            self.on_rows(checked + unchanged)

    def _counted(self, parts: Iterable[_Result]) -> Iterator[pa.Table]:
        """Yield the verdicts of parts, reused ones and new ones, and count both."""
        for _, unchanged, checked in parts:
            check_stop()
            self._count(len(checked), len(unchanged))
            yield unchanged
            yield checked

    def _results(self, months: Sequence[Month]) -> Generator[_Result]:
        """Verify parts of months one by one, or with helper processes; yield them in order."""
        rings = self.settings.receipt_secrets, self.settings.webhook_secrets
        verifier = BulkVerifier(rings[0], rings[1], verify_online=self.verify_online)
        helpers = 0 if self.verify_online else min(self.workers, count_parts(months), MOST) - 1
        if helpers < 1:
            for part, unchanged in parts_of(months):
                yield part, unchanged, verify_part(part, verifier)
            return
        # Spawned, not forked: DuckDB and Arrow have threads. Secrets go through a pipe.
        plain = (_plain(rings[0]), _plain(rings[1]))
        pool = ProcessPoolExecutor(helpers, get_context("spawn"), begin_helper, plain)
        try:
            for (part, unchanged), verdicts in map_shared(
                parts_of(months),
                here=lambda job: verify_part(job[0], verifier),
                there=lambda job: pool.submit(verify_into_file, job[0]),
                helpers=helpers,
            ):
                is_in_file = isinstance(verdicts, Path)
                yield part, unchanged, take_verdicts(verdicts) if is_in_file else verdicts
        finally:
            pool.shutdown(cancel_futures=True)


def _plain(ring: Sequence[SigningSecret]) -> PlainRing:
    return tuple((entry.secret.reveal(), entry.valid_from) for entry in ring)
