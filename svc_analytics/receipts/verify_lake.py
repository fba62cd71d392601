"""The verdicts on the lake's own receipts: one file per UTC month of `paid_at`.

A file remembers what each verdict rests on: the token, the version of the record,
and a fingerprint of the key ring. A later run checks only rows of which one of them
changed; of a month of which none did, it only makes sure that its verdicts are whole.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout

from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, LakeBusy, LakeError
from svc_analytics.formatting.display import Display, count_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.lake.footer import read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN, VERDICTS, VERDICTS_FOLDER
from svc_analytics.lake.partition import read_groups
from svc_analytics.lake.side_files import begin_side_folders, is_whole
from svc_analytics.periods import utc_months
from svc_analytics.receipts.bulk import RECORDS, UNSURE, BulkVerifier
from svc_analytics.receipts.parallel import map_shared
from svc_analytics.receipts.verdict_files import UNFINISHED, basis_of, read_verdicts, write_verdicts
from svc_analytics.schema import INSTANT, PAYMENTS
from svc_analytics.signing.receipts import FactDifference, Verdict
from svc_analytics.signing.secrets import Secret, SigningSecret

LOCK_PATIENCE = 5
LONGEST_FACT = 200
_COLUMNS = ["id", *[fact for fact in RECORDS.names if fact in PAYMENTS.schema.names]]
_INPUT = [*_COLUMNS, "receipt", "extracted_at"]

Confirm = Callable[[str, Verdict], Verdict]
OnRows = Callable[[int], object]


@dataclass(frozen=True)
class VerificationResult(Displayable):
    """What a run over the lake did: how many tokens it checked, and how the rest stood."""

    checked: int
    unchanged: int

    def _display(self) -> Display:
        counts = [
            ("checked now", self.checked),
            ("unchanged since an earlier check", self.unchanged),
        ]
        return Display("Verification of receipts", [], [count_table("receipts", counts)])


@dataclass(frozen=True)
class _Month:
    """One month to check: its payments as they stand still, and where verdicts go."""

    payments: Path
    verdicts: Path
    merchant_id: str
    ring: str
    now: int


def ring_fingerprint(ring: Sequence[SigningSecret]) -> str:
    """Return a text that changes with any secret or date of a ring, and tells none of them.

    Whoever has the file also has tokens, which say as much about a secret.
    """
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
    confirm: Confirm | None = None,
    on_rows: OnRows | None = None,
) -> VerificationResult:
    """Check what changed among the lake's receipts, and keep the verdicts beside it.

    `months` are UTC months of `paid_at`; all of them unless given. `confirm` is asked
    about each verdict that is unsure offline. Interrupt it at any time: finished
    months are kept. Raises `ConfigError` without a receipt secret, `LakeBusy` while
    another process verifies.
    """
    if not settings.receipt_secrets:
        raise ConfigError("SVC_RECEIPT_SECRETS is not set: no receipt can be verified without it")
    merchant_id = lake.merchant_id
    lake.footers(PAYMENTS)  # a torn or foreign file is named here
    ring, now = ring_fingerprint(settings.receipt_secrets), time.time_ns() // 1000
    try:
        with (
            FileLock(lake.path / ".receipts.lock", timeout=LOCK_PATIENCE),
            lake.snapshot() as still,
        ):
            begin_side_folders(lake.path, PAYMENTS)
            folder = lake.path / VERDICTS_FOLDER
            _sweep(folder)
            jobs = [
                _Month(file, folder / f"{file.stem}.parquet", merchant_id, ring, now)
                for file in sorted((still / PAYMENTS.name).glob("*.pq"))
                if file.stem != ORIGIN and (months is None or file.stem in months)
            ]
            return _run(jobs, settings, workers, confirm, on_rows)
    except Timeout as error:
        message = f"the receipts of {lake.path} are being verified by another process"
        raise LakeBusy(message) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LakeError(f"cannot write verdicts to {lake.path}: {reason}") from error


def _sweep(folder: Path) -> None:
    """Remove what a killed run left."""
    for left in folder.glob(f".*{UNFINISHED}"):
        left.unlink(missing_ok=True)


def verify_month(lake: Lake, settings: Settings, start: int, end: int) -> VerificationResult:
    """Check the receipts of all payments of [start, end), in UTC microseconds."""
    return verify_lake(lake, settings, [period.label for period in utc_months(start, end)])


def _run(
    jobs: Sequence[_Month],
    settings: Settings,
    workers: int,
    confirm: Confirm | None,
    on_rows: OnRows | None,
) -> VerificationResult:
    jobs = sorted(jobs, key=lambda job: job.payments.stat().st_size, reverse=True)
    checker = BulkVerifier(settings.receipt_secrets, settings.webhook_secrets)
    helpers = 0 if confirm else min(workers, len(jobs)) - 1
    if helpers < 1:
        return _tally((_check_month(job, checker, confirm) for job in jobs), on_rows)
    # Spawned, not forked: DuckDB and Arrow have threads. Secrets go through a pipe.
    pool = ProcessPoolExecutor(
        helpers,
        mp_context=get_context("spawn"),
        initializer=_begin_worker,
        initargs=(_plain(settings.receipt_secrets), _plain(settings.webhook_secrets)),
    )
    try:
        shared = map_shared(
            jobs,
            here=lambda job: _check_month(job, checker, None),
            there=lambda job: pool.submit(_check_in_worker, job).result(),
            helpers=helpers,
        )
        with closing(shared):
            return _tally(shared, on_rows)
    finally:
        pool.shutdown(wait=False)  # whatever ended it, no job is under way any more


def _tally(results: Iterator[tuple[int, int]], on_rows: OnRows | None) -> VerificationResult:
    total: Counter[str] = Counter()
    for checked, unchanged in results:
        total.update(checked=checked, unchanged=unchanged)
        if on_rows:
            on_rows(checked + unchanged)
    return VerificationResult(total["checked"], total["unchanged"])


_worker: list[BulkVerifier] = []  # the one checker of a worker process


def _begin_worker(*rings: tuple[tuple[str, int | None], ...]) -> None:
    ring, webhook_ring = (
        tuple(SigningSecret(Secret(text), since) for text, since in plain) for plain in rings
    )
    _worker[:] = [BulkVerifier(ring, webhook_ring)]


def _plain(ring: Sequence[SigningSecret]) -> tuple[tuple[str, int | None], ...]:
    return tuple((entry.secret.reveal(), entry.valid_from) for entry in ring)


def _check_in_worker(job: _Month) -> tuple[int, int]:
    return _check_month(job, _worker[0], None)


def _check_month(job: _Month, checker: BulkVerifier, confirm: Confirm | None) -> tuple[int, int]:
    """Bring one month's verdicts up to date; return how many were checked, and how many stood."""
    footer = read_footer(job.payments)
    basis = {
        "ring": job.ring,
        "written_at": footer.written_at,
        "ids": f"{footer.tally.ids_digest:x}",
    }
    rows, basis_before = basis_of(job.verdicts)
    if not confirm and basis_before == basis and is_whole(job.verdicts):
        return 0, rows
    kept = _still_true(read_verdicts(job.verdicts), job.ring, confirm)
    checked = unchanged = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal checked, unchanged
        for group in read_groups(job.payments, _INPUT):
            group = group.filter(pc.is_valid(group["receipt"]))
            place = _places_of(group, kept)
            held = kept.take(pa.array(place[place >= 0]))
            fresh = group.filter(pa.array(place < 0))
            checked, unchanged = checked + len(fresh), unchanged + len(held)
            yield held
            yield _check_rows(fresh, job, checker, confirm)

    write_verdicts(job.verdicts, tables(), basis)
    return checked, unchanged


