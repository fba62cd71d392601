"""Add chosen properties of the payments' metadata to a statement's lines, as columns.

Metadata is the merchant's own (contract, Payment): a cart, a branch, a channel. A
statement shows only the properties that were named.
"""

from collections.abc import Collection, Sequence

import msgspec
import pyarrow as pa

from svc_analytics.arguments import as_names
from svc_analytics.errors import ConfigError, DataError
from svc_analytics.lake.index.month_index import read_rows_with
from svc_analytics.messages import Message, translated
from svc_analytics.records.raw_json import decode_text, members
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse.sources import Sources
from svc_analytics.warehouse.warehouse import Warehouse

_PREFIX = "metadata."
_BEFORE = "receipt_verdict"  # the column that follows them
# A refund shows the metadata of its payment; a payout has none.
_QUERY = """
    select coalesce(payments.metadata, parents.metadata) as metadata
    from lines
    left join payments
        on payments.payment_id = coalesce(lines.parent_payment_id, lines.record_id)
    left join parents on parents.id = lines.parent_payment_id
    order by lines.line_no
"""
_quick_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def check_names(names: Collection[str]) -> tuple[str, ...]:
    """Return the names of properties in the order given; refuse empty and repeated names."""
    names = as_names("metadata", names, "cart")
    if any(name != name.encode("utf-8", "replace").decode() for name in names):
        raise ConfigError("the name of a property is not UTF-8: in the locale C, set PYTHONUTF8=1")
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError("name each property of the metadata once: --metadata cart,channel")
    return names


def with_metadata(warehouse: Warehouse, lines: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the lines with a column `metadata.NAME` for each name, NULL where a line has none.

    A text is given as it is, any other value as the JSON that the service wrote.
    """
    if not names:
        return lines
    tables = {"lines": lines, "parents": _refunded(warehouse.sources, lines)}
    metadata = warehouse.query(_QUERY, tables=tables)["metadata"].to_pylist()
    rows = [read_properties(text, names) for text in metadata]
    place = lines.schema.get_field_index(_BEFORE)
    for offset, name in enumerate(names):
        values = pa.array([row.get(name) for row in rows], pa.string())
        lines = lines.add_column(place + offset, f"{_PREFIX}{name}", values)
    return lines


def _refunded(sources: Sources, lines: pa.Table) -> pa.Table:
    """Return the metadata of the payments that lines refund, whenever they were paid."""
    named = lines["parent_payment_id"].drop_null().to_pylist()
    columns = ["id", "metadata"]
    return read_rows_with(
        sources.lake, PAYMENTS, "id", named, columns=columns, snapshot=sources.folder
    )


def name_empty(lines: pa.Table, noun: str) -> list[Message]:
    """Name in words the metadata columns that are empty in every line, perhaps misspelt."""
    chosen = [name for name in lines.column_names if name.startswith(_PREFIX)]
    empty = [name for name in chosen if len(lines) and lines[name].null_count == len(lines)]
    text = "{name} is empty in every line: no payment of the {NOUN} has this metadata"
    return [Message(text, name=name, noun=translated(noun)) for name in empty]


def read_properties(metadata: str | None, names: Collection[str]) -> dict[str, str | None]:
    """Return these properties of one payment's metadata, as text.

    >>> read_properties('{"cart": 7.10, "channel": "web", "tags": ["a"]}', ["cart", "channel"])
    {'cart': '7.10', 'channel': 'web'}
    """
    properties = _split((metadata or "{}").encode())
    return {name: _as_text(properties[name]) for name in names if name in properties}


def _split(metadata: bytes) -> dict[str, bytes]:
    try:
        return {name: bytes(value) for name, value in _quick_members.decode(metadata).items()}
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return members(metadata)
    except DataError:  # not a JSON object, so it has no properties
        return {}


def _as_text(value: bytes) -> str | None:
    if value.startswith(b'"'):
        return decode_text(value)
    return None if value == b"null" else value.decode()
