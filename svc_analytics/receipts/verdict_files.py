"""Read and write a month's file of receipt verdicts."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.lake.checksums import DAMAGE, check_signature
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.layout import VERDICTS
from svc_analytics.lake.side_files import read_about, read_side_file, replace_file
from svc_analytics.messages import Message
from svc_analytics.signing.receipts import PROVEN
from svc_analytics.storage import Storage

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
