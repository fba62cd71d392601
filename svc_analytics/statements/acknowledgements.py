"""Findings that a person has accepted: `acknowledgements.csv` in the lake.

A blocking finding listed there does not keep a statement from being final; who
accepted it and why is printed on the statement.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import ConfigError
from svc_analytics.instants import parse_bound

FILE = "acknowledgements.csv"
COLUMNS = ("check", "record_id", "reason", "by", "at")


@dataclass(frozen=True)
class Acknowledgement:
    """Why a finding is accepted, and by whom."""

    reason: str
    by: str


Acknowledgements = dict[tuple[str, str], Acknowledgement]  # by check and record id


def read_acknowledgements(lake: Path) -> Acknowledgements:
    """Read what people accepted in a lake; raise `ConfigError` naming the line that is wrong."""
    path = lake / FILE
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read_rows(path, csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path} as UTF-8 CSV: {error}") from error


def acknowledge(checks: pa.Table, accepted: Acknowledgements) -> pa.Table:
    """Append to findings `acknowledged_reason` and `acknowledged_by`, NULL where nobody did."""
    keys = zip(checks["check_name"].to_pylist(), checks["record_id"].to_pylist(), strict=True)
    found = [accepted.get((check, record_id or "")) for check, record_id in keys]
    columns = {
        "acknowledged_reason": [mark.reason if mark else None for mark in found],
        "acknowledged_by": [mark.by if mark else None for mark in found],
    }
    for name, values in columns.items():
        checks = checks.append_column(name, pa.array(values, pa.string()))
    return checks


def blocking_findings(checks: pa.Table) -> pa.Table:
    """Return the blocking findings that nobody has accepted."""
    is_blocking = pc.equal(checks["severity"], "blocking")
    return checks.filter(pc.and_(is_blocking, pc.is_null(checks["acknowledged_by"])))


def _read_rows(path: Path, rows: Iterable[list[str]]) -> Acknowledgements:
    found: Acknowledgements = {}
    for number, row in enumerate(rows, 1):
        if number == 1:
            _require(tuple(row) == COLUMNS, path, 1, f"the columns must be {','.join(COLUMNS)}")
        elif row:
            check, record_id, mark = _read_row(path, number, row)
            found[check, record_id] = mark
    return found


def _read_row(path: Path, number: int, row: list[str]) -> tuple[str, str, Acknowledgement]:
    _require(len(row) == len(COLUMNS), path, number, f"{len(row)} values, not {len(COLUMNS)}")
    cells = dict(zip(COLUMNS, map(str.strip, row), strict=True))
    for name in ("check", "reason", "by", "at"):
        _require(bool(cells[name]), path, number, f"{name} is empty")
    try:
        parse_bound(cells["at"])
    except ConfigError as error:
        raise ConfigError(f"{path}, line {number}: at: {error}") from error
    mark = Acknowledgement(cells["reason"], cells["by"])
    return cells["check"], cells["record_id"], mark


def _require(is_right: bool, path: Path, number: int, text: str) -> None:
    if not is_right:
        raise ConfigError(f"{path}, line {number}: {text}")
