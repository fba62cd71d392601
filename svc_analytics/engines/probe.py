"""The probe: what an engine must answer before a figure is asked of it.

Each line is a query over a few rows whose answer is known. Some engines return a negative sum
without a word, lose the 18th place, or count days in another way: they are refused with the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from importlib.resources import files
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
from sqlglot.errors import SqlglotError

from svc_analytics.engines.compiler import translate
from svc_analytics.engines.spark import Engine
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
    text: str  # its answer, or the first words of its error

    @property
    def is_right(self) -> bool:
        """Whether it is the known one."""
        return self.text.startswith(RAISES) if self.line.raises else self.text == self.line.answer


def require_exact(engine: Engine) -> int:
    """Return how many lines an engine answered; raise `EngineRefused` at the first wrong one."""
    count = 0
    for fault in ask(engine):
        if not fault.is_right:
            wanted = "an error" if fault.line.raises else fault.line.answer
            message = f"{engine.name} is refused: {fault.line.says}; it answers {fault.text}, not "
            raise EngineRefused(f"{message}{wanted}")
        count += 1
    return count


def ask(engine: Engine) -> Iterator[Answer]:
    """Yield an engine's answer to each line of the probe."""
    name = f"svc_probe_{uuid4().hex[:12]}"
    engine.put(name, probe_rows())
    try:
        for line in LINES:
            yield Answer(line, _answer_of(engine, line, name))
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


def _answer_of(engine: Engine, line: ProbeLine, name: str) -> str:
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


# ---------- What a line of the probe is, the rows that it asks about, and the lines
# `probe.sql` has what each is about, its known answer, and its query.


RAISES = "error"
MOST = "99999999999999999999.999999999999999999"  # the largest amount: 38 digits


class ProbeLine(NamedTuple):
    """One question; its SQL is ours, and is translated for the engine as every query is."""

    says: str
    sql: str
    answer: str

    @property
    def raises(self) -> bool:
        """Whether the only right answer is an error."""
        return self.answer == RAISES


# coin, amount, rate, instant, note
ROWS: tuple[tuple[str, str | None, str, str | None, str | None], ...] = (
    ("btc", MOST, "0.00500000", "2021-07-01T19:45:00Z", "B"),
    ("btc", "99999999999999999999.999999999999999998", "0.00250000", "2026-07-01T20:15:00Z", "a"),
    ("eth", "0.000000000000000001", "0.01000000", "2026-03-08T06:59:59.999999Z", None),
    ("eth", "0.000000000000000002", "0.01000000", "2026-03-08T07:00:00Z", "b"),
    ("eth", "12345678901234567890.123456789012345678", "0.00449999", None, "\u0628"),
    ("sol", "-0.000000000000000001", "0.00450000", "2026-10-31T23:59:59.999999Z", "c"),
    ("sol", "0", "0.00455000", "2026-11-01T00:00:00Z", None),
    ("sol", None, "0.00000000", "2026-10-30T23:59:59.999999Z", "d"),
    ("usdt", "3", "0.10000000", "2026-10-01T00:00:00.5Z", "e"),
    ("usdt", "1.5", "0.30000000", "2026-10-01T00:00:00Z", "e"),
)

_LINE = re.compile(r"^-- (.+)\n((?:--> .+\n)+)([^;]+)\Z", re.MULTILINE)


def _read_lines() -> Iterator[ProbeLine]:
    text = (files("svc_analytics.engines") / "probe.sql").read_text(encoding="utf-8")
    for each in text.split(";\n")[:-1]:
        [(says, answer, sql)] = _LINE.findall(each)  # one that cannot be read is not passed over
        yield ProbeLine(says, sql, answer.removeprefix("--> ").replace("\n--> ", " ").rstrip())


LINES = tuple(_read_lines())
