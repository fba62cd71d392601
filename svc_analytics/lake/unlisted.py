"""Unlisted records: those that a month file holds, and the service's list lacks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, Self

import pyarrow as pa

from svc_analytics.money import format_amount
from svc_analytics.schema import Column, Stream

GONE, KNOWN, NOT_ASKED = "gone", "known", "not asked"


@dataclass(frozen=True)
class Unlisted:
    """A record that the list lacked when its time was last read whole."""

    id: str
    booked_at: int  # UTC microseconds
    currency: str
    # What the service says of its id: gone, known, or not asked. Behind a colon stands what it
    # answered, where that says nothing of the record, as in `not asked: 403 FORBIDDEN`.
    state: str
    noticed_at: int  # by the first reading that found it so, UTC microseconds
    content: str  # a digest of what the lake holds of it

    @property
    def said(self) -> str:
        """What the service says of its id: gone, known, or nothing, which is not asked."""
        return self.state.partition(":")[0]

    @classmethod
    def each(
        cls, stream: Stream, rows: pa.Table, states: Mapping[str, str], noticed_at: int
    ) -> list[Self]:
        """Return held records as ones that the list lacks, in these states by their ids."""
        columns = [column for column in stream.columns if column.is_fact]
        rows_of = zip(*(_plain(rows, column) for column in columns), strict=True)
        records = [
            {column.name: value for column, value in zip(columns, row, strict=True)}
            for row in rows_of
        ]
        return [
            cls(
                facts["id"],
                int(facts[stream.booked]),
                facts["currency"],
                states[facts["id"]],
                noticed_at,
                sha256(json.dumps(facts).encode()).hexdigest(),
            )
            for facts in records
        ]

    def is_same(self, other: Self) -> bool:
        """Whether another reading found the same of the same record."""
        return (self.state, self.content) == (other.state, other.content)


def _plain(rows: pa.Table, column: Column) -> list[Any]:
    """Return a column's values as JSON holds them: amounts as text, instants as microseconds."""
    values = rows[column.name]
    plain = (values.cast(pa.int64()) if column.kind == "instant" else values).to_pylist()
    return [format_amount(each) if isinstance(each, Decimal) else each for each in plain]
