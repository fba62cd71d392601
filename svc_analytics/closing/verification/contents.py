"""What a sealed folder states: its facts, and its tables as they were sealed, with their types.

A fact of the manifest is compared with what it must be.
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing import seals
from svc_analytics.closing.seals import Manifest
from svc_analytics.closing.table_diff import KEYS, Tables, read_csv
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import cut_short
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.render.differences import RESTATEMENT
from svc_analytics.render.document import Unknown
from svc_analytics.render.folder import DEFINITIONS, TABLE_FORMATS
from svc_analytics.render.formats import form_of
from svc_analytics.schema import STREAMS
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.reading import check_names
from svc_analytics.statements.statement import Statement, program_facts
from svc_analytics.statements.tables import table_digest

LONGEST = 80
PROGRAM = ("tool_version", "program_digest", "definitions_digest")  # what wrote a statement
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*")
_DIGEST = re.compile("[0-9a-f]{64}")
# Facts that other parts of a verification hold: files and chain, the clock, the profile.
_OTHERS = {
    *("files", "version", "supersedes", "previous_seal", "seal", "as_of", "merchant"),
    *("month_seals", "tree", *PROGRAM),
}
# What every manifest says, whichever release sealed it: later facts are missing in earlier ones.
_ALWAYS = {
    *("status", "reasons", "unknown", "merchant", "label", "version", "calendar", "zone", "start"),
    *("end", "as_of", "coverage", "options", "tool_version", "files", "control"),
    *("content_digest", "supersedes", "previous_seal", "seal"),
}
Parse = Callable[[str], Any]
# Tables that every release has sealed; of another release, further ones may be missing.
_TABLES_OF_ALL = (
    *("summary", "figures", "lines", "daily", "position", "fees", "refunds", "cohorts"),
    *("payouts", "exposure", "receipts", "reading", "checks"),
)


def is_this_release(manifest: seals.Manifest) -> bool:
    """Whether the statement was written by this very program: then it writes the same again."""
    return all(manifest.get(name) == own for name, own in program_facts().items())


def version_of(facts: dict[str, Any]) -> str:
    """Return the release that a folder names; "?" where that is no version, but a sentence."""
    text = str(facts.get("tool_version"))
    return text if len(text) <= LONGEST and _VERSION.fullmatch(text) else "?"


def period_of(manifest: seals.Manifest) -> Period:
    """Return the period of a manifest, or raise `ConfigError` where its facts name none."""
    period, at = seals.sealed_period(manifest), parse_bound(manifest["as_of"])
    check_names(seals.chosen_metadata(manifest))
    seals.sealed_assertions(manifest)
    if at < period.end:
        values = {"as_of": manifest["as_of"], "noun": translated(period.noun)}
        raise ConfigError(Message("seal.as_of_early", **values))
    if manifest["as_of"] != format_instant(at):
        raise ConfigError(Message("seal.as_of_odd", as_of=manifest["as_of"]))
    return period


def sealed_statement(manifest: seals.Manifest, period: Period, tables: Tables) -> Statement:
    """Return the statement that was sealed: final, of these tables, and read completely."""
    whole = Coverage(complete=((period.start, period.end),))
    return Statement(
        period=period,
        merchant=manifest["merchant"],
        as_of=parse_bound(manifest["as_of"]),
        coverage=dict.fromkeys(STREAMS, whole),
        reasons=(),
        unknown=unknown_of(manifest),
        tables=tables,
        options=_options(manifest),
    ).as_version(manifest["version"])


def _options(manifest: seals.Manifest) -> dict[str, Any]:
    """Return the options of a manifest as a statement has them, and no other."""
    names, seen = seals.chosen_metadata(manifest), seals.sealed_assertions(manifest)
    options: dict[str, Any] = {"metadata": [*names]} if names else {}
    return options | ({} if seen is None else {"assertions": [each.to_json() for each in seen]})


def unknown_of(manifest: seals.Manifest) -> tuple[Unknown, ...]:
    """Return the unknowns of a manifest; nothing where they are no such list."""
    try:
        return tuple(Unknown.from_json(one) for one in manifest.get("unknown", ()))
    except (KeyError, TypeError, AttributeError):
        return ()


def expected_facts(sealed: Statement, new: Statement | None) -> dict[str, Any]:
    """Return the facts that the manifest must state, of the sealed tables and of their lake.

    `new` is what the lake gives, if it is the same.
    """
    facts = sealed.manifest({})
    if new:
        facts["unknown"] = _open_figures(new, sealed)
        facts["options"] = new.options
    return facts


def _open_figures(new: Statement, sealed: Statement) -> list[dict[str, Any]]:
    """Return the unknowns, without figures that only this release states."""
    more = _stated(new) - _stated(sealed)
    named = (
        replace(each, figures=tuple(name for name in each.figures if name not in more))
        for each in new.unknown
    )
    return [each.to_json() for each in named if each.figures]


def _stated(statement: Statement) -> set[str]:
    """Return the figures that a statement has, as columns of its summary or as rows."""
    tables = statement.tables
    rows = tables["figures"]["name"].to_pylist() if "figures" in tables else ()
    return {*tables["summary"].column_names, *rows}


def wrong_facts(
    manifest: seals.Manifest, expected: dict[str, Any], *, is_own: bool = True
) -> list[Message]:
    """Name the facts of a manifest that are not what they must be.

    Another release gives the reasons of what is unknown in other words, and knows fewer facts.
    """
    always = expected.keys() if is_own else expected.keys() & _ALWAYS
    others = _OTHERS if is_own else {*_OTHERS, "format"}
    lacking = (name for name in always if name not in manifest)
    wrong = [Message("seal.no_fact", name=name) for name in lacking]
    wrong += _no_program(manifest)
    for name in expected:
        if name in manifest and name not in others:
            pair = manifest[name], expected[name]
            wrong += _wrong(name, *(pair if is_own else map(_without_words, pair)))
    strange = sorted(manifest.keys() - expected.keys() - {"language", "tree"})
    return wrong + [Message("seal.strange_fact", name=name) for name in strange]


def _no_program(manifest: seals.Manifest) -> Iterator[Message]:
    """Say where what wrote a statement is named by a text of another kind: forms print it."""
    for name in (name for name in PROGRAM if name in manifest):
        value = manifest[name]
        if value != version_of(manifest) and not _DIGEST.fullmatch(str(value)):
            yield Message("seal.no_program", name=name, value=_shown(value))


def has_other_words(manifest: seals.Manifest, expected: dict[str, Any]) -> bool:
    """Whether sentences in a manifest of another release, all else being right, are not ours.

    One that an earlier release left out is none.
    """
    pairs = zip(manifest.get("unknown", ()), expected["unknown"], strict=False)
    return any({**own, **one} != own for one, own in pairs)


def _without_words(fact: Any) -> Any:
    """Return a fact without the sentences in it."""
    if not isinstance(fact, list):
        return fact
    return [
        {name: value for name, value in each.items() if name not in ("because", "message")}
        if isinstance(each, dict)
        else each
        for each in fact
    ]


def _wrong(name: str, value: Any, expected: Any) -> Iterator[Message]:
    """List where a fact is not as it must be, in the depth where they differ."""
    if _canonical(value) == _canonical(expected):
        return
    if not (isinstance(value, dict) and isinstance(expected, dict) and value):
        values = {"value": _shown(value), "expected": _shown(expected)}
        yield Message("seal.other_fact", name=name, **values)
        return
    for key in {**expected, **value}:
        yield from _wrong(f"{name}.{key}", value.get(key), expected.get(key))


def changed_profile(manifest: seals.Manifest, lake: Lake) -> list[Message]:
    """Name the facts of the merchant that are of no profile that the lake ever read."""
    sealed, merchant = manifest["merchant"], lake.merchant
    known = [
        {name: value for name, value in each.items() if name != "read_at"}
        for each in (merchant, *lake.earlier_profiles)
    ]
    if sealed in known:
        return []
    names = [name for name in {**sealed, **merchant} if name != "read_at"]
    return [
        Message(
            "seal.other_profile",
            name=f"merchant.{name}",
            here=_shown(sealed.get(name)),
            there=_shown(merchant.get(name)),
        )
        for name in names
        if (sealed.get(name), name in sealed) != (merchant.get(name), name in merchant)
    ]


def _canonical(value: Any) -> str:
    """Write a fact as JSON: 1, 1.0 and true are three things there."""
    return json.dumps(value, sort_keys=True)


def _shown(value: Any) -> str:
    return cut_short(json.dumps(value, ensure_ascii=False), LONGEST)


def table_names(manifest: Manifest, own: Collection[str], *, is_own: bool) -> list[str]:
    """Return the tables that a sealed folder must have: `own`, or those of another release."""
    later = [RESTATEMENT] if manifest["version"] > 1 else []
    if is_own:
        return [*own, *later]
    stems = {
        Path(file).stem: None
        for file in manifest["files"]
        if Path(file).suffix[1:] in TABLE_FORMATS and file != DEFINITIONS and not form_of(file)
    }
    always = [name for name in own if name in (*_TABLES_OF_ALL, MONTHS)]
    return [*dict.fromkeys([*always, *stems, *later])]


def missing_tables(manifest: Manifest, names: Collection[str]) -> list[Message]:
    """Name the tables that have no file."""
    files = manifest["files"]
    return [
        Message("seal.no_table", name=name)
        for name in names
        if not {f"{name}.{suffix}" for suffix in TABLE_FORMATS} & files.keys()
    ]


def sealed_tables(
    folder: Path, manifest: Manifest, names: Collection[str], files: Collection[str], lake: Tables
) -> Tables:
    """Return the named tables as they were sealed, typed, from some files of a folder.

    `lake` are those that the lake gives now, of which a sealed table may lack columns and
    figures. A table without a readable file is the lake's; one of CSV alone that has no types,
    for the lake is not there, is left out.
    """
    tables = {}
    for name in names:
        control = manifest["control"].get(name)
        candidates = list(_candidates(folder, name, files, lake.get(name)))
        if candidates:
            sealed = (table for table in candidates if table_digest(table) == control)
            tables[name] = next(sealed, candidates[0])
        elif name in lake:
            tables[name] = lake[name]
    return tables


def _candidates(
    folder: Path, name: str, files: Collection[str], lake: pa.Table | None
) -> Iterator[pa.Table]:
    """Yield the table of the Parquet file, then of the CSV, as far as they can be read."""
    models = [lake] if lake is not None else []
    if f"{name}.parquet" in files:
        table = _parquet(folder / f"{name}.parquet")
        if table is not None:
            models.append(table)
            yield table
    if f"{name}.csv" in files and models:
        typed = _csv(folder / f"{name}.csv", models[-1])
        if typed is not None:
            yield typed


def _parquet(path: Path) -> pa.Table | None:
    """Read a Parquet file, if each of its columns stands once and every text is one."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException):
        return None
    names = table.column_names
    return table if len(set(names)) == len(names) else None