def _still_true(before: pa.Table | None, ring: str, confirm: Confirm | None) -> pa.Table:
    """Return the verdicts that rest on this ring, and need no second opinion."""
    if before is None:
        return VERDICTS.empty_table()
    mask = pc.equal(before["ring"], ring)
    if confirm:
        unsure = pc.is_in(before["verdict"], value_set=pa.array(sorted(UNSURE)))
        mask = pc.and_(mask, pc.invert(unsure))
    return before.filter(mask)


def _places_of(group: pa.Table, kept: pa.Table) -> Any:
    """Find the verdict on each record as it stands now; -1 where there is none."""
    if not len(kept):
        return np.full(len(group), -1)
    place = np.asarray(pc.index_in(group["id"], kept["payment_id"].combine_chunks()).fill_null(-1))
    seen_at = np.asarray(kept["record_extracted_at"].cast(pa.int64()))
    is_same = seen_at[place] == np.asarray(group["extracted_at"].cast(pa.int64()))
    return np.where(is_same, place, -1)


def _check_rows(
    rows: pa.Table, job: _Month, checker: BulkVerifier, confirm: Confirm | None
) -> pa.Table:
    tokens = rows["receipt"].to_pylist()
    found = checker.check(tokens, records_of(rows, job.merchant_id))
    if confirm:
        found = [
            confirm(token, verdict) if verdict.verdict in UNSURE else verdict
            for token, verdict in zip(tokens, found, strict=True)
        ]
    size = len(rows)
    return pa.table(
        [
            rows["id"],
            pa.array([hashlib.sha256(token.encode()).hexdigest() for token in tokens], pa.string()),
            pa.array([verdict.verdict for verdict in found], pa.string()),
            pa.array([verdict.reason for verdict in found], pa.string()),
            pa.array([differences_text(verdict.differences) for verdict in found], pa.string()),
            pa.array(np.full(size, job.now), INSTANT),
            pa.array([job.ring] * size, pa.string()),
            rows["extracted_at"],
        ],
        schema=VERDICTS,
    )


def records_of(rows: pa.Table, merchant_id: str) -> pa.Table:
    """Return rows of a payments file as the records that tokens are held against."""
    columns = {
        "payment_id": rows["id"],
        "merchant_id": pa.array([merchant_id] * len(rows), pa.string()),
        "paid_at": rows["paid_at"].cast(pa.int64()),
    }
    arrays = [columns[name] if name in columns else rows[name] for name in RECORDS.names]
    return pa.table(arrays, schema=RECORDS)


def differences_text(differences: Sequence[FactDifference]) -> str | None:
    """Write differing facts as JSON, each with both values, cut to a length that fits a cell."""
    if not differences:
        return None
    found = {
        difference.fact: {
            "receipt": difference.in_receipt[:LONGEST_FACT],
            "record": difference.in_record and difference.in_record[:LONGEST_FACT],
        }
        for difference in differences
    }
    # A record of the service may hold half a surrogate pair, which no file can.
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace").decode()
