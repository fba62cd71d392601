"""The SQL of the warehouse: files read once, their headers turned into documentation.

A model's first comment names it and says what it is, then its grain and its sources; the
comment behind or above each column of its last select becomes that column's comment. A star
stands for the columns of its first source, with their comments, and before all others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain

from svc_analytics.messages import Message
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.figure_sql import figure_models

_TITLE = re.compile(
    r"-- (?P<name>\w+)(?P<signature>\(.*?\))?: (?P<meaning>.+?) (?:grain|severity): "
)
_GRAIN = re.compile(r" grain: (?P<grain>.+?)\. from: (?P<sources>.+?)\.(?: |$)")
_SEVERITY = re.compile(r" severity: (?P<severity>blocking|advisory)\.")
_COUNTED = re.compile(r" says: (?P<one>.+?) / (?P<many>.+?)\.$")
_PLACEHOLDER = re.compile(r"\{\w+\}")
_COLUMN = re.compile(
    r"^(?P<above>(?: {4}-- .+\n)+(?: {4}(?!.*-- ).*\n)*?)?"
    r" {4}(?:.*\bas )?(?:\w+\.)?(?P<name>\w+),?(?(above)$|  -- (?P<behind>.+)$)",
    re.M,
)
_MEANT = re.compile(r"-- \{(?P<column>\w+)\}$", re.M)  # a comment that the schema holds
_STAR = re.compile(r"^ {4}(?:\w+\.)?\*(?: exclude \((?P<without>[\w, ]+)\))?,?$", re.M)
_COMMENT = re.compile(r"^ {4}-- (.+)$", re.M)
_UNHELD = re.compile(r"\{unheld (?P<stream>\w+)\}")
_NEEDS_ALL = {"describe", "exceptions", "information_schema", "pragma", "show", "summarize"}
_REMARK = re.compile("--.*")


@dataclass(frozen=True)
class Model:
    """A view, or with a `signature` a table macro."""

    name: str
    signature: str
    meaning: str
    grain: str
    sources: tuple[str, ...]
    sql: str

    @property
    def is_public(self) -> bool:
        """Whether users are meant to query it; `stg_` and `int_` models are steps on the way."""
        return not self.name.startswith(("stg_", "int_"))

    @property
    def reads_files(self) -> bool:
        """Whether it names month files, by placeholders such as `{payments}`."""
        return bool(_PLACEHOLDER.search(self.sql))

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The meaning of each column, in order."""
        is_union = "union all\nselect" in self.sql
        final = self.sql if is_union else self.sql[self.sql.rindex("\nselect") :]
        return self._inherited(final) | {
            match["name"]: match["behind"] or " ".join(_COMMENT.findall(match["above"]))
            for match in _COLUMN.finditer(final)
        }

    def _inherited(self, final: str) -> dict[str, str]:
        star = _STAR.search(final)
        if not star:
            return {}
        without = (star["without"] or "").split(", ")
        source = next(model for model in read_all_models() if model.name == self.sources[0])
        return {name: text for name, text in source.columns.items() if name not in without}


@dataclass(frozen=True)
class CountedText:
    """The sentence about rows that break a rule: about one, and about many."""

    one: str
    many: str

    def of(self, count: int) -> Message:
        """Say it of so many rows.

        >>> CountedText("record is lost", "records are lost").of(2)
        '2 records are lost'
        """
        words = self.one if count == 1 else self.many
        return Message(f"{{count}} {words}", count=f"{count:,}")


@dataclass(frozen=True)
class Check:
    """A rule over the data. Its query returns the rows that break it."""

    name: str
    meaning: str
    severity: str
    says: CountedText  # of the rows that break it
    sql: str

    @property
    def title(self) -> str:
        """The name of its findings."""
        return self.says.many[:1].upper() + self.says.many[1:]


def read_macros() -> str:
    """Return the SQL of the exact macros."""
    return _folder("macros.sql").read_text(encoding="utf-8")


@cache
def read_all_models() -> tuple[Model, ...]:
    """Return views and table macros, each behind the ones it reads from."""
    layers = ("staging", "intermediate", "marts", "statement")
    written = (sql for layer in layers for sql in _sql_files(layer))
    return _in_order(map(_read_model, chain(map(_commented, written), figure_models())))


def _commented(sql: str) -> str:
    """Return the SQL of a view of records with the meanings that its stream gives the columns."""
    name = sql[3:].partition(":")[0]
    if name not in STREAMS:
        return sql
    meanings = STREAMS[name].meanings
    return _MEANT.sub(lambda match: f"-- {meanings[match['column']]}", sql)


def read_statement_macros() -> tuple[Model, ...]:
    """Return the table macros of a statement, which take any half-open interval."""
    return tuple(model for model in read_all_models() if model.signature)


