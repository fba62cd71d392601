"""Verify receipt tokens of files against the lake: one verdict per row, however broken."""

from __future__ import annotations

import binascii
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from svc_analytics.arguments import check_path
from svc_analytics.config import Settings, read_data_dir, read_settings
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError, DataError, LakeError
from svc_analytics.formatting.ids import canonical_id
from svc_analytics.formatting.tables import to_frame
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, clauses
from svc_analytics.receipts.bulk import RECORDS, BulkVerifier, VerifyOnline
from svc_analytics.receipts.duplicates import DuplicateFinder
from svc_analytics.receipts.kept_columns import KeptColumns, Wanted, choose, open_kept
from svc_analytics.receipts.lake_months import differences_text
from svc_analytics.receipts.pieces import notes_on_pieces
from svc_analytics.receipts.texts.token_rows import NAMES, require_one, require_unique
from svc_analytics.receipts.texts.worded_tokens import tokens_in
from svc_analytics.receipts.token_files import BATCH, Batch, read_sources
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import Verdict, parse_receipt
from svc_analytics.signing.secrets import Secrets, parse_ring
from svc_analytics.warehouse.connection import NO_BARS

if TYPE_CHECKING:
    import pandas as pd

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
select
    payments.id as payment_id,
    payments.receipt_no,
    case when payments.id is not null then $merchant_id end as merchant_id,
    payments.reference_id,
    payments.currency,
    payments.amount,
    payments.charged_amount,
    payments.fee_bearer,
    payments.net_amount,
    epoch_us(payments.paid_at) as paid_at
from wanted
left join read_parquet($files) as payments on payments.id = wanted.payment_id
order by wanted.n
"""


class PaymentLookup:
    """Looks up payments by id in a snapshot of a lake; without a lake it finds none."""

    def __init__(self, folder: Path | None, merchant_id: str, coverage: Coverage) -> None:
        self._files = str(folder / PAYMENTS.name / "*.pq") if folder else None
        self._merchant_id = merchant_id
        self._coverage = coverage
        self._connection = duckdb.connect()
        self._connection.execute(f"SET {NO_BARS}")

    def is_covered(self, at: int) -> bool:
        """Tell whether the lake holds every payment of an instant."""
        return any(start <= at < end for start, end in self._coverage.complete)

    @interruptible()
    def find(self, ids: Sequence[str | None]) -> pa.Table:
        """Return the payment of each id in its row; all NULL where there is none."""
        if self._files is None:
            return pa.Table.from_pylist([{}] * len(ids), schema=RECORDS)
        wanted = pa.table({"n": range(len(ids)), "payment_id": pa.array(ids, pa.string())})
        with self._connection.cursor() as cursor:
            cursor.register("wanted", wanted)
            parameters = {"files": self._files, "merchant_id": self._merchant_id}
            records = cursor.sql(_LOOK_UP, params=parameters).to_arrow_table()
        if len(records) != len(ids):  # else tokens would be compared with wrong payments
            raise LakeError("the lake has two payments with the same id: run extract")
        return records.cast(RECORDS)


@contextmanager
def open_payments(lake: Lake | None) -> Iterator[PaymentLookup]:
    """Open a lookup over a snapshot of the lake's payments."""
    if lake is None or not lake.exists:
        yield PaymentLookup(None, "", Coverage())
        return
    # Coverage first: a newer one than the snapshot would claim payments it does not hold.
    merchant_id, coverage = lake.merchant_id, lake.coverage(PAYMENTS)
    with lake.snapshot([PAYMENTS.name]) as folder:
        yield PaymentLookup(folder, merchant_id, coverage)


