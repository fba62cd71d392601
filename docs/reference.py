"""The parts of the reference that the code defines: each is made of it when the site is built."""

import html
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files

import click

import svc_analytics
from svc_analytics import errors as svc_errors
from svc_analytics.cli.app import cli
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import figure_groups, read_figures
from svc_analytics.warehouse.models import read_checks, read_footings
from svc_analytics.warehouse.views import public_models


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
    records = [param.get_help_record(context) for param in command.get_params(context)]
    options = table(["option", "does"], ((code(a), b) for a, b in filter(None, records)))
    return "\n\n".join([f"## {words}", f"```\n{usage}\n```", _help_text(command), options])


def _help_text(command: click.Command) -> str:
    """Return a help text as Markdown; what click must not wrap is an example to copy."""
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(
        f"```sh\n{paragraph[2:]}\n```" if paragraph.startswith("\b\n") else escape(paragraph)
        for paragraph in paragraphs
    )


def figures() -> str:
    """Every figure by group, with its unit, its sign and what it means."""
    stated = [figure for figure in read_figures().values() if figure.is_stated]
    parts = []
    for group in figure_groups():
        rows = [
            (code(figure.name), figure.unit, figure.sign, figure.meaning)
            for figure in stated
            if figure.group == group
        ]
        parts += [f"## {group}", table(["figure", "unit", "sign", "meaning"], rows)]
    return "\n\n".join(parts)


def views() -> str:
    """Every view and table macro, with its columns."""
    parts = []
    for model, columns in public_models():
        parts += [f"## {model.name}", f"`{model.name}{model.signature}`: {model.meaning}"]
        rows = [(code(name), meaning) for name, meaning in columns.items()]
        parts += [f"Grain: {model.grain}.", table(["column", "meaning"], rows)]
    return "\n\n".join(parts)


def checks() -> str:
    """Every rule, and whether a finding of it keeps a statement from being final."""
    rules = [*read_checks(), *read_footings()]
    rows = [(code(rule.name), rule.severity, rule.meaning) for rule in rules]
    return table(["rule", "severity", "what must hold"], rows)


def python() -> str:
    """Every public name, for mkdocstrings to describe."""
    return "\n\n".join(f"::: svc_analytics.{name}" for name in svc_analytics.__all__)


def tables() -> str:
    """The tables of a statement; the page of the views has their columns."""
    described = {model.name: model for model, _ in public_models()}
    found = [(name, described[f"statement_{name}"]) for name in TABLES]
    rows = [(code(name), model.meaning, model.grain) for name, model in found]
    return table(["table", "holds", "its rows"], rows)


def errors() -> str:
    """The tree of errors with their exit codes, as its module draws it."""
    return f"```text\n{(svc_errors.__doc__ or '').strip()}\n```"


def sandbox() -> str:
    """The page of the sandbox, which lies beside its code."""
    readme = files("svc_analytics.sandbox") / "README.md"
    return readme.read_text(encoding="utf-8")


def table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; a line break or a bar in a cell breaks no row."""
    lines = [head, ["---"] * len(head), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(escape(text).split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return a text in the letters of code."""
    return f"`{text}`"


def escape(text: str) -> str:
    """Write a text so that Markdown takes none of it for a tag or a link; code stays as it is."""
    parts = text.split("`")
    parts[::2] = [html.escape(part, quote=False).replace("[", "\\[") for part in parts[::2]]
    return "`".join(parts)


MAKERS: dict[str, Callable[[], str]] = {
    "checks": checks,
    "commands": commands,
    "errors": errors,
    "figures": figures,
    "python": python,
    "sandbox": sandbox,
    "tables": tables,
    "views": views,
}
