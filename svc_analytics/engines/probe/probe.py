"""The probe: what an engine must answer before a figure is asked of it.

Each line is a query over a few rows whose answer is known. Some engines return a negative sum
without a word, lose the 18th place, or count days in another way: they are refused with the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
from sqlglot.errors import SqlglotError

from svc_analytics.engines.dialects import translate
from svc_analytics.engines.engine import Engine
from svc_analytics.engines.probe.lines import LINES
from svc_analytics.engines.probe.sums import RAISES, ROWS, ProbeLine
from svc_analytics.engines.trees import parse, tables
from svc_analytics.errors import EngineError, EngineRefused, EngineUnavailable
from svc_analytics.schema import INSTANT, MONEY

_SCHEMA = pa.schema(
    [
        *(("place", pa.int64()), ("coin", pa.string()), ("amount", MONEY)),
        *(("rate", pa.decimal128(38, 8)), ("at", INSTANT), ("note", pa.string())),
    ]
)


@dataclass(frozen=True)
class Answer:
    """The answer of an engine to one line."""

    line: ProbeLine
    said: str  # its answer, or the first words of its error

    @property
    def is_right(self) -> bool:
        """Whether it is the known one."""
        return self.said.startswith(RAISES) if self.line.raises else self.said == self.line.answer


def require_exact(engine: Engine) -> int:
    """Return how many lines an engine answered; raise `EngineRefused` at the first wrong one."""
    count = 0
    for fault in ask(engine):
        if not fault.is_right:
            wanted = "an error" if fault.line.raises else fault.line.answer
            message = f"{engine.name} is refused: {fault.line.says}; it answers {fault.said}, not "
            raise EngineRefused(f"{message}{wanted}")
        count += 1
    return count


def ask(engine: Engine) -> Iterator[Answer]:
    """Yield an engine's answer to each line of the probe."""
    name = f"svc_probe_{uuid4().hex[:12]}"
    engine.put(name, probe_rows())
    try:
        for line in LINES:
            yield Answer(line, _said(engine, line, name))
    finally:
        engine.forget([name])


def probe_rows() -> pa.Table:
    """Return the rows that the probe is about."""
    rows = [
        {
            "place": number,
            "coin": coin,
            "amount": None if amount is None else Decimal(amount),
            "rate": Decimal(rate),
            "at": None if at is None else datetime.fromisoformat(at),
            "note": note,
        }
        for number, (coin, amount, rate, at, note) in enumerate(ROWS, 1)
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _said(engine: Engine, line: ProbeLine, name: str) -> str:
    tree = parse(line.sql)
    for table in tables(tree):
        if table.name == "probe":
            table.this.set("this", name)
    try:
        return _text(engine.query(translate(tree, engine.dialect)))
    except EngineUnavailable:
        raise
    except EngineError as error:
        return f"{RAISES}: {error!s:.200}"
    except SqlglotError:
        return "nothing, for its SQL has no words for it"


def _text(answer: pa.Table) -> str:
    """Return the rows of an answer as text: values with spaces between, a row a comma."""
    rows = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return ", ".join(" ".join(map(_value, row)) for row in rows)


def _value(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return (
        "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )
