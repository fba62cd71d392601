"""The parts of the reference that the code defines: each is made of it when the site is built."""

import html
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import tested

import svc_analytics
from svc_analytics import errors as svc_errors
from svc_analytics.cli.app import cli
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import definitions_table
from svc_analytics.warehouse.models import read_checks, read_footings
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import describe_views

PAGES = Path(__file__).parent / "pages"
_MARKS = re.compile(r"([\[*_|])")  # which Markdown would take for a link or for emphasis
_EVERYWHERE = ("verbose", "help")


def commands() -> str:
    """Every command: its help, and a table of its options."""
    return "\n\n".join(_command(words, command) for words, command in walk(cli))


def walk(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its words; of a group of commands, those in it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        words = f"{above} {name}".strip()
        if isinstance(command, click.Group):
            yield from walk(command, words)
        elif command is not None:
            yield words, command


def _command(words: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"svc-analytics {words}")
    usage = " ".join([context.info_name or "", *command.collect_usage_pieces(context)])
    shown = [param for param in command.params if param.name not in _EVERYWHERE]
    records = filter(None, (param.get_help_record(context) for param in shown))
    options = table(["option", "does"], ((code(name), escape(does)) for name, does in records))
    return "\n\n".join([f"## {words}", f"```text\n{usage}\n```", _help_text(command), options])


def _help_text(command: click.Command) -> str:
    """Return a help text as Markdown; what click must not wrap is an example to copy."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        f"```sh\n{paragraph[2:]}\n```" if paragraph.startswith("\b\n") else escape(paragraph)
        for paragraph in paragraphs
    )


def figures() -> str:
    """Every figure by group: its label, unit, sign, definition, formula and needs."""
    groups: dict[str, list[str]] = {}
    for figure in definitions_table().to_pylist():
        groups.setdefault(figure["group"], []).append(_figure(figure))
    parts = ["\n\n".join([f"## {group}", *found]) for group, found in groups.items()]
    return "\n\n".join(parts)


def _figure(figure: dict[str, str]) -> str:
    sign = "" if figure["sign"] == "none" else f", {figure['sign']}"
    parts = [
        f"### {figure['label']} {{: #{figure['name']} }}",
        f"{code(figure['name'])} in {figure['unit']}{sign}",
        escape(figure["definition"]),
        f"- Formula: {escape(figure['formula'])}.\n- Known when read: {escape(figure['needs'])}.",
    ]
    return "\n\n".join(parts)


def views() -> str:
    """Every view and table macro: its columns with their types and meanings."""
    with _empty_lake() as lake:
        return "\n\n".join(map(_view, describe_views(lake)))


@contextmanager
def _empty_lake() -> Iterator[Lake]:
    """A lake without a record, of which the types of all columns can be asked."""
    with TemporaryDirectory() as folder:
        lake = Lake(Path(folder) / "data")
        with open_writer(lake, {"id": "none"}, now()):
            pass
        yield lake


def _view(view: dict[str, Any]) -> str:
    columns = [
        (code(column["name"]), code(column["type"].lower()), escape(column["comment"]))
        for column in view["columns"]
    ]
    name, _, bounds = view["view"].partition("(")
    parts = [
        f"## {name}",
        *([f"Call it as {code(view['view'])}."] if bounds else []),
        f"Holds {escape(view['meaning'])} It has {escape(view['grain'])}.",
        table(["column", "type", "meaning"], columns),
    ]
    return "\n\n".join(parts)


def checks() -> str:
    """Every rule, and whether a finding of it keeps a statement from being final."""
    rules = [*read_checks(), *read_footings()]
    rows = [(code(rule.name), rule.severity, escape(rule.meaning)) for rule in rules]
    return table(["rule", "severity", "what must hold"], rows)


def python() -> str:
    """Every public name, for mkdocstrings to describe."""
    names = sorted(svc_analytics.__all__, key=_kind)
    return "\n\n".join(f"::: svc_analytics.{name}" for name in names)


def _kind(name: str) -> tuple[bool, bool, str]:
    """Sort functions before types, and types before errors."""
    return hasattr(svc_errors, name), name[0].isupper(), name


def tables() -> str:
    """The tables of a statement; the page of the views has their columns."""
    described = {model.name: model for model, _ in public_models()}
    found = [(name, described[f"statement_{name}"]) for name in TABLES]
    rows = [(code(name), escape(model.meaning), escape(model.grain)) for name, model in found]
    return table(["table", "holds", "its rows"], rows)


def json_output() -> str:
    """What each command prints with `--json`: its definition in the schema."""
    schema = json.loads((PAGES / "reference" / "json-output.schema.json").read_text("utf-8"))
    parts = [_definition(name, found) for name, found in schema["$defs"].items()]
    return "\n\n".join(parts)


def _definition(name: str, found: dict[str, Any]) -> str:
    text = json.dumps(found, indent=2)
    meaning = escape(found.get("description", ""))
    return "\n\n".join(filter(None, [f"## {name}", meaning, f"```json\n{text}\n```"]))


def errors() -> str:
    """The tree of errors with their exit codes, as its module draws it."""
    return f"```text\n{(svc_errors.__doc__ or '').strip()}\n```"


def sandbox() -> str:
    """The page of the sandbox, which lies beside its code."""
    readme = files("svc_analytics.sandbox") / "README.md"
    return readme.read_text(encoding="utf-8")


def rings() -> str:
    """What is tried by the tests, and how often: in every run and in the deep ring."""
    rows = ((what, f"{usual:,}", f"{every:,}") for what, usual, every in tested.rings())
    return table(["what is tried", "in every run", "with the deep ring"], rows)


def mutants() -> str:
    """What became of the mutants of each part of the code."""
    rows = (
        (part, *map(str, counts), f"{100 * killed:.0f} %")
        for part, *counts, killed in tested.mutants()
    )
    drawn = table(["part of the code", *tested.OUTCOMES, "killed of faults"], rows)
    same, all_rows = tested.mutants_of_now()
    return f"{drawn}\n\nOf these {all_rows}, the code of this page still gives {same}."


def costs() -> str:
    """What whole commands cost, in loops of plain Python: now, and in the release before."""
    now, before = (tested.costs()[name] for name in ("loops", "before"))
    rows = (
        (code(name), f"{loops:.1f}", f"{before[name]:.1f}", f"{loops / before[name]:.2f}")
        for name, loops in now.items()
    )
    return table(["command", "now", "before", "now / before"], rows)


def table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *([" ".join(cell.split()) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    """Return a text in the letters of code; a bar in it ends no cell of a table."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def escape(text: str) -> str:
    """Write a text so that Markdown takes none of it for a tag, a link, emphasis or a cell."""
    parts = text.split("`")
    parts[::2] = [_MARKS.sub(r"\\\1", html.escape(part, quote=False)) for part in parts[::2]]
    return "`".join(parts)


MAKERS: dict[str, Callable[[], str]] = {
    "checks": checks,
    "commands": commands,
    "costs": costs,
    "errors": errors,
    "figures": figures,
    "json_output": json_output,
    "mutants": mutants,
    "python": python,
    "rings": rings,
    "sandbox": sandbox,
    "tables": tables,
    "views": views,
}
