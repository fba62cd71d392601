"""Relocation: a record that now belongs to another month leaves its old file.

So there is one row per id in all month files of a stream.
"""

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.lake.control_totals import control_totals
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.merge import drop_rows, read_rows
from svc_analytics.lake.month_files import MonthFiles
from svc_analytics.lake.partition import read_groups


def relocate(files: MonthFiles, rows: dict[str, pa.Table]) -> None:
    """Remove from every other month the older versions of these rows, given by month.

    First, a new home that has a file gives up its coverage of their instants. A kill before
    the rows are published there leaves a gap to read again, never a lost or doubled row.
    """
    for label, ids in files.find_elsewhere(rows).items():
        for home, new in rows.items():
            if home != label:
                _retract(files, home, new.filter(pc.is_in(new["id"], value_set=ids)))
        _remove_rows(files, label, ids)


def _retract(files: MonthFiles, home: str, moving: pa.Table) -> None:
    """Retract the instants of moving rows from the coverage of their new month."""
    moments = [(at, at + 1) for at in files.stream.instants(moving).tolist()]
    # The origin's file covers months that have no file.
    for label in (home, ORIGIN):
        footer = files.footers.get(label)
        if footer and footer.coverage.remove(moments) != footer.coverage:
            remaining = footer.coverage.remove(moments)
            groups = read_groups(files.path(label))
            files.write(label, groups, remaining, footer.quarantined, footer.totals)


def _remove_rows(files: MonthFiles, label: str, ids: pa.Array) -> None:
    """Remove rows from a month's file, and keep them as superseded versions."""
    path = files.path(label)
    leaving = read_rows(files.stream, path, pa.chunked_array([ids]))
    is_restatement = pa.array([True] * len(leaving), pa.bool_())
    files.keep_superseded(label, leaving.append_column("is_restatement", is_restatement))
    footer = files.footers[label]
    expected = footer.totals - control_totals(files.stream, leaving)
    files.write(label, drop_rows(path, ids), footer.coverage, footer.quarantined, expected)
