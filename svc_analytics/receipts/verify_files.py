"""Receipts of a shoebox against the lake: a verdict for every line, however broken.

Batches flow through: tokens are read, their payments looked up in the lake, both
checked, repetitions pointed out. Memory does not grow with the input, but for
thirty-six bytes a token that remember where it stood.
"""

from __future__ import annotations

import binascii
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError, DataError, LakeError
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.receipts.bulk import RECORDS, UNSURE, BulkVerifier
from svc_analytics.receipts.duplicates import DuplicateFinder
from svc_analytics.receipts.token_files import Batch, read_sources
from svc_analytics.receipts.verify_lake import Confirm, differences_text
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import Verdict, parse_receipt
from svc_analytics.signing.secrets import SigningSecret, parse_secrets

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.config import Settings

LONGEST_ID = 128
OUTPUT = pa.schema(
    [
        ("source", pa.string()),
        ("line_no", pa.int64()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("payment_id", pa.string()),
        ("receipt_no", pa.string()),
        ("differences", pa.string()),
    ]
)
_LOOK_UP = """
select {columns}
from wanted
left join read_parquet($files) as held on held.id = wanted.payment_id
order by wanted.n
"""


class PaymentLookup:
    """The payments of a lake that stands still, by id; without a lake there are none."""

    def __init__(self, folder: Path | None, merchant_id: str, coverage: Coverage) -> None:
        self._files = str(folder / PAYMENTS.name / "*.pq") if folder else None
        self._merchant_id = merchant_id
        self._coverage = coverage
        self._connection = duckdb.connect()

    def is_covered(self, at: int) -> bool:
        """Whether every payment of an instant is in the lake."""
        return any(start <= at < end for start, end in self._coverage.complete)

    @interruptible()
    def find(self, ids: Sequence[str | None]) -> pa.Table:
        """Return the record of each id, row by row; all NULL where there is none."""
        if self._files is None:
            return pa.Table.from_pylist([{}] * len(ids), schema=RECORDS)
        columns = {name: f"held.{name}" for name in RECORDS.names} | {
            "payment_id": "held.id",
            "merchant_id": "case when held.id is not null then $merchant_id end",
            "paid_at": "epoch_us(held.paid_at)",
        }
        query = _LOOK_UP.format(
            columns=", ".join(f"{sql} as {name}" for name, sql in columns.items())
        )
        wanted = pa.table(
            {"n": pa.array(range(len(ids))), "payment_id": pa.array(ids, pa.string())}
        )
        with self._connection.cursor() as cursor:
            cursor.register("wanted", wanted)
            parameters = {"files": self._files, "merchant_id": self._merchant_id}
            found = cursor.sql(query, params=parameters).to_arrow_table()
        if len(found) != len(ids):  # never: but then each row would be held against another's
            raise LakeError("an id appears twice in the payments of the lake: run extract")
        return found.cast(RECORDS)


@contextmanager
def open_records(lake: Lake | None) -> Iterator[PaymentLookup]:
    """Open the payments of a lake as they stand now."""
    with ExitStack() as stack:
        if lake is None or not lake.exists:
            yield PaymentLookup(None, "", Coverage())
            return
        merchant_id, coverage = lake.merchant_id, lake.coverage(PAYMENTS)
        yield PaymentLookup(stack.enter_context(lake.snapshot()), merchant_id, coverage)


def verify_batches(
    batches: Iterable[Batch],
    records: PaymentLookup,
    settings: Settings,
    confirm: Confirm | None = None,
) -> Iterator[pa.Table]:
    """Yield a table of verdicts (`OUTPUT`) for each batch of tokens."""
    require_ring(settings.receipt_secrets)
    checker = BulkVerifier(settings.receipt_secrets, settings.webhook_secrets, records.is_covered)
    repetitions = DuplicateFinder()
    for batch in batches:
        ids = [payment_id_of(token) for token in batch.tokens]
        held = records.find(ids)
        found = checker.check(batch.tokens, held)
        if confirm:
            found = [_confirmed(*pair, confirm) for pair in zip(batch.tokens, found, strict=True)]
        yield _output(batch, ids, found, held, repetitions)


def require_ring(ring: Sequence[SigningSecret]) -> None:
    """Refuse to verify without a receipt secret."""
    if not ring:
        raise ConfigError("SVC_RECEIPT_SECRETS is not set: no receipt can be verified without it")


def payment_id_of(token: str | None) -> str | None:
    """Return the payment a token names, to look it up by; proves nothing.

    A token in the canonical order tells it in its first 51 bytes.
    """
    try:
        head = binascii.a2b_base64((token or "")[3:71])
        if head.startswith(b'{"payment_id":"') and b'"' not in head[15:51] and len(head) == 51:
            return head[15:51].decode()
        return parse_receipt(token or "").facts["payment_id"]
    except (DataError, ValueError):
        return None


def verify_receipts(
    tokens: Any,
    secrets: Sequence[str | SigningSecret] | None = None,
    *,
    lake: Lake | str | os.PathLike[str] | None = None,
    column: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Return a frame of verdicts on tokens: a Series, a frame, an iterable, or a file's path.

    `secrets` are texts as in SVC_RECEIPT_SECRETS, newest first; without them, and
    without a `lake`, those of the settings are taken. Raises `ConfigError` when there
    is no secret, or no column of tokens.
    """
    from tqdm.auto import tqdm

    settings = _settings(secrets)
    lake = lake if isinstance(lake, Lake) else Lake(lake or settings.data_dir)
    with (
        open_records(lake) as records,
        tqdm(
            desc="verifying", unit=" tokens", disable=None if progress else True, leave=False
        ) as bar,
    ):
        tables = []
        for table in verify_batches(_batches(tokens, column), records, settings):
            tables.append(table)
            bar.update(len(table))
    return _to_frame(pa.concat_tables([OUTPUT.empty_table(), *tables]))


def _settings(secrets: Sequence[str | SigningSecret] | None) -> Settings:
    from svc_analytics.config import Settings, read_data_dir, read_settings

    if secrets is None:
        return read_settings()
    texts = [secrets] if isinstance(secrets, (str, SigningSecret)) else secrets
    ring = [
        entry
        for item in texts
        for entry in ([item] if isinstance(item, SigningSecret) else parse_secrets(item))
    ]
    return Settings(receipt_secrets=tuple(ring), data_dir=read_data_dir())


def _batches(tokens: Any, column: str | None) -> Iterator[Batch]:
    if isinstance(tokens, (str, os.PathLike)):
        yield from read_sources([os.fspath(tokens)], column)
        return
    name = "tokens"
    if hasattr(tokens, "columns"):
        name = _column_of_frame(list(map(str, tokens.columns)), column)
        tokens = tokens[name]
    values = [value if isinstance(value, str) else None for value in tokens]
    yield from (
        Batch(name, list(range(start + 1, start + 1 + len(part))), part)
        for start in range(0, len(values), 50_000)
        if (part := values[start : start + 50_000])
    )


def _column_of_frame(names: list[str], column: str | None) -> str:
    from svc_analytics.receipts.token_files import NAMES

    found = [name for name in ([column] if column else NAMES) if name in names]
    if not found:
        raise ConfigError(f"the frame has no column of tokens; name one of: {', '.join(names)}")
    return found[0]


def _to_frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _confirmed(token: str | None, verdict: Verdict, confirm: Confirm) -> Verdict:
    return confirm(token, verdict) if token and verdict.verdict in UNSURE else verdict


def _output(
    batch: Batch,
    ids: Sequence[str | None],
    found: Sequence[Verdict],
    held: pa.Table,
    repetitions: DuplicateFinder,
) -> pa.Table:
    is_token = [verdict.verdict != "malformed" for verdict in found]
    ids = [id_ if ok else None for id_, ok in zip(ids, is_token, strict=True)]
    notes = repetitions.of(batch, ids)
    numbers = [
        verdict.receipt.facts["receipt_no"][:LONGEST_ID] if verdict.receipt else held_no
        for verdict, held_no in zip(found, held["receipt_no"].to_pylist(), strict=True)
    ]
    columns = [
        [batch.source] * len(found),
        batch.lines,
        [verdict.verdict for verdict in found],
        [verdict.reason + note for verdict, note in zip(found, notes, strict=True)],
        [id_ and id_[:LONGEST_ID] for id_ in ids],
        [no if ok else None for no, ok in zip(numbers, is_token, strict=True)],
        [differences_text(verdict.differences) for verdict in found],
    ]
    return pa.table(columns, schema=OUTPUT)
