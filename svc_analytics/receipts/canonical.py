"""Canonical tokens: those that are the very text the service would issue for their record.

Records become texts column by column, which takes a tenth of the time of parsing tokens. What
is not told to be canonical here may still be valid: `verify_receipt` decides.
"""

import json
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pybase64

from svc_analytics.errors import DataError
from svc_analytics.money import SCALE
from svc_analytics.schema import MONEY
from svc_analytics.signing.receipts import parse_receipt
from svc_analytics.signing.token_form import FACTS, MAX_TOKEN_LENGTH, MONEY_FACTS, SIGNATURE

TRIMMED = -1  # amounts without trailing zeros
_MILLIONTH = pa.scalar(Decimal("0.000001"), MONEY)
_PADS = pa.array([b"", b"\0", b"\0\0"])  # to a multiple of 3 bytes, which make 4 characters
_AS_PADDED = pa.array([b"", b"A", b"AA"])  # what those are in base64


def is_canonical(tokens: pa.Array, records: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell which tokens are, up to the signature, what the service would issue.

    `tokens` are texts; the record of each is in the same row.
    """
    payloads = _payloads(tokens, records).cast(pa.binary())
    texts = tokens.cast(pa.binary())
    has_form = pc.and_(
        pc.and_(pc.starts_with(texts, "v1."), pc.is_valid(payloads)),
        pc.and_(
            pc.equal(pc.binary_slice(texts, -SIGNATURE - 1, -SIGNATURE), b"."),
            pc.less_equal(pc.binary_length(texts), MAX_TOKEN_LENGTH),
        ),
    )
    is_same = _is_encoded(pc.binary_slice(texts, 3, -SIGNATURE - 1), payloads)
    return np.asarray(pc.and_(has_form, is_same).fill_null(False))


def _is_encoded(segments: pa.Array, payloads: pa.Array) -> pa.Array:
    """Tell which segments are payloads in base64url.

    One call encodes all payloads, because each is padded to a whole number of groups.
    """
    payloads = payloads.fill_null(b"")
    pads = pa.array(-np.asarray(pc.binary_length(payloads)) % 3)
    padded = pc.binary_join_element_wise(payloads, _PADS.take(pads), b"")
    _, offsets, data = padded.buffers()
    text = as_base64url(data or b"")
    places = np.frombuffer(offsets, np.int32, len(padded) + 1) // 3 * 4
    buffers = [None, pa.py_buffer(places), pa.py_buffer(text)]
    encoded = pa.Array.from_buffers(pa.binary(), len(padded), buffers)
    return pc.equal(pc.binary_join_element_wise(segments, _AS_PADDED.take(pads), b""), encoded)


def as_base64url(data: Any) -> bytes:
    """Return bytes as base64url.

    >>> as_base64url(b"~~~???")
    b'fn5-Pz8_'
    """
    return pybase64.b64encode(data, b"-_")


def as_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, which is not copied if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _payloads(tokens: pa.Array, records: pa.Table) -> pa.Array:
    """Return the payload that the service would write for each record, or NULL."""
    columns = {fact: as_array(records[fact]) for fact in FACTS}
    places = _places_written(tokens, columns["currency"])
    amounts = _amount_texts(columns["amount"], places)
    parts: list[Any] = []
    opening = '{"'
    for fact, column in columns.items():
        if fact in MONEY_FACTS:  # who bears no fee is charged, or gets, the same amount
            is_same = column.equals(columns["amount"])
            text = amounts if is_same else _amount_texts(column, places)
        else:
            text = _instant_texts(column) if fact == "paid_at" else _json_texts(column)
        parts += [f'{opening}{fact}":"', text]
        opening = '","'
    return pc.binary_join_element_wise(*parts, '"}', "")


def _json_texts(texts: pa.Array) -> pa.Array:
    """Return texts as JSON writes them, without the quotes around."""
    characters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    if not np.any((characters < 0x20) | (characters == ord('"')) | (characters == ord("\\"))):
        return texts
    written = (text and json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist())
    return pa.array(written, pa.string())


def _instant_texts(instants: pa.Array) -> pa.Array:
    """Return instants with as many digits of a second as they need: none, 3 or 6."""
    texts = pc.cast(instants.cast(pa.timestamp("us")), pa.string())
    texts = pc.binary_replace_slice(texts, 10, 11, "T")
    for end in ("000", ".000"):
        cut = pc.utf8_slice_codeunits(texts, 0, -len(end))
        texts = pc.if_else(pc.ends_with(texts, end), cut, texts)
    return pc.binary_join_element_wise(texts, "Z", "")


def _amount_texts(amounts: pa.Array, places: npt.NDArray[np.int64]) -> pa.Array:
    """Return amounts with so many decimals in each row; NULL where they have more.

    Arrow writes amounts below a millionth with an exponent, as the service never does: NULL.
    """
    texts = pc.cast(amounts, pa.string())
    is_plain = pc.greater_equal(amounts, _MILLIONTH)
    amount_texts = pa.nulls(len(texts), pa.string())
    for some in np.unique(places).tolist():
        if some == TRIMMED:
            end, cut = "", pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
        else:
            end = ("." if some == 0 else "") + "0" * (SCALE - some)
            cut = pc.utf8_slice_codeunits(texts, 0, -len(end) or None)
        is_exact = pc.and_(is_plain, pc.ends_with(texts, end))
        amount_texts = pc.if_else(pc.and_(is_exact, pa.array(places == some)), cut, amount_texts)
    return amount_texts


def _places_written(tokens: pa.Array, currencies: pa.Array) -> npt.NDArray[np.int64]:
    """Return the decimals the service writes per currency, read from one token of each."""
    known = pc.unique(currencies.drop_null())
    firsts = (pc.index(currencies, currency).as_py() for currency in known)
    places = pa.array([_places(tokens[first].as_py()) for first in firsts], pa.int64())
    return np.asarray(places.take(pc.index_in(currencies, known)).fill_null(TRIMMED))


def _places(token: str | None) -> int:
    try:
        facts = parse_receipt(token or "").facts
    except DataError:
        return TRIMMED
    places = {len(facts[fact].partition(".")[2]) for fact in MONEY_FACTS}
    return places.pop() if len(places) == 1 else TRIMMED
