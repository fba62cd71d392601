"""What must stay true of the SQL: a subset that engines share, short lines, views in marts/."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import svc_analytics
from svc_analytics.engines.trees import macros
from svc_analytics.instants import MINUTE
from svc_analytics.lake.footer import CLOCK_TOLERANCE
from svc_analytics.warehouse.models import read_models

SQL = next(Path(svc_analytics.__file__).parent.rglob("sql"))
FILES = sorted(SQL.rglob("*.sql"))
# What each engine spells, counts or reads in its own way, and the word it is forbidden by.
FORBIDDEN = {
    "a generator in a select list": r"(select|,)\s+unnest\(",
    "unnest of several levels": r"recursive\s*:=",
    "days counted by the engine": r"\bdate_?(diff|sub|part)\b",
    "groups or orders not spelled out": r"\b(group|order) by all\b",
    "joins and sets of one engine": r"\b(asof|pivot|unpivot|qualify)\b|union( all)? by name",
    "columns replaced in a star": r"\*\s*replace\b",
    "instants as numbers": r"\bepoch(_\w+)?\(",
    "instants joined to text": r"\|\|\s*(\w+\.)?\w+(_at|_start|_end|_until|_to)\b",
    "numbers made from an exponent": r"'\d+e'",
    "if as a function": r"\bif\(",
    "errors caught": r"\btry\(",
    "functions over lists": r"\b(list_\w+|lambda)\b",
}
DIGEST = r"\bdigest\((.*?)\) as content"


def code(path: Path) -> str:
    """The SQL of a file without its comments."""
    return re.sub(r"--.*", "", path.read_text(encoding="utf-8"))


def steps(path: Path) -> Iterator[str]:
    """Each query of a file: those of its `with`, and the last one."""
    return (part for part in re.split(r"\n\n|\bunion all\b", code(path)) if "select" in part)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_sql_keeps_to_the_subset_that_engines_share(what):
    """What one engine alone understands stands in macros.sql, behind a name."""
    for path in FILES:
        if path.name != "macros.sql":
            found = re.search(FORBIDDEN[what], code(path))
            assert not found, f"{path.name}: {what}: {found and found[0]!r}"


def test_every_macro_can_be_told_to_another_engine():
    """What the translator cannot read, such as a body that begins with a text, it leaves out."""
    written = re.findall(r"^create macro (\w+)", (SQL / "macros.sql").read_text("utf-8"), re.M)
    assert list(macros()) == written


def test_a_digest_names_each_fact_once():
    """What an acceptance names is the content of a finding: a fact named twice hides another."""
    rules = (path for path in FILES if path.parent.name == "checks")
    digests = [text for path in rules for text in re.findall(DIGEST, code(path), re.S)]
    assert len(digests) > 15
    for text in digests:
        facts = re.findall(r"fact\(((?:[^()]|\([^()]*\))*)\)", text)
        assert len(facts) == len({*facts}), text


def test_the_rule_about_coverage_lets_clocks_differ_as_much_as_runs_do():
    """A run calls read what another clock has not reached yet, up to this tolerance."""
    rule = SQL / "checks" / "coverage_does_not_claim_the_future.sql"
    assert f"interval {CLOCK_TOLERANCE // MINUTE} minute\n" in code(rule)


def test_only_what_reads_footers_reads_json():
    """Footers, the rule that holds files against them, and the list of files that are kept."""
    readers = {path.stem for path in FILES if re.search(r"->|from_json|::json", code(path))}
    of_footers = {"files", "totals", "sums", "spans", "kept_files", "confirmed", "unlisted"}
    staged = {f"stg_{name}" for name in of_footers}
    assert readers <= {*staged, "month_file_matches_its_totals", "macros"}


def test_columns_joined_by_using_are_named_bare():
    """Behind `using` a column belongs to neither side: some engines refuse it qualified."""
    for path in FILES:
        for step in steps(path):
            joined = re.findall(r"\busing \(([\w, ]+)\)", step)
            for name in {name for names in joined for name in names.split(", ")}:
                assert not re.search(rf"\w\.({name}\b|\*)", step), f"{path.name}: {name}"


def test_lines_of_sql_stay_short():
    """A hundred columns, as in Python; a model of a hundred lines at most."""
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in FILES}
    wide = {name for name, lines in texts.items() if max(map(len, lines)) > 100}
    tall = {name for name, lines in texts.items() if len(lines) > 100} - {"macros.sql"}
    assert not wide | tall


def test_views_for_users_stand_in_marts():
    """The views of records in staging/, all others in marts/; steps on the way nowhere else."""
    homes = {path.stem: path.parent.name for path in FILES}
    public = {model.name: homes[model.name] for model in read_models() if model.is_public}
    assert set(public.values()) == {"staging", "marts"}
    assert {name for name, home in homes.items() if home == "marts"} <= public.keys()
    assert {name for name, home in public.items() if home == "staging"} == {
        *("payments", "payout_records", "sessions", "bindings")
    }
    assert not any(homes[model.name] == "marts" for model in read_models() if not model.is_public)


def test_each_model_stands_in_the_file_of_its_name():
    """Whoever looks for a view finds it by its file."""
    for path in FILES:
        if path.name != "macros.sql":
            assert re.match(rf"-- {path.stem}[(:]", path.read_text(encoding="utf-8")), path.name
