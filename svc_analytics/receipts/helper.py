"""A helper process that verifies parts of months: how it begins, and hands over its verdicts.

Verdicts go through a file beside the snapshot that the helper reads from. Through the pipe of
processes, the one that began it would read them bit by bit, between its own hashes.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from svc_analytics.lake.loading import load_arrow_alone

if TYPE_CHECKING:
    import pyarrow as pa

    from svc_analytics.receipts.bulk import BulkVerifier
    from svc_analytics.receipts.lake_months import MonthPart

PlainRing = tuple[tuple[str, int | None], ...]  # secrets, and since when each signs

_verifier: list[BulkVerifier] = []  # the one of this process


def begin_helper(ring: PlainRing, webhook_ring: PlainRing) -> None:
    """Begin a process that verifies parts with the key ring and webhook secrets given."""
    load_arrow_alone()
    from svc_analytics.receipts.bulk import BulkVerifier
    from svc_analytics.receipts.parallel import end_with_parent
    from svc_analytics.signing.secrets import Secret, SigningSecret

    end_with_parent()
    mine, webhooks = (
        [SigningSecret(Secret(text), valid_from) for text, valid_from in plain]
        for plain in (ring, webhook_ring)
    )
    _verifier[:] = [BulkVerifier(mine, webhooks)]


def verify_into_file(part: MonthPart) -> Path:
    """Write the verdicts on a part to a file, in a process that was begun for it."""
    import pyarrow as pa

    from svc_analytics.receipts.lake_months import verify_part

    table = verify_part(part, _verifier[0])
    path = part.month.payments.with_suffix(f".{part.groups.start}.verdicts")
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return path


def take_verdicts(path: Path) -> pa.Table:
    """Return the verdicts that a helper wrote to a file, and remove it.

    Where a file that is being read cannot be removed, it goes with the snapshot it lies in.
    """
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    with suppress(PermissionError):
        path.unlink()
    return table
