"""Read and write a month's file of receipt verdicts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.files import atomic_write
from svc_analytics.lake.layout import FOOTER_KEY, VERDICTS

# Not the suffix that the lake's writer deletes: it may start while this file is written.
UNFINISHED = ".checking"


def read_verdicts(path: Path) -> pa.Table | None:
    """Return a month's verdicts, or None where they are unreadable or of another layout."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return None
    return table if table.schema.equals(VERDICTS) else None


def basis_of(path: Path) -> tuple[int, Any]:
    """Return how many verdicts a file holds and what they depend on, from its footer."""
    try:
        metadata = pq.read_metadata(path)
        return metadata.num_rows, json.loads((metadata.metadata or {})[FOOTER_KEY.encode()])
    except (OSError, pa.ArrowException, ValueError, KeyError):
        return 0, None


def write_verdicts(path: Path, tables: Iterator[pa.Table], basis: dict[str, Any]) -> None:
    """Replace a month's file of verdicts, with what they depend on."""
    with (
        atomic_write(path, suffix=UNFINISHED) as temporary,
        temporary.open("wb") as file,
        pq.ParquetWriter(file, VERDICTS, compression="zstd", write_page_checksum=True) as writer,
    ):
        for table in tables:
            if len(table):
                writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: json.dumps(basis)})
