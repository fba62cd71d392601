"""Single bits of a file, altered where a test wants them."""

from pathlib import Path

import pyarrow.parquet as pq


def flip(path: Path, place: int, bit: int = 0) -> None:
    """Alter a bit of a byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def flip_column(path: Path, column: str) -> None:
    """Alter a bit of the last byte of a column's values in the first row group."""
    place = pq.read_schema(path).get_field_index(column)
    chunk = pq.read_metadata(path).row_group(0).column(place)
    flip(path, chunk.data_page_offset + chunk.total_compressed_size - 1)
