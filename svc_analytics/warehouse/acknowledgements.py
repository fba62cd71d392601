"""Read the findings that a person has accepted: `acknowledgements.csv` in the lake.

An accepted finding does not keep a statement from being final. The statement prints who
accepted it, and why.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError
from svc_analytics.instants import parse_bound

FILE = "acknowledgements.csv"
ACCEPTED = "acknowledgements.pq"  # the same beside the files of a snapshot
COLUMNS = ("check", "record_id", "reason", "by", "at")
ACCEPTED_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS[:2]])


@dataclass(frozen=True)
class Acknowledgement:
    """Why a finding is accepted, and by whom."""

    reason: str
    by: str


Acknowledgements = dict[tuple[str, str], Acknowledgement]  # by check and record id


def read_acknowledgements(lake: Path) -> Acknowledgements:
    """Read the accepted findings of a lake; raise `ConfigError` naming a line that is wrong."""
    path = lake / FILE
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read_rows(path, csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path} as UTF-8 CSV: {error}") from error


def write_accepted(lake: Path, snapshot: Path) -> None:
    """Write the accepted findings of a lake into a snapshot, where views read them."""
    keys = list(read_acknowledgements(lake))
    columns = {name: [key[place] for key in keys] for place, name in enumerate(COLUMNS[:2])}
    pq.write_table(pa.table(columns, ACCEPTED_SCHEMA), snapshot / ACCEPTED)


def acknowledge(checks: pa.Table, accepted: Acknowledgements) -> pa.Table:
    """Append `acknowledged_reason` and `acknowledged_by` to findings, NULL if not accepted."""
    keys = zip(checks["check_name"].to_pylist(), checks["record_id"].to_pylist(), strict=True)
    marks = [accepted.get((check, record_id or "")) for check, record_id in keys]
    for name in ("reason", "by"):
        values = [getattr(mark, name, None) for mark in marks]
        checks = checks.append_column(f"acknowledged_{name}", pa.array(values, pa.string()))
    return checks


def blocking_findings(checks: pa.Table) -> pa.Table:
    """Return the blocking findings that nobody has accepted."""
    is_blocking = pc.equal(checks["severity"], "blocking")
    return checks.filter(pc.and_(is_blocking, pc.is_null(checks["acknowledged_by"])))


def _read_rows(path: Path, rows: Iterable[list[str]]) -> Acknowledgements:
    accepted: Acknowledgements = {}
    for number, row in enumerate(rows, 1):
        if number == 1:
            _require(tuple(row) == COLUMNS, path, 1, f"the columns must be {','.join(COLUMNS)}")
        elif row:
            check, record_id, mark = _read_row(path, number, row)
            accepted[check, record_id] = mark
    return accepted


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
