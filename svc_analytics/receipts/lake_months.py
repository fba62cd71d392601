"""The months of the lake as parts to verify: few row groups each, by whoever is free.

One process reads which verdicts are still good, and writes the files. It and the others read
the receipts of a part from the month's file themselves, and give back a table of verdicts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.lake.checksums import DAMAGE, check_signature, require_whole
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.coverage_footer import read_footer
from svc_analytics.lake.layout import VERDICTS
from svc_analytics.lake.month_file import read_groups
from svc_analytics.lake.side_files import read_about, read_side_file, replace_file
from svc_analytics.messages import Message
from svc_analytics.receipts.bulk import RECORDS, UNSURE, BulkVerifier
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import PROVEN, FactDifference
from svc_analytics.storage import Storage

LONGEST_FACT = 200
_PARTS = 50  # of a month, about: each opens the file, which takes long where it has many groups
_MOST_GROUPS = 8  # row groups of a part: their verdicts are in memory together
_COLUMNS = ["id", *[fact for fact in RECORDS.names if fact in PAYMENTS.schema.names]]
_INPUT = [*_COLUMNS, "receipt", "extracted_at"]


@dataclass(frozen=True)
class Month:
    """One month to verify: the snapshot of its payments, and the file for its verdicts."""

    payments: Path
    verdicts: Path
    merchant_id: str
    ring: str
    now: int
    is_online: bool = False

    def basis(self) -> dict[str, Any]:
        """Return the inputs of its verdicts: the key ring, and the payments as they are."""
        footer = read_footer(self.payments)
        ids = f"{footer.totals.ids_digest:x}"
        return {"ring": self.ring, "written_at": footer.written_at, "ids": ids}

    def require_whole(self) -> None:
        """Raise `LakeError` unless its payments are as they were written."""
        folder = self.verdicts.parents[1] / PAYMENTS.name  # of the lake, to name the file there
        require_whole(self.payments, folder / self.verdicts.name)


@dataclass(frozen=True)
class MonthPart:
    """Some row groups of a month, and which of their rows have no good verdict; None: all."""

    month: Month
    groups: range
    is_new: npt.NDArray[np.bool_] | None = None


def parts_of(months: Iterable[Month]) -> Iterator[tuple[MonthPart, pa.Table]]:
    """Yield the parts of months in order, each with the verdicts on its rows that are good.

    A month's bytes are checked before its first part: who verifies one month reads no other.
    """
    for month in months:
        month.require_whole()
        reusable = _reusable(read_verdicts(month.verdicts), month)
        for part in _cut(month):
            yield _without_unchanged(part, reusable) if len(reusable) else (part, reusable)


def count_parts(months: Iterable[Month]) -> int:
    """Return how many parts months have."""
    return sum(len(_cut(month)) for month in months)


def _cut(month: Month) -> list[MonthPart]:
    count = pq.read_metadata(month.payments).num_row_groups
    size = min(max(count // _PARTS, 1), _MOST_GROUPS)
    starts = range(0, max(count, 1), size)  # there are verdicts even on no rows
    return [MonthPart(month, range(start, min(start + size, count))) for start in starts]


def verify_part(part: MonthPart, verifier: BulkVerifier) -> pa.Table:
    """Return the verdicts on the receipts of a part that have no good one."""
    if part.is_new is not None and not part.is_new.any():
        return VERDICTS.empty_table()
    tables, start = [VERDICTS.empty_table()], 0
    for rows in _groups(part, _INPUT):
        mask = np.asarray(pc.is_valid(rows["receipt"]))
        if part.is_new is not None:
            mask = mask & part.is_new[start : start + len(rows)]
        # Tokens are long, so all of them are not copied.
        wanted = rows if mask.all() else rows.filter(pa.array(mask))
        tables.append(_verify_rows(wanted, part.month, verifier))
        start += len(rows)
    return pa.concat_tables(tables)


def _groups(part: MonthPart, columns: list[str]) -> Iterator[pa.Table]:
    return read_groups(part.month.payments, columns, groups=part.groups)


def _without_unchanged(part: MonthPart, before: pa.Table) -> tuple[MonthPart, pa.Table]:
    """Return a part without the rows whose verdicts are good, and those verdicts."""
    columns = ["id", "extracted_at"]
    none = PAYMENTS.schema.empty_table().select(columns)
    place = _places_of(pa.concat_tables([none, *_groups(part, columns)]), before)
    unchanged = before.take(pa.array(place[place >= 0]))
    return MonthPart(part.month, part.groups, place < 0), unchanged


def _reusable(before: pa.Table | None, month: Month) -> pa.Table:
    """Return the verdicts made with this key ring; online, without the unsure ones."""
    if before is None:
        return VERDICTS.empty_table()
    mask = pc.equal(before["ring"], month.ring)
    if month.is_online:
        unsure = pc.is_in(before["verdict"], value_set=pa.array(sorted(UNSURE)))
        mask = pc.and_(mask, pc.invert(unsure))
    return before.filter(mask)


def _places_of(rows: pa.Table, before: pa.Table) -> Any:
    """Return the row of the verdict on each record's current version, or -1."""
    ids = before["payment_id"].combine_chunks()
    place = np.asarray(pc.index_in(rows["id"], ids).fill_null(-1))
    seen_at = np.asarray(before["record_extracted_at"].cast(pa.int64()))
    is_same = seen_at[place] == np.asarray(rows["extracted_at"].cast(pa.int64()))
    return np.where(is_same, place, -1)


