"""Verify receipt tokens of files against the lake: one verdict per row, however broken."""

from __future__ import annotations

import binascii
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.arguments import as_names, check_path
from svc_analytics.config import Settings, read_data_dir, read_settings
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError, DataError, LakeError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, clauses
from svc_analytics.receipts import token_files
from svc_analytics.receipts.bulk import RECORDS, BulkVerifier, VerifyOnline
from svc_analytics.receipts.find_tokens import NAMES, Cells, require_one, require_unique, tokens_in
from svc_analytics.receipts.lake_months import differences_text
from svc_analytics.receipts.token_files import BATCH, Batch, TokenFile
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import (
    MAX_TOKEN_LENGTH,
    Verdict,
    has_token_form,
    parse_receipt,
)
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
    keep: PassedColumns | None = None,
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
    with _inputs(tokens, column, keep) as (sources, columns, frame):
        # A wrong file is named before a missing secret: its first batch is read now.
        batches = chain(list(islice(sources, 1)), sources)
        settings = _settings(secrets)
        lake = lake if isinstance(lake, Lake) else Lake(lake or settings.data_dir)
        bar = tqdm(desc="verifying", unit=" tokens", disable=is_off, leave=False)
        with open_payments(lake) as payments, bar:
            tables = [columns.output.empty_table()]
            for table in verify_batches(batches, payments, settings, keep=columns):
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
) -> Iterator[tuple[Iterator[Batch], PassedColumns, PassedColumns]]:
    """Yield the tokens of a file, a frame or a list; the columns to keep of either."""
    if isinstance(tokens, (str, os.PathLike)):
        with open_passed([os.fspath(tokens)], column, keep, OUTPUT.names) as (files, columns):
            yield token_files.read_sources(files, column, columns.names), columns, PassedColumns()
        return
    name, columns = "tokens", PassedColumns()
    if hasattr(tokens, "columns"):
        names = list(map(str, tokens.columns))
        name = _column_of_frame(names, column)
        columns = choose(names, keep, OUTPUT.names, "the frame")
        tokens = tokens[name]
    elif keep is not False:
        raise ConfigError("there are no columns to keep: give a frame or a file's path")
    yield _batches(tokens, name), PassedColumns(), columns


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


def _with_columns(verdicts: pd.DataFrame, tokens: Any, columns: PassedColumns) -> pd.DataFrame:
    """Return verdicts with columns of the frame that was given, of their own types."""
    labels = {str(label): label for label in tokens.columns} if columns.names else {}
    places = (verdicts["line_no"] - 1).to_numpy("int64")
    for name, new in zip(columns.names, columns.renamed, strict=True):
        values = tokens[labels[name]]
        verdicts[new] = getattr(values, "array", values)[places]
    return verdicts


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


# ---------- Duplicates among tokens of files
# The same token again, or another for its payment.


Keys = npt.NDArray[np.int64]

NO_KEY = 0  # of a row without a token or payment
IDENTICAL, SAME_PAYMENT = "receipt.same_token", "receipt.same_payment"  # codes of its notes


class DuplicateFinder:
    """Remembers the first row of each token and payment, in a few bytes each."""

    def __init__(self) -> None:
        self._tokens = _FirstRows()
        self._payments = _FirstRows()
        self._sources: list[str] = []
        self._ends: list[int] = []  # the row number at which each batch ends
        self._lines: list[npt.NDArray[np.int32]] = []

    def notes_on(self, batch: Batch, ids: Sequence[str | None]) -> list[Message | None]:
        """Return a note for each row that repeats another, which names the first of them."""
        self._sources.append(batch.source)
        self._lines.append(np.asarray(batch.lines, np.int32))
        self._ends.append((self._ends[-1] if self._ends else 0) + len(batch.lines))
        tokens = self._tokens.first(_keys(batch.tokens))
        payments = self._payments.first(_keys(ids))
        notes: list[Message | None] = [None] * len(batch.lines)
        for row in np.flatnonzero((tokens >= 0) | (payments >= 0)).tolist():
            is_same = tokens[row] >= 0
            source, line = self._place(int(tokens[row] if is_same else payments[row]))
            code = IDENTICAL if is_same else SAME_PAYMENT
            notes[row] = Message(code, source=source, line=line)
        return notes

    def _place(self, row: int) -> tuple[str, int]:
        batch = int(np.searchsorted(self._ends, row, side="right"))
        start = self._ends[batch - 1] if batch else 0
        return self._sources[batch], int(self._lines[batch][row - start])


class _FirstRows:
    """The keys seen so far, sorted, each with the row of its first occurrence."""

    def __init__(self) -> None:
        self._keys: Keys = np.empty(0, np.int64)
        self._rows: Keys = np.empty(0, np.int64)
        self._count = 0

    def first(self, keys: Keys) -> Keys:
        """Return the row in which each key occurred before, or -1; then remember the keys."""
        rows = np.arange(self._count, self._count + len(keys))
        known, places = np.unique(np.concatenate([self._keys, keys]), return_index=True)
        all_rows = np.concatenate([self._rows, rows])
        self._keys, self._rows, self._count = known, all_rows[places], self._count + len(keys)
        earliest = self._rows[np.searchsorted(known, keys)]
        return np.where((earliest < rows) & (keys != NO_KEY), earliest, -1)


def _keys(texts: Iterable[str | None]) -> Keys:
    """Hash texts to 64 bits: among a million, two collide once in 30 million runs."""
    return np.fromiter((hash(text) if text else NO_KEY for text in texts), np.int64)


# ---------- Columns of the input that stand in the answer too
# A ticket's number, an agent's name.


INPUT = "input."  # before a column whose name is one of the answer's own
Wanted = bool | Collection[str]  # every column, none, or those of these names


@dataclass(frozen=True)
class PassedColumns:
    """The columns to keep, by their names in the input and in the answer; all are texts."""

    names: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()

    @property
    def output(self) -> pa.Schema:
        """The schema of an answer with these columns behind its own."""
        return pa.schema([*OUTPUT, *((name, pa.string()) for name in self.renamed)])

    def fill(self, table: pa.Table, rows: Sequence[Cells]) -> pa.Table:
        """Return rows of an answer with the cells of each row of the input."""
        columns = zip(*rows, strict=True) if rows else [[] for _ in self.renamed]
        for name, cells in zip(self.renamed, columns, strict=bool(rows)):
            table = table.append_column(name, pa.array(cells, pa.string()))
        return table


def choose(
    available: Sequence[str], wanted: Wanted, taken: Iterable[str], where: str
) -> PassedColumns:
    """Choose the columns to keep; one of an answer's own names becomes `input.name`.

    Raises `ConfigError` for a column that is not there.
    """
    if isinstance(wanted, bool):
        names = list(dict.fromkeys(available)) if wanted else []
    else:
        columns = as_names("keep", [wanted] if isinstance(wanted, str) else wanted, "order")
        names = list(dict.fromkeys(_find(name, available, where) for name in columns))
    renamed: list[str] = []
    for name in names:
        new = name
        while new in {*taken, *renamed} or (new != name and new in names):
            new = INPUT + new
        renamed.append(new)
    return PassedColumns(tuple(names), tuple(renamed))


@contextmanager
def open_passed(
    paths: Sequence[str], column: str | None, wanted: Wanted, taken: Iterable[str]
) -> Iterator[tuple[list[TokenFile], PassedColumns]]:
    """Open files of tokens; yield them with the columns to keep, of whichever file has them."""
    token_files.require_files(paths)
    if wanted is False:
        yield list(map(token_files.source_of, paths)), PassedColumns()
        return
    with token_files.rereadable(paths) as sources:
        available = [
            name for source in sources for name in token_files.read_columns(source, column)
        ]
        where = ", ".join(source.name for source in sources)
        yield sources, choose(available, wanted, taken, where)


def _find(name: str, available: Sequence[str], where: str) -> str:
    """Return a column of this name, in capitals or not."""
    if name in available:
        return name
    alike = [each for each in available if each.casefold() == name.casefold()]
    if len(set(alike)) == 1:
        return alike[0]
    near = get_close_matches(name, available, 1)
    there = f"did you mean {near[0]!r}" if near else f"it has {', '.join(available)[:200]}"
    raise ConfigError(f"{where:.200} has no column {name!r} to keep: {there}")


# ---------- Tokens that were wrapped
# The rows that are pieces of one, told by their reasons.


def notes_on_pieces(batch: Batch, verdicts: Sequence[Verdict]) -> list[Message | None]:
    """Return a note for each row that is a piece of a token, else None.

    A piece is malformed, and is right behind the piece before it. Nothing is joined: the
    verdict on the whole is for whoever has joined it.
    """
    notes: list[Message | None] = [None] * len(batch.lines)
    row = 0
    while row < len(notes):
        end = _end_of_token(batch, verdicts, row)
        if end is None:
            row += 1
            continue
        notes[row] = Message("receipt.first_piece", line=batch.lines[end - 1])
        for piece in range(row + 1, end):
            notes[piece] = Message("receipt.later_piece", line=batch.lines[row])
        row = end
    return notes


def _end_of_token(batch: Batch, verdicts: Sequence[Verdict], start: int) -> int | None:
    """Return behind which row the token ends whose first piece is in a row, if there is one."""
    text = ""
    for row in range(start, len(batch.lines)):
        piece = batch.tokens[row]
        if not piece or verdicts[row].verdict != "malformed" or len(text) > MAX_TOKEN_LENGTH:
            return None
        text += piece
        if row == start and not piece.startswith("v1."):
            return None
        if row > start and has_token_form(text):
            return row + 1
    return None
