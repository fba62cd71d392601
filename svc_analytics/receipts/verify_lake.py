"""Verify the lake's own receipts: one file of verdicts per UTC month of `paid_at`.

With each verdict the file keeps what it depends on: the token, the version of the record,
and a fingerprint of the key ring. A later run verifies only where one of them changed.
"""

import hashlib
import hmac
import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.config import Settings
from svc_analytics.errors import LakeError
from svc_analytics.files import locked
from svc_analytics.formatting.display import Display, count_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.lake.footer import read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN, VERDICTS, VERDICTS_FOLDER
from svc_analytics.lake.partition import read_groups
from svc_analytics.lake.side_files import begin_side_folders, list_files
from svc_analytics.periods import utc_months
from svc_analytics.receipts.bulk import RECORDS, UNSURE, BulkVerifier, VerifyOnline
from svc_analytics.receipts.parallel import end_with_parent, map_shared
from svc_analytics.receipts.verdict_files import (
    UNFINISHED,
    count_verdicts,
    read_verdicts,
    write_verdicts,
)
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import FactDifference
from svc_analytics.signing.secrets import Secret, SigningSecret

LONGEST_FACT = 200
_COLUMNS = ["id", *[fact for fact in RECORDS.names if fact in PAYMENTS.schema.names]]
_INPUT = [*_COLUMNS, "receipt", "extracted_at"]

OnRows = Callable[[int], object]
Counts = Counter[str]  # of verdicts: "checked" and "unchanged"


@dataclass(frozen=True)
class VerificationResult(Displayable):
    """How many of the lake's receipts a run verified, and how many were unchanged."""

    checked: int
    unchanged: int

    def _display(self) -> Display:
        unchanged = ("unchanged since an earlier check", self.unchanged)
        table = count_table("receipts", [("checked now", self.checked), unchanged])
        return Display("Verification of receipts", [], [table])


@dataclass(frozen=True)
class _Month:
    """One month to verify: the snapshot of its payments, and the file for its verdicts."""

    payments: Path
    verdicts: Path
    merchant_id: str
    ring: str
    now: int


def ring_fingerprint(ring: Sequence[SigningSecret]) -> str:
    """Return a hash that changes with any secret or date of a key ring, and reveals none."""
    mark = b""
    for entry in ring:
        text = f"svc-analytics ring {entry.valid_from}".encode() + mark
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
    lake.footers(PAYMENTS)  # raises an error that names a torn or foreign file
    try:
        with (
            locked(lake.path / ".receipts.lock", f"verifies the receipts of {lake.path}"),
            lake.snapshot([PAYMENTS.name]) as snapshot,
        ):
            _begin_verdicts(lake)
            jobs = _jobs(lake, snapshot, settings, months)
            with closing(_results(jobs, settings, workers, verify_online)) as results:
                total = _total(results, on_rows)
            list_files(lake.path / VERDICTS_FOLDER, VERDICTS, UNFINISHED)
            return total
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LakeError(f"cannot write verdicts to {lake.path}: {reason}") from error


def _begin_verdicts(lake: Lake) -> None:
    """Remove what a killed run left, and a damaged empty file, which can be had again."""
    folder = lake.path / VERDICTS_FOLDER
    for leftover in folder.glob(f".*{UNFINISHED}"):
        leftover.unlink(missing_ok=True)
    if read_verdicts(folder / f"{ORIGIN}.parquet") is None:
        (folder / f"{ORIGIN}.parquet").unlink(missing_ok=True)
    begin_side_folders(lake.path, PAYMENTS)


def verify_month(lake: Lake, settings: Settings, start: int, end: int) -> VerificationResult:
    """Verify the receipts of the UTC months that [start, end) touches, in microseconds."""
    return verify_lake(lake, settings, [period.label for period in utc_months(start, end)])


def _jobs(
    lake: Lake, snapshot: Path, settings: Settings, months: Sequence[str] | None
) -> list[_Month]:
    """Return the months to verify, the largest first."""
    ring, now = ring_fingerprint(settings.receipt_secrets), time.time_ns() // 1000
    files = (snapshot / PAYMENTS.name).glob("*.pq")
    folder, merchant_id = lake.path / VERDICTS_FOLDER, lake.merchant_id
    return [
        _Month(file, folder / f"{file.stem}.parquet", merchant_id, ring, now)
        for file in sorted(files, key=lambda file: (-file.stat().st_size, file.name))
        if file.stem != ORIGIN and (months is None or file.stem in months)
    ]


def _results(
    jobs: Sequence[_Month], settings: Settings, workers: int, verify_online: VerifyOnline | None
) -> Generator[Counts]:
    """Verify months one by one, or with helper processes; yield the counts of each."""
    rings = settings.receipt_secrets, settings.webhook_secrets
    verifier = BulkVerifier(*rings, verify_online=verify_online)
    helpers = 0 if verify_online else min(workers, len(jobs)) - 1
    if helpers < 1:
        yield from (_verify_month(job, verifier) for job in jobs)
        return
    # Spawned, not forked: DuckDB and Arrow have threads. Secrets go through a pipe.
    pool = ProcessPoolExecutor(
        helpers, get_context("spawn"), _begin_worker, tuple(map(_plain, rings))
    )
    try:
        yield from map_shared(
            jobs,
            here=lambda job: _verify_month(job, verifier),
            there=lambda job: pool.submit(_verify_in_worker, job).result(),
            helpers=helpers,
        )
    finally:
        pool.shutdown(wait=False)  # no job is running any more, however it ended


