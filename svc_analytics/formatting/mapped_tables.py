"""Arrow tables in files that the process maps: long ones need not fit its memory.

The system reads a page of such a file when something looks at it, and may drop it again.
"""

import mmap
import tempfile
from pathlib import Path
from weakref import WeakSet

import pyarrow as pa

_mapped: WeakSet[mmap.mmap] = WeakSet()


def map_table(reader: pa.RecordBatchReader, folder: Path) -> pa.Table:
    """Write batches to a file in a folder, one after another, and return them as a table.

    The file has no name: it is gone with the table, or with a process that is killed.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        with pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return pa.ipc.open_stream(pa.py_buffer(mapped)).read_all()


def drop_pages() -> None:
    """Let go of what was read of mapped tables so far; what is read again comes from the file.

    The system would do it where memory is short; so the process looks no larger than it is.
    """
    if hasattr(mmap, "MADV_DONTNEED"):  # where there is a call for it
        for mapped in list(_mapped):
            mapped.madvise(mmap.MADV_DONTNEED)
