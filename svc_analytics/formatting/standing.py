"""What a table is worth: its period, zone and status, carried by the table itself.

A table made of a statement carries them in the metadata of its Arrow schema, and a frame made
of it in `attrs`. So whatever shows the table can say whether it is final.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

from svc_analytics.calendars import GREGORIAN

KEY = "svc_standing"
RUNNING = "(running)"
_DAY_LENGTH = 10  # of 2026-11-21; a month is shorter


@dataclass(frozen=True)
class Standing:
    """A table's period, zone and status in one line, and which of its days are not over."""

    text: str = ""
    first_open_day: str = ""  # 2026-11-21: the first day that was not read to its end
    first_open_month: str = ""  # its month, in the calendar of the table's months
    scales: Mapping[str, int] = field(default_factory=dict)  # the places of each coin's amounts
    calendar: str = GREGORIAN  # of the statement's month

    def is_running(self, value: Any) -> bool:
        """Whether a day (a date, or a text) or a month, such as `2026-11`, is not over."""
        text = str(value) if isinstance(value, (date, str)) else ""
        first = self.first_open_day if len(text) == _DAY_LENGTH else self.first_open_month
        return bool(first) and text >= first


NOWHERE = Standing()


def attach(table: pa.Table, standing: Standing) -> pa.Table:
    """Return the table with its standing in the schema's metadata."""
    known = dict(table.schema.metadata or {})
    text = json.dumps(asdict(standing), ensure_ascii=False)
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


def standing_of(table: Any) -> Standing:
    """Return the standing of an Arrow table or a frame; an empty one where it has none."""
    if isinstance(table, pa.Table):
        text = (table.schema.metadata or {}).get(KEY.encode())
    else:
        text = getattr(table, "attrs", {}).get(KEY)
    return Standing(**json.loads(text)) if text else NOWHERE