def _csv(path: Path, model: pa.Table) -> pa.Table | None:
    """Read a CSV file as a table of a model's types; an empty cell is NULL.

    A column that the model lacks is one of texts. An empty text looks like NULL in CSV: it is
    one where the model's row has one.
    """
    try:
        texts = read_csv(path)
        names = texts.column_names
        if len(set(names)) < len(names):
            return None
        known = set(model.column_names)
        fields = [(model if name in known else texts).schema.field(name) for name in names]
        schema = pa.schema(fields)
        return pa.Table.from_arrays([_column(texts, model, each) for each in schema], schema=schema)
    except (OSError, ValueError, LookupError, ArithmeticError, csv.Error):
        return None


def _column(texts: pa.Table, model: pa.Table, field: pa.Field) -> pa.Array:
    cells, parse = texts[field.name].to_pylist(), _parser(field.type)
    is_known = field.name in model.column_names and pa.types.is_string(field.type)
    if not is_known or "" not in model[field.name].to_pylist():
        return pa.array([parse(cell) if cell else None for cell in cells], field.type)
    names = KEYS.intersection(texts.column_names)
    keys = [one.name for one in model.schema if one.name in names and pa.types.is_string(one.type)]
    pairs = zip(_rows(model, keys), model[field.name].to_pylist(), strict=True)
    empty = {key for key, value in pairs if value == ""}
    rows = zip(_rows(texts, keys), cells, strict=True)
    return pa.array([cell or ("" if key in empty else None) for key, cell in rows], field.type)


def _rows(table: pa.Table, keys: list[str]) -> Iterator[tuple[str, ...]]:
    columns = [[value or "" for value in table[key].to_pylist()] for key in keys]
    return zip(*columns, strict=True)


def _parser(kind: pa.DataType) -> Parse:
    if pa.types.is_decimal(kind):
        return Decimal
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_date(kind):
        return date.fromisoformat
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat
    return str
