"""`check`, `bundle`: findings of a lake, and its views given away."""

from collections.abc import Iterator, Sequence

import click
import pyarrow as pa

from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, echo_progress, exit_if_attention
from svc_analytics.closing.acceptances import ahead_findings
from svc_analytics.closing.adjacent_periods import unmet_findings
from svc_analytics.closing.handover.bundle import write_bundle
from svc_analytics.config import read_engine
from svc_analytics.formatting import tables
from svc_analytics.formatting.display import DisplayTable, table_text
from svc_analytics.formatting.tables import to_json, to_safe_csv
from svc_analytics.formatting.texts import counted, single_line, wrapped
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.messages import MESSAGE_COLUMN
from svc_analytics.render.findings import FOLDED_HEADS, RuleFindings, folded_findings
from svc_analytics.statements.deep_check import check_deeply
from svc_analytics.statements.rules import find_exceptions
from svc_analytics.warehouse.acknowledgements import Acceptances, blocking_findings
from svc_analytics.warehouse.models import read_checks, read_footings
from svc_analytics.warehouse.several_lakes import beside
from svc_analytics.warehouse.warehouse import count

_OPEN = 10  # rows of a rule that holds up a close, so that all rules fit a screen


@click.command()
@click.option(
    "--deep",
    "is_deep",
    is_flag=True,
    help="Make each month's statement twice too: as always, and from every row. It takes long, "
    "and runs on this machine, whatever --engine names.",
)
@shared_options.engine_options
@click.option("--all", "has_all", is_flag=True, help="List every row that breaks a rule.")
@click.option("--csv", "as_csv", is_flag=True, help="Print every row as CSV.")
@click.option(
    "--rules", "has_rules", is_flag=True, help="Say what each rule is, and check nothing."
)
@shared_options.several_lakes_options
def check(
    *,
    is_deep: bool,
    engine: str | None,
    engine_data: tuple[str, ...],
    has_all: bool,
    as_csv: bool,
    has_rules: bool,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the lake against every rule.

    Counts the rows that break each rule, and lists those that keep a statement from being
    final: until a person accepts them. The others are notes. A statement reads the rows
    of its month and the totals of all others; --deep makes every month's figures from all
    rows too, and compares. Of sealed months in a row, each must open with what the one
    before closed with. With --data-dir several times, it lists the findings of each merchant.
    --rules says what each rule is, and needs no lake.
    """
    shared_options.check_one_form(as_csv=as_csv, as_json=as_json)
    if has_rules:
        click.echo(_rules(as_csv=as_csv, as_json=as_json), nl=not as_csv)
        return
    opened = shared_options.open_each(data_dir, read_engine(engine, engine_data))
    tables_of = [_findings(lake, is_deep) for lake in opened]
    findings = beside(opened, tables_of)
    if as_json:
        objects = tables.to_objects(findings.drop_columns([MESSAGE_COLUMN]))
        click.echo(tables.to_json({"findings": objects}))
    elif as_csv:
        click.echo(to_safe_csv(findings.drop_columns([MESSAGE_COLUMN])), nl=False)
    else:
        for lake, own in zip(opened, tables_of, strict=True):
            click.echo("\n".join([lake.merchant_id] * (len(opened) > 1) + _text(own, has_all)))
    blocking = len(blocking_findings(findings))
    rules = len(read_checks()) + 2 + is_deep  # of sealed statements, and of what was accepted
    line = f"{rules} rules, {counted(len(findings), 'finding')}, {blocking} of them blocking"
    echo_note(line, "rules", rules=rules, findings=len(findings), blocking=blocking)
    exit_if_attention(blocking)


def _rules(*, as_csv: bool, as_json: bool) -> str:
    """Say what each rule is: those of the records, and those of a statement's own tables."""
    rules = [*read_checks(), *read_footings()]
    if as_csv or as_json:
        rows = [{"rule": r.name, "severity": r.severity, "meaning": r.meaning} for r in rules]
        return to_safe_csv(pa.Table.from_pylist(rows)) if as_csv else to_json({"rules": rows})
    texts = (f"{r.title} ({r.severity}, {r.name})\n{wrapped(r.meaning, '  ')}" for r in rules)
    return "\n\n".join(texts)


def _text(findings: pa.Table, has_all: bool) -> list[str]:
    """Write findings for people: what holds up a close row by row, and the notes counted."""
    folded = folded_findings(findings)
    opened = [each for each in folded if each.is_open or has_all]
    lines = [line for each in opened for line in _opened(each, has_all)]
    if closed := [each for each in folded if each not in opened]:
        lines += [_notes_text(closed), "", wrapped("every row of these: --all, or --csv")]
    return lines or ["every rule holds"]


def _opened(rule: RuleFindings, has_all: bool) -> Iterator[str]:
    """Yield a rule with its rows, each whole: what it is of, and what is wrong with it."""
    held_up = f". Held up: {rule.holds_up}" if rule.open_blocks else ""
    accepted = ". Accepted" if rule.is_accepted else ""
    yield wrapped(f"{rule.text}{held_up}{accepted}")
    rows = rule.rows if has_all else rule.open_blocks or [*rule.rows]
    for row in rows if has_all else rows[:_OPEN]:
        named = (row["month"], row["currency"], row["record_id"])
        yield wrapped("  ".join([*filter(None, named), single_line(row["detail"])]), "  ")
    if not has_all and len(rows) > _OPEN:
        yield wrapped(f"… and {len(rows) - _OPEN:,} more: --all lists them", "  ")
    if (rule.open_blocks or has_all) and rows[0]["content"] and not rule.is_accepted:
        yield wrapped(f"accept one: svc-analytics accept {rule.rule} RECORD --reason TEXT", "  ")
    yield ""


def _notes_text(rules: Sequence[RuleFindings]) -> str:
    """Write the rules that hold nothing up, a line each."""
    rows = [each.cells[:3] for each in rules]
    return table_text(DisplayTable("", ["note", *FOLDED_HEADS[1:3]], rows))


def _findings(lake: Lakehouse, is_deep: bool) -> pa.Table:
    """Return the rows of a lake that break a rule, and who accepted them."""
    findings = count(lake, None, find_exceptions, as_written=True)
    parts = [findings, *(of(lake, findings.schema) for of in (unmet_findings, ahead_findings))]
    if is_deep:
        parts.append(check_deeply(lake, findings, note=echo_progress))
    return Acceptances.of(lake).applied_to(pa.concat_tables(parts))


@click.command()
@click.argument("file", metavar="FILE.duckdb")
@shared_options.shared_options
def bundle(*, file: str, data_dir: str | None, as_json: bool) -> None:
    """Write all views of the lake as tables of one DuckDB file.

    The file stands alone: it holds every record with every digit, the meaning of each table
    and column as a comment, and no path of this machine. DuckDB 1.2 and newer open it. It is
    of one moment of the lake, also while extract runs.
    """
    rows = write_bundle(shared_options.open_lake(data_dir), file)
    if as_json:
        click.echo(to_json({"out": file, "rows": rows}))
    else:
        click.echo(f"{file} holds {len(rows)} tables, {counted(sum(rows.values()), 'row')}")