def _total(results: Iterator[Counts], on_rows: OnRows | None) -> VerificationResult:
    total = Counts()
    for counts in results:
        total += counts
        if on_rows:
            on_rows(counts.total())
    return VerificationResult(total["checked"], total["unchanged"])


_worker: list[BulkVerifier] = []  # the one verifier of a worker process


def _begin_worker(*rings: tuple[tuple[str, int | None], ...]) -> None:
    end_with_parent()
    ring, webhook_ring = (
        [SigningSecret(Secret(text), valid_from) for text, valid_from in plain] for plain in rings
    )
    _worker[:] = [BulkVerifier(ring, webhook_ring)]


def _plain(ring: Sequence[SigningSecret]) -> tuple[tuple[str, int | None], ...]:
    return tuple((entry.secret.reveal(), entry.valid_from) for entry in ring)


def _verify_in_worker(job: _Month) -> Counts:
    return _verify_month(job, _worker[0])


def _verify_month(job: _Month, verifier: BulkVerifier) -> Counts:
    """Bring one month's verdicts up to date; count the checked and the unchanged ones."""
    footer = read_footer(job.payments)
    ids = f"{footer.totals.ids_digest:x}"
    basis = {"ring": job.ring, "written_at": footer.written_at, "ids": ids}
    is_online = verifier.verify_online is not None
    unchanged = None if is_online else count_verdicts(job.verdicts, basis)
    if unchanged is not None:
        return Counts(unchanged=unchanged)
    reusable = _reusable(read_verdicts(job.verdicts), job.ring, is_online)
    counts = Counts()
    write_verdicts(job.verdicts, _verdict_tables(job, reusable, verifier, counts), basis)
    return counts


def _verdict_tables(
    job: _Month, reusable: pa.Table, verifier: BulkVerifier, counts: Counts
) -> Iterator[pa.Table]:
    """Yield a month's verdicts, reused ones and new ones, and count both."""
    for group in read_groups(job.payments, _INPUT):
        group = _where(group, np.asarray(pc.is_valid(group["receipt"])))
        place = _places_of(group, reusable)
        unchanged = reusable.take(pa.array(place[place >= 0]))
        checked = _verify_rows(_where(group, place < 0), job, verifier)
        counts.update(checked=len(checked), unchanged=len(unchanged))
        yield unchanged
        yield checked


def _where(rows: pa.Table, mask: npt.NDArray[np.bool_]) -> pa.Table:
    """Return the rows of a mask; tokens are long, so all of them are not copied."""
    return rows if mask.all() else rows.filter(pa.array(mask))


def _reusable(before: pa.Table | None, ring: str, is_online: bool) -> pa.Table:
    """Return the verdicts made with this key ring; online, without the unsure ones."""
    if before is None:
        return VERDICTS.empty_table()
    mask = pc.equal(before["ring"], ring)
    if is_online:
        unsure = pc.is_in(before["verdict"], value_set=pa.array(sorted(UNSURE)))
        mask = pc.and_(mask, pc.invert(unsure))
    return before.filter(mask)


def _places_of(group: pa.Table, reusable: pa.Table) -> Any:
    """Return the row of the verdict on each record's current version, or -1."""
    if not len(reusable):
        return np.full(len(group), -1)
    ids = reusable["payment_id"].combine_chunks()
    place = np.asarray(pc.index_in(group["id"], ids).fill_null(-1))
    seen_at = np.asarray(reusable["record_extracted_at"].cast(pa.int64()))
    is_same = seen_at[place] == np.asarray(group["extracted_at"].cast(pa.int64()))
    return np.where(is_same, place, -1)


def _verify_rows(rows: pa.Table, job: _Month, verifier: BulkVerifier) -> pa.Table:
    verdicts = verifier.verify(rows["receipt"], _records_of(rows, job.merchant_id))
    tokens = rows["receipt"].cast(pa.binary()).to_pylist()
    differences = [verdict.differences for verdict in verdicts]
    columns = {
        "payment_id": rows["id"],
        "receipt_sha256": [hashlib.sha256(token).hexdigest() for token in tokens],
        "verdict": [verdict.verdict for verdict in verdicts],
        "reason": [verdict.reason for verdict in verdicts],
        "differences": [differences_text(d) if d else None for d in differences],
        "checked_at": np.full(len(rows), job.now),
        "ring": pa.repeat(job.ring, len(rows)),
        "record_extracted_at": rows["extracted_at"],
    }
    return pa.table(columns, schema=VERDICTS)


def _records_of(rows: pa.Table, merchant_id: str) -> pa.Table:
    """Return rows of a payments file as the records that tokens are compared with."""
    columns = {
        "payment_id": rows["id"],
        "merchant_id": pa.repeat(merchant_id, len(rows)),
        "paid_at": rows["paid_at"].cast(pa.int64()),
    }
    arrays = [columns[name] if name in columns else rows[name] for name in RECORDS.names]
    return pa.table(arrays, schema=RECORDS)


def differences_text(differences: Sequence[FactDifference]) -> str | None:
    """Return differing facts as JSON, each with both values, cut to fit a cell."""
    if not differences:
        return None
    values = {
        difference.fact: {
            "receipt": difference.in_receipt[:LONGEST_FACT],
            "record": difference.in_record and difference.in_record[:LONGEST_FACT],
        }
        for difference in differences
    }
    # A record of the service may hold an unpaired surrogate, which no file can.
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace").decode()
