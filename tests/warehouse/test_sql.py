"""The macros in which every figure counts are exact, and our SQL is what every engine knows."""

import random
import re
from collections.abc import Iterator
from decimal import Decimal, localcontext
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import svc_analytics
from svc_analytics.engines.trees import macros
from svc_analytics.instants import MINUTE
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE
from svc_analytics.warehouse.models import read_macros
from tests.support.full_scan.values import EXACT, ratio, share, worth
from tests.support.rings import rings
from tests.support.views import views

UNIT, LONG_DIVISOR = Decimal("1e-18"), Decimal("8e15")  # from there on bit by bit

NEAR_THE_END = [
    Decimal(text) for text in ("99999999999999999999.999999999999999999", "5e19", "3e19")
]


def columns(cases: list[Any]) -> list[pa.Array]:
    """Cases as columns: amounts, and numbers that count."""
    types = {Decimal: pa.decimal128(38, 18), int: pa.int64()}
    return [pa.array(each, types[type(each[0])]) for each in zip(*cases, strict=True)]


@pytest.mark.parametrize("count", rings([1_000], [20_000]))
def test_macros_equal_decimal_arithmetic_on_random_cases(count):
    """ratio, muldiv and muldiv18 round once, half up, like exact arithmetic does."""
    chance = random.Random(18)
    cases = [[_amount(chance) for _ in range(3)] for _ in range(count)]
    cases = [(a, b, c) for a, b, c in cases if abs(a * b) < abs(c) * 10**19 or not c]
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        connection.register("cases", pa.table(columns(cases), ["a", "b", "c"]))
        found = connection.execute(
            "select a, b, c, ratio(a, c), muldiv(a, b, c), muldiv18(a, b, c) from cases"
        ).fetchall()
    for a, b, c, *got in found:
        exact = [ratio(a, c), worth(a, b, c), share(a, b, c)]
        assert got == exact


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        ("0.000000004999999999", "0"),
        ("0.000000005", "0.00000001"),
        ("0.000000014999999999", "0.00000001"),
        ("-0.000000004999999999", "0"),
        ("-0.000000005", "-0.00000001"),
    ],
)
def test_a_product_is_rounded_half_up_at_8_places(exact, rounded):
    """The last unit below a half is rounded down, whichever factor brings it."""
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        for factors in ("?, 1, 1", "1, ?, 1", "?, 3, 3"):
            values = factors.replace("?", f"{exact}::decimal(38,18)")
            (found,) = connection.execute(f"select muldiv({values})").fetchall()[0]
            assert found == Decimal(rounded)


@pytest.mark.parametrize("count", rings([1_000], [20_000]))
def test_ratios_and_means_of_the_longest_amounts_are_exact_or_unknown(count):
    """By divisors of up to 38 digits too; what 38 digits cannot hold is NULL."""
    chance = random.Random(38)
    cases = [(_long(chance), _long(chance), chance.randrange(10**9)) for _ in range(count)]
    cases += [(Decimal(7), sign * LONG_DIVISOR - last, 3) for sign in (1, -1) for last in (0, UNIT)]
    cases += [(a, c, 3) for a, c in product(NEAR_THE_END, NEAR_THE_END)]
    with duckdb.connect() as connection:
        connection.execute(f"PRAGMA disable_optimizer; {read_macros()}")
        connection.register("cases", pa.table(columns(cases), ["a", "c", "n"]))
        found = connection.execute("select *, ratio(a, c), mean18(a, n) from cases").fetchall()
    with localcontext(EXACT):
        for a, c, n, quotient, mean in found:
            assert (quotient, mean) == (ratio(a, c), share(a, 1, n))


@pytest.mark.parametrize(
    ("amounts", "places_18", "places_8"),
    [
        (["2", "7", "3"], "3", "3"),
        (["632.123456789012345677", "633.123456789012345671"], "632.623456789012345674", None),
        (["0.000000000000000001", "0.000000000000000002"], "0.000000000000000002", "0"),
        (["0.00999943", "0.00999944"], "0.009999435", "0.00999944"),
        (["99999999999999999999", "99999999999999999998"], "99999999999999999998.5", None),
        ([], None, None),
    ],
)
def test_a_median_is_halved_exactly(amounts, places_18, places_8):
    """Half up between the two in the middle; the engine's own median is a unit or more off."""
    values = [Decimal(text) for text in amounts]
    query = "select middle18(x), middle8(x) from (select unnest($1::decimal(38,18)[]) as x)"
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        [(exact, rounded)] = connection.execute(query, [values]).fetchall()
    assert exact == (places_18 and Decimal(places_18))
    assert places_8 is None or rounded == Decimal(places_8)


def _amount(chance: random.Random) -> Decimal:
    places = chance.choice([0, 2, 6, 8, 18])
    units = chance.choice([0, 1, 5, chance.randrange(10**6), chance.randrange(10**9)])
    return Decimal(chance.choice([1, 1, -1]) * units).scaleb(-places)


def _long(chance: random.Random) -> Decimal:
    units = chance.choice(
        [0, 1, LONG_DIVISOR.scaleb(18), chance.randrange(10 ** chance.randrange(39))]
    )
    return Decimal(chance.choice([1, -1]) * int(units)).scaleb(-18, EXACT)


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
    public = {model.name: homes[model.name] for model in views() if model.is_public}
    assert set(public.values()) == {"staging", "marts"}
    assert {name for name, home in homes.items() if home == "marts"} <= public.keys()
    assert {name for name, home in public.items() if home == "staging"} == {
        *("payments", "payout_records", "sessions", "bindings")
    }
    assert not any(homes[model.name] == "marts" for model in views() if not model.is_public)


def test_each_model_stands_in_the_file_of_its_name():
    """Whoever looks for a view finds it by its file."""
    for path in FILES:
        if path.name != "macros.sql":
            assert re.match(rf"-- {path.stem}[(:]", path.read_text(encoding="utf-8")), path.name