@cache
def read_checks() -> tuple[Check, ...]:
    """Return the rules over records and files, by name."""
    rules = (*read_statement_checks(), *read_lake_checks())
    return tuple(sorted(rules, key=lambda rule: rule.name))


@cache
def read_statement_checks() -> tuple[Check, ...]:
    """Return the rules that each statement is compared with, by name."""
    return tuple(_read_check(_UNHELD.sub(_names_unheld, sql)) for sql in _sql_files("checks"))


def _names_unheld(match: re.Match[str]) -> str:
    """Return SQL that names each optional column of a stream whose value only `extra` has."""
    optional = [each.name for each in STREAMS[match["stream"]].columns if not each.is_required]
    return ", ".join(
        f"case when {name} is null and extra like '%\"{name}\":%' then '{name}' end"
        for name in optional
    )


@cache
def read_lake_checks() -> tuple[Check, ...]:
    """Return the rules that cost too much for each statement: `check` alone applies them."""
    return tuple(map(_read_check, _sql_files("lake_checks")))


@cache
def read_footings() -> tuple[Check, ...]:
    """Return the rules that a statement's own tables must keep, by name."""
    return tuple(map(_read_check, _sql_files("footings")))


@cache
def _counted_texts() -> dict[str, CountedText]:
    return {rule.name: rule.says for rule in (*read_checks(), *read_footings())}


def say_findings(
    name: str, count: int, others: Mapping[str, CountedText] | None = None
) -> Message | None:
    """Say in words how many rows break a rule; None of a rule that nobody put into words.

    `others` are the rules that are no file here.
    """
    says = _counted_texts().get(name) or (others or {}).get(name)
    return says.of(count) if says else None


def count_findings(
    name: str, count: int, others: Mapping[str, CountedText] | None = None
) -> Message:
    """Say it, and name the rule so that it can be found."""
    said = say_findings(name, count, others)
    if said is None:
        code = "reason.finding_of" if count == 1 else "reason.findings_of"
        return Message(code, count=f"{count:,}", name=name)
    return Message("reason.finding", finding=said, rule=name)


def models_used_by(*queries: str) -> frozenset[str] | None:
    """Return the models that queries need, with all that they read from; None for all.

    Making a view costs more than reading a small one. A query on the catalogue or on the findings
    of all rules, or one that names no model, needs whatever there is.
    """
    words = _words(queries)
    models = {model.name: model for model in read_all_models()}
    if words & _NEEDS_ALL or any(word.startswith("duckdb_") for word in words):
        return None
    needed = words & {"statement_checks"}
    rules = [_REMARK.sub("", rule.sql) for rule in read_statement_checks() if needed]
    named = (words | _words(rules)) & models.keys()
    while named:
        needed |= named
        sources = {source for name in named for source in models[name].sources}
        named = (sources & models.keys()) - needed
    return frozenset(needed) or None


def _words(texts: Iterable[str]) -> set[str]:
    return set(re.findall(r"\w+", "\n".join(texts).casefold()))


def _in_order(models: Iterable[Model]) -> tuple[Model, ...]:
    """Put each model behind those of its sources that are among them."""
    by_name = {model.name: model for model in models}
    ordered: dict[str, Model] = {}

    def place(model: Model) -> None:
        for source in model.sources:
            if source in by_name and source not in ordered and source != model.name:
                place(by_name[source])
        ordered.setdefault(model.name, model)

    for model in by_name.values():
        place(model)
    return tuple(ordered.values())


def _read_model(sql: str) -> Model:
    title, grain = _match(_TITLE, sql), _match(_GRAIN, sql)
    # Behind "of" stand folders, such as those in `footers of payments, payout_records`: no models.
    sources = tuple(grain["sources"].partition(" of ")[0].split(", "))
    signature = title["signature"] or ""
    return Model(title["name"], signature, title["meaning"], grain["grain"], sources, sql)


def _read_check(sql: str) -> Check:
    title, severity = _match(_TITLE, sql), _match(_SEVERITY, sql)
    says = CountedText(**_match(_COUNTED, sql).groupdict())
    return Check(title["name"], title["meaning"], severity["severity"], says, sql)


def _match(pattern: re.Pattern[str], sql: str) -> re.Match[str]:
    match = pattern.search(sql.split("\n\n", 1)[0].replace("\n-- ", " "))
    if not match:
        message = f"a model without the line {pattern.pattern}"
        raise ValueError(message)
    return match


def _sql_files(layer: str) -> Iterator[str]:
    entries = [entry for entry in _folder(layer).iterdir() if entry.name.endswith(".sql")]
    for entry in sorted(entries, key=lambda entry: entry.name):
        yield entry.read_text(encoding="utf-8")


def _folder(name: str) -> Traversable:
    return files("svc_analytics.warehouse") / "sql" / name
