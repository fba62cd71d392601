"""What `statement --explain` prints: a figure's value, its SQL, and the records behind it."""

import shutil
from textwrap import fill

import pyarrow as pa

from svc_analytics.cli.console import table_text
from svc_analytics.errors import ConfigError
from svc_analytics.formatting import tables
from svc_analytics.formatting.tables import write_rows
from svc_analytics.formatting.texts import counted, escape_invisible, single_line
from svc_analytics.formatting.values import display_text, value_text
from svc_analytics.statements.explain import (
    CONTRIBUTION,
    DENOMINATOR,
    MOMENTS,
    NUMERATOR,
    Explanation,
)
from svc_analytics.warehouse.figures import in_sentence, label_of

MOST_ROWS = 20  # the same in a pipe as on a terminal: only a form that is asked for has all
_NAMED = 5  # of the columns that are not shown
_WIDTH = 100  # where there is no terminal
# What tells most of a record, in order; then the others.
_FIRST = (
    *(*MOMENTS, "kind", CONTRIBUTION, NUMERATOR, DENOMINATOR),
    *("order_reference", "receipt_no", "customer", "verdict", "record_id"),
)
_LAST = ("entry_id", "session_id", "month", "currency", "metadata", "receipt", "extra")


def explanation_text(explanation: Explanation) -> str:
    """Show what a figure is made of: its value, its SQL, and its first records."""
    name = f"{label_of(explanation.figure)} ({explanation.figure}) of {explanation.currency}"
    value = explanation.value
    shown = explanation.why_none if value is None else display_text(value)
    sql = escape_invisible(explanation.sql)
    title = single_line(f"{name}, {explanation.period.folder}: {shown}")
    meaning = fill(explanation.meaning, _WIDTH)
    parts = [title, meaning, _parts_text(explanation), sql, _records_text(explanation)]
    return "\n\n".join(filter(None, parts))


def _parts_text(explanation: Explanation) -> str:
    """Name the figures that a figure is made of, each with its value."""
    made_of = explanation.made_of.items()
    parts = [f"{in_sentence(name)} {display_text(value)}" for name, value in made_of]
    return single_line(f"made of: {'; '.join(parts)}") if parts else ""


def write_explanation(explanation: Explanation, out: str | None, *, as_json: bool) -> str | None:
    """Write all records as CSV to stdout, or to a file; return the JSON document if wanted."""
    table = explanation.table
    rows = write_rows([table], table.schema, "rows", out, as_json)
    if not as_json:
        return None
    value = None if explanation.value is None else value_text(explanation.value)
    document = {
        "figure": explanation.figure,
        "label": label_of(explanation.figure),
        "meaning": explanation.meaning,
        "currency": explanation.currency,
        "period": explanation.period.folder,
        "value": value,
        "sql": explanation.sql,
    }
    return tables.to_json(document | rows)


def check_choice(figure: str | None, currency: str | None, *, as_csv: bool) -> None:
    """Refuse options that only make sense together."""
    if (figure or currency or as_csv) and not (figure and currency):
        raise ConfigError("give --explain FIGURE and --currency C together")


def _records_text(explanation: Explanation) -> str:
    """Show the first records, as many of their columns as fit, and say what is not shown."""
    records, total = explanation.table, len(explanation.table)
    if not total:
        return "0 records"
    order = _columns_first(records)
    text, count = _fitting(records.slice(0, MOST_ROWS).select(order), _width())
    sums = ", ".join(f"{n} {display_text(total)}" for n, total in explanation.totals.items())
    lines = [text, "", *[f"total of all records: {sums}" for _ in sums[:1]]]
    if hidden := order[count:]:
        more = ", …" if len(hidden) > _NAMED else ""
        named = ", ".join(hidden[:_NAMED])
        lines.append(f"{counted(len(hidden), 'column')} not shown: {named}{more}")
    if total > MOST_ROWS:
        lines.append(f"the first {MOST_ROWS} of {total:,} records")
    else:
        lines.append(counted(total, "record"))
    if hidden or total > MOST_ROWS:
        lines.append("everything: add --csv, --json, or --out FILE (.csv, .parquet or .json)")
    return "\n".join(lines)


def _columns_first(records: pa.Table) -> list[str]:
    """Return the columns in the order in which a person wants them."""
    names = records.column_names
    rest = [name for name in names if name not in _LAST]
    return list(dict.fromkeys([*(name for name in _FIRST if name in names), *rest, *names]))


def _fitting(rows: pa.Table, width: int) -> tuple[str, int]:
    """Return as many of the first columns as fit, as text, and how many these are."""
    for count in range(rows.num_columns, 1, -1):
        text = table_text(rows.select(range(count)), is_wide=False)
        if max(map(len, text.splitlines())) <= width:
            return text, count
    return table_text(rows.select(range(1)), is_wide=False), 1


def _width() -> int:
    return shutil.get_terminal_size((_WIDTH, 24)).columns