def _verify_rows(rows: pa.Table, month: Month, verifier: BulkVerifier) -> pa.Table:
    verdicts = verifier.verify(rows["receipt"], _records_of(rows, month.merchant_id))
    tokens = rows["receipt"].cast(pa.binary()).to_pylist()
    columns = {
        "payment_id": rows["id"],
        "receipt_sha256": _hex_texts([hashlib.sha256(token).digest() for token in tokens]),
        "verdict": verdicts.texts(lambda verdict: verdict.verdict),
        "reason": verdicts.texts(lambda verdict: verdict.reason),
        "message": verdicts.texts(lambda verdict: json.dumps(verdict.reason.to_json())),
        "differences": verdicts.texts(lambda verdict: differences_text(verdict.differences)),
        "checked_at": np.full(len(rows), month.now),
        "ring": pa.repeat(month.ring, len(rows)),
        "record_extracted_at": rows["extracted_at"],
    }
    return pa.table(columns, schema=VERDICTS)


def _hex_texts(digests: list[bytes]) -> pa.Array:
    """Return digests as texts; all are of one length, so one call writes them all."""
    ends = np.arange(len(digests) + 1, dtype=np.int32) * 2 * hashlib.sha256().digest_size
    content = b"".join(digests).hex().encode()
    return pa.StringArray.from_buffers(len(digests), pa.py_buffer(ends), pa.py_buffer(content))


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


# ---------- Read and write a month's file of receipt verdicts


# Not the suffix that the lake's writer deletes: it may start while this file is written.
UNFINISHED = ".checking"
_REPEATED = [name for name in VERDICTS.names if name not in ("payment_id", "receipt_sha256")]


def read_verdicts(path: Path) -> pa.Table | None:
    """Return a month's verdicts, or None where they are unreadable or of another layout."""
    try:
        table = read_side_file(path)
    except LakeError:
        return None
    lacking = {*VERDICTS.names}.difference(table.column_names)
    if lacking == {"message"}:
        # What was proven is kept, by the service perhaps; the rest is verified again, for its code.
        proven = table.filter(pc.is_in(table["verdict"], value_set=pa.array(PROVEN)))
        table = in_own_columns(proven, VERDICTS)
    return table if table.schema.equals(VERDICTS) else None


def count_verdicts(path: Path, basis: dict[str, Any]) -> int | None:
    """Return how many verdicts a whole file holds, or None unless they depend on this basis."""
    try:
        # One of an earlier version does not vouch for all its bytes: it is written anew.
        if not check_signature(path) or read_about(path) != basis:
            return None
        metadata = pq.read_metadata(path)
    except (LakeError, *DAMAGE):
        return None
    return int(metadata.num_rows) if metadata.schema.to_arrow_schema().equals(VERDICTS) else None


def count_codes(paths: Iterable[Path]) -> Counter[str]:
    """Count the codes of the reasons in files of verdicts; one of an earlier layout has none."""
    codes: Counter[str] = Counter()
    for table in filter(None, map(read_verdicts, paths)):
        for each in table["message"].drop_null().value_counts().to_pylist():
            reason = Message.from_json(json.loads(each["values"]))
            codes.update(dict.fromkeys(reason.codes(), each["counts"]))
    return codes


def write_verdicts(
    storage: Storage, path: Path, tables: Iterator[pa.Table], basis: dict[str, Any]
) -> None:
    """Replace a month's file of verdicts, with what they depend on."""
    filled = (table for table in tables if len(table))
    writing = storage.write(path, suffix=UNFINISHED)
    replace_file(writing, VERDICTS, filled, about=basis, repeated=_REPEATED)
