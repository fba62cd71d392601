"""What a table is worth: its period, zone and status, carried by the table itself.

A table made of a statement carries them in the metadata of its Arrow schema, and a frame made
of it in `attrs`. So whatever shows the table can say whether it is final.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

from svc_analytics.messages import MESSAGE_COLUMN, Message, json_of, stored_text
from svc_analytics.periods import GREGORIAN

KEY = "svc_standing"
RUNNING = "(running)"
_DAY_LENGTH = 10  # of 2026-11-21
_DAY_OR_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")  # no other text is one


@dataclass(frozen=True)
class StatusLine:
    """A table's period, zone and status in one line, and which of its days are not over."""

    text: str = ""
    first_open_day: str = ""  # 2026-11-21: the first day that was not read to its end
    first_open_month: str = ""  # its month, in the calendar of the table's months
    scales: Mapping[str, int] = field(default_factory=dict)  # the places of each coin's amounts
    calendar: str = GREGORIAN  # of the statement's month
    language: str = "en"  # of what is displayed
    digits: str = "latin"

    def is_running(self, value: Any, column: str = "") -> bool:
        """Whether a day or a month is not over.

        A day is a date or a text; a month is a text, such as `2026-11`, or, in a column whose
        name says so, the date of its first day.
        """
        text = str(value)[:_DAY_LENGTH] if isinstance(value, date) else str(value)
        if not _DAY_OR_MONTH.fullmatch(text):
            return False
        is_day = len(text) == _DAY_LENGTH and "month" not in column
        first = self.first_open_day if is_day else self.first_open_month
        return bool(first) and text[: len(first)] >= first


NOWHERE = StatusLine()


def running(text: str) -> Message:
    """Return a day or a month that is not over, marked as such.

    >>> running("2026-11")
    '2026-11 (running)'
    """
    return Message("{month} (running)", month=text)


def attach(table: pa.Table, status_line: StatusLine) -> pa.Table:
    """Return the table with its standing in the schema's metadata."""
    known = dict(table.schema.metadata or {})
    facts = asdict(status_line) | {MESSAGE_COLUMN: json_of(status_line.text)}
    text = json.dumps(facts, ensure_ascii=False)
    return table.replace_schema_metadata(known | {KEY.encode(): text.encode()})


def frame_attributes(table: pa.Table) -> dict[str, str]:
    """Return the attributes of a frame that is made of the table."""
    text = (table.schema.metadata or {}).get(KEY.encode())
    return {KEY: text.decode()} if text else {}


def detach(table: pa.Table) -> pa.Table:
    """Return the table without its standing, as files hold it."""
    known = dict(table.schema.metadata or {})
    known.pop(KEY.encode(), None)
    return table.replace_schema_metadata(known or None)


def status_line_of(table: Any) -> StatusLine:
    """Return the standing of an Arrow table or a frame; an empty one where it has none."""
    if isinstance(table, pa.Table):
        text = (table.schema.metadata or {}).get(KEY.encode())
    else:
        text = getattr(table, "attrs", {}).get(KEY)
    if not text:
        return NOWHERE
    facts = json.loads(text)
    return StatusLine(stored_text(facts.pop("text"), facts.pop(MESSAGE_COLUMN, None)), **facts)
