"""Unlisted records: those that a month file holds, and the service's list lacks."""

import json
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal, Self

import pyarrow as pa

from svc_analytics.money import format_amount
from svc_analytics.schema import Column, Stream

# What the service says of its id: nothing, the record, or it could not be asked.
State = Literal["gone", "known", "not asked"]


@dataclass(frozen=True)
class Unlisted:
    """A record that the list lacked when its time was last read whole."""

    id: str
    booked_at: int  # UTC microseconds
    currency: str
    state: State
    noticed_at: int  # by the first reading that found it so, UTC microseconds
    content: str  # a digest of what the lake holds of it

    @classmethod
    def of(cls, stream: Stream, row: pa.Table, state: State, noticed_at: int) -> Self:
        """Return a held record, a table of one row, as one that the list lacks."""
        facts = {column.name: _plain(row, column) for column in stream.columns if column.is_fact}
        content = sha256(json.dumps(facts).encode()).hexdigest()
        booked_at = int(facts[stream.booked])
        return cls(facts["id"], booked_at, facts["currency"], state, noticed_at, content)

    def is_same(self, other: Self) -> bool:
        """Whether another reading found the same of the same record."""
        return (self.state, self.content) == (other.state, other.content)


def _plain(row: pa.Table, column: Column) -> Any:
    """Return a value of a row as JSON holds it: amounts as text, instants as microseconds."""
    values = row[column.name]
    [value] = (values.cast(pa.int64()) if column.kind == "instant" else values).to_pylist()
    return format_amount(value) if isinstance(value, Decimal) else value