def verify_batches(
    batches: Iterable[Batch],
    payments: PaymentLookup,
    settings: Settings,
    verify_online: VerifyOnline | None = None,
    keep: KeptColumns | None = None,
    codes: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Yield a table of verdicts for each batch of tokens: `OUTPUT`, and the columns to keep.

    Counts the codes of their reasons in `codes`.
    """
    settings.require_receipt_secrets()
    verifier = BulkVerifier(
        settings.receipt_secrets, settings.webhook_secrets, payments.is_covered, verify_online
    )
    duplicates = DuplicateFinder()
    for batch in batches:
        ids = [payment_id_of(token) for token in batch.tokens]
        records = payments.find(ids)
        verdicts = list(verifier.verify(batch.tokens, records))
        stated = list(map(_stated, verdicts, ids, records["receipt_no"].to_pylist()))
        reasons = _reasons(batch, verdicts, duplicates.notes_on(batch, [id_ for id_, _ in stated]))
        table = _output(batch, verdicts, reasons, stated)
        if codes is not None:
            codes.update(code for reason in reasons for code in reason.codes())
        yield keep.fill(table, batch.cells) if keep else table


def payment_id_of(token: str | None) -> str | None:
    """Return the payment id that a token states, unverified; None if it states none."""
    try:
        head = binascii.a2b_base64((token or "")[3:71])  # it comes first in the canonical order
        if head.startswith(b'{"payment_id":"') and b'"' not in head[15:51] and len(head) == 51:
            return canonical_id(head[15:51].decode())
        return canonical_id(parse_receipt(token or "").facts["payment_id"])
    except (DataError, ValueError):
        return None


def verify_receipts(
    tokens: Any,
    secrets: Secrets | None = None,
    *,
    lake: Lake | str | os.PathLike[str] | None = None,
    column: str | None = None,
    keep: Wanted = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Verify receipt tokens; return a frame with a verdict on each.

    `tokens` is a Series, a frame, an iterable, or a file's path; in each of its texts tokens may
    stand among words, and a text may hold several. `secrets` are texts as in SVC_RECEIPT_SECRETS,
    newest first; secrets and `lake` default to the settings. `keep` names columns of the frame or
    file to carry into the answer, True every one; one that is named as a column of the answer
    becomes `input.name`.

    Returns:
        A frame with a row for each token, in its order: source, line_no, verdict, reason,
        payment_id, receipt_no and differences.

    Raises:
        ConfigError: when there is no such file, no column of tokens or none to keep, or no
            secret. A token never raises: it gets a verdict.

    Examples:
        >>> svc.verify_receipts("tickets.csv", keep=["ticket", "agent"])  # doctest: +SKIP
    """
    from tqdm.auto import tqdm  # loads IPython's widgets where there are any

    is_off = None if progress else True
    with _inputs(tokens, column, keep) as (sources, kept_columns, frame):
        batches = _begun(sources)  # a wrong file is named before a missing secret
        settings = _settings(secrets)
        lake = lake if isinstance(lake, Lake) else Lake(lake or settings.data_dir)
        bar = tqdm(desc="verifying", unit=" tokens", disable=is_off, leave=False)
        with open_payments(lake) as payments, bar:
            tables = [kept_columns.added_to(OUTPUT).empty_table()]
            for table in verify_batches(batches, payments, settings, keep=kept_columns):
                tables.append(table)
                bar.update(len(table))
    return _with_columns(to_frame(pa.concat_tables(tables)), tokens, frame)


def _settings(secrets: Secrets | None) -> Settings:
    """Return the settings of this machine, with the secrets that were given, if any."""
    if secrets is None:
        return read_settings()
    return Settings(receipt_secrets=parse_ring(secrets), data_dir=read_data_dir())


@contextmanager
def _inputs(
    tokens: Any, column: str | None, keep: Wanted
) -> Iterator[tuple[Iterator[Batch], KeptColumns, KeptColumns]]:
    """Yield the tokens of a file, a frame or a list; the columns to keep of either."""
    if isinstance(tokens, (str, os.PathLike)):
        with open_kept([os.fspath(tokens)], column, keep, OUTPUT.names) as (sources, kept_columns):
            yield read_sources(sources, column, kept_columns.names), kept_columns, KeptColumns()
        return
    name, columns = "tokens", KeptColumns()
    if hasattr(tokens, "columns"):
        names = list(map(str, tokens.columns))
        name = _column_of_frame(names, column)
        columns = choose(names, keep, OUTPUT.names, "the frame")
        tokens = tokens[name]
    elif keep is not False:
        raise ConfigError("there are no columns to keep: give a frame or a file's path")
    yield _batches(tokens, name), KeptColumns(), columns


def _batches(tokens: Iterable[Any], name: str) -> Iterator[Batch]:
    if not isinstance(tokens, Iterable):
        check_path("tokens", tokens, "tickets.csv")
    rows = (
        (number, token)
        for number, value in enumerate(tokens, 1)
        for token in (tokens_in(value) if isinstance(value, str) else [None])
    )
    while batch := list(islice(rows, BATCH)):
        lines, texts = zip(*batch, strict=True)
        yield Batch(name, list(lines), list(texts))


def _with_columns(verdicts: pd.DataFrame, tokens: Any, kept_columns: KeptColumns) -> pd.DataFrame:
    """Return verdicts with columns of the frame that was given, of their own types."""
    labels = {str(label): label for label in tokens.columns} if kept_columns.names else {}
    places = (verdicts["line_no"] - 1).to_numpy("int64")
    for name, new in zip(kept_columns.names, kept_columns.renamed, strict=True):
        values = tokens[labels[name]]
        verdicts[new] = getattr(values, "array", values)[places]
    return verdicts


def _begun(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Read the first batch, which shows whether there is anything to read."""
    first = list(islice(batches, 1))
    return chain(first, batches)


def _column_of_frame(names: list[str], column: str | None) -> str:
    named = [name for name in ([column] if column else NAMES) if name in names]
    require_one(named, "the frame")
    if named:
        return require_unique(names, named[0], "the frame")
    raise ConfigError(f"the frame has no column of tokens; name one of: {', '.join(names)}")


def _stated(
    verdict: Verdict, payment_id: str | None, recorded_no: str | None
) -> tuple[str | None, str | None]:
    """Return the payment id and receipt number of a token, unless it is malformed."""
    if verdict.verdict == "malformed":
        return None, None
    # A verdict without a parsed receipt says that the token states what is recorded.
    return payment_id, verdict.receipt.facts["receipt_no"] if verdict.receipt else recorded_no


def _reasons(
    batch: Batch, verdicts: Sequence[Verdict], repeated: Sequence[Message | None]
) -> list[Message]:
    """Return the reason of each verdict, with the notes on its row."""
    pieces = notes_on_pieces(batch, verdicts)
    return [
        clauses(verdict.reason, *filter(None, notes))
        for verdict, *notes in zip(verdicts, repeated, pieces, strict=True)
    ]


def _output(
    batch: Batch,
    verdicts: Sequence[Verdict],
    reasons: Sequence[Message],
    stated: Sequence[tuple[str | None, str | None]],
) -> pa.Table:
    columns = {
        "source": [batch.source] * len(verdicts),
        "line_no": batch.lines,
        "verdict": [verdict.verdict for verdict in verdicts],
        "reason": reasons,
        "payment_id": [payment_id and payment_id[:LONGEST_ID] for payment_id, _ in stated],
        "receipt_no": [receipt_no and receipt_no[:LONGEST_ID] for _, receipt_no in stated],
        "differences": [differences_text(verdict.differences) for verdict in verdicts],
    }
    return pa.table(columns, schema=OUTPUT)
