"""The footer of a month file: what it holds and covers, as JSON with the file's checksums."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage, Span, Spans
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file
from svc_analytics.lake.checksums import BLANK, find_signature, read_signed_footer
from svc_analytics.lake.control_totals import ControlTotals
from svc_analytics.lake.layout import FOOTER_KEY, LAYOUT, tool_version
from svc_analytics.money import format_amount
from svc_analytics.schema import STREAMS

# Of each column, the values that other months hold too; None where there are too many.
Shared = Mapping[str, tuple[str, ...] | None]

_JSON_START = b'{"layout": '  # not found within its texts: there, quotes have a backslash


@dataclass(frozen=True)
class PartitionFooter:
    """What a month file says about itself. Instants are UTC microseconds."""

    stream: str
    merchant_id: str
    owns: Span  # the time whose rows the file holds: its month
    coverage: Coverage
    quarantined: int  # rejected records of the month, not resolved
    written_at: int
    totals: ControlTotals = field(default_factory=ControlTotals)
    tool_version: str = field(default_factory=tool_version)
    confirmed: Spans = ()  # complete time of which two readings in a row saw the same records
    judged_at: int | None = None  # the run's clock; an earlier release did not judge any
    shared: Shared | None = None  # nobody looked for any in a file of layout 1

    @property
    def claimed_at(self) -> int:
        """The time that it was when the coverage was claimed."""
        return self.written_at if self.judged_at is None else self.judged_at

    def to_json(self) -> str:
        """Return the footer as the JSON kept in the file, its checksums not yet filled in."""
        sums = {
            currency: {name: format_amount(value) for name, value in amounts.items()}
            for currency, amounts in sorted(self.totals.sums.items())
        }
        document = {
            "layout": LAYOUT,
            "stream": self.stream,
            "merchant_id": self.merchant_id,
            "owns": self.owns,
            "coverage": self.coverage.intervals(),
            "confirmed": self.confirmed,
            "rows": self.totals.rows,
            "ids_digest": f"{self.totals.ids_digest:032x}",
            "totals": sums,
            "quarantined": self.quarantined,
            "written_at": self.written_at,
            "judged_at": self.judged_at,
            "shared": self.shared,
            "tool_version": self.tool_version,
            "schema": STREAMS[self.stream].schema_digest,
            **BLANK,
        }
        return json.dumps(document)

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Read a footer; raise `LakeError` when it was written by a newer tool."""
        document = json.loads(text)
        if document["layout"] > LAYOUT:
            raise LakeError("written by a newer svc-analytics; update this one")
        sums = {
            currency: {name: Decimal(value) for name, value in amounts.items()}
            for currency, amounts in document["totals"].items()
        }
        spans: dict[str, list[Span]] = {"complete": [], "provisional": []}
        for start, end, state in document["coverage"]:
            spans[state].append((start, end))
        return cls(
            stream=document["stream"],
            merchant_id=document["merchant_id"],
            owns=tuple(document["owns"]),
            coverage=Coverage(tuple(spans["complete"]), tuple(spans["provisional"])),
            quarantined=document["quarantined"],
            written_at=document["written_at"],
            totals=ControlTotals(document["rows"], int(document["ids_digest"], 16), sums),
            tool_version=document["tool_version"],
            confirmed=tuple((start, end) for start, end in document.get("confirmed", ())),
            judged_at=document.get("judged_at"),
            shared=_read_shared(document.get("shared")),
        )


def _read_shared(shared: dict[str, list[str] | None] | None) -> Shared | None:
    if shared is None:
        return None
    return {name: None if values is None else tuple(values) for name, values in shared.items()}


def read_footer(path: Path) -> PartitionFooter:
    """Read a file's footer, or raise `LakeError` naming the file and what to do."""
    try:
        raw = read_signed_footer(path)
        if footer := _known_footer(raw):
            return footer
        metadata = pq.read_metadata(pa.BufferReader(raw))
        footer = PartitionFooter.from_json((metadata.metadata or {})[FOOTER_KEY.encode()])
    except LakeError as error:
        raise LakeError(f"{path}: {error}") from error
    except KeyError as error:
        raise LakeError(f"{path} is not a month file of ours: move it out of the lake") from error
    except (pa.ArrowException, OSError, ValueError, TypeError, ArithmeticError) as error:
        raise damaged_file(path, error) from error
    stream = STREAMS.get(footer.stream)
    if stream and not metadata.schema.to_arrow_schema().equals(stream.schema):
        # Another tool has rewritten it, in types that may have cost digits.
        raise damaged_file(path)
    return footer


def _known_footer(raw: bytes) -> PartitionFooter | None:
    """Read our JSON alone, of today's columns; else return None."""
    signature = find_signature(raw)
    start = raw.rfind(_JSON_START, 0, signature.start()) if signature else -1
    if signature is None or start < 0:
        return None
    text = raw[start : signature.end() + 1]
    footer = PartitionFooter.from_json(text)
    stream = STREAMS.get(footer.stream)
    return footer if stream and stream.schema_digest.encode() in text else None
