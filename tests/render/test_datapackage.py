"""`datapackage.json`: what each column of a statement's tables is, for any tool that knows it."""

import csv
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.prepared import once

# A cell of each type, read as the standard says. A text is any.
READ: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "boolean": {"true": True, "false": False}.__getitem__,
}
XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"


@pytest.fixture
def folder(make, tmp_path_factory) -> Path:
    """A statement of hostile texts, with a column of metadata, in each form that has tables."""

    def write() -> Path:
        out = tmp_path_factory.mktemp("described") / "out"
        return make(metadata=("cart",)).save(out, ("csv", "parquet", "journal"))

    return once("the folder that is described", write)


def described(folder: Path) -> list[dict[str, Any]]:
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    return list(package["resources"])


def test_every_table_is_described_and_nothing_else(folder):
    """Each CSV file, by the columns of its first line."""
    found = {each["path"]: each["schema"]["fields"] for each in described(folder)}
    assert found.keys() == {path.name for path in folder.glob("*.csv")}
    for name, fields in found.items():
        with (folder / name).open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == [field["name"] for field in fields], name


def test_every_cell_is_of_its_type(folder):
    """An empty one is unknown, whatever the type; an amount is of digits."""
    count = 0
    for each in described(folder):
        assert each["schema"]["missingValues"] == [""]
        with (folder / each["path"]).open(encoding="utf-8", newline="") as file:
            for row in list(csv.reader(file))[1:]:
                for cell, field in zip(row, each["schema"]["fields"], strict=True):
                    pattern = field.get("constraints", {}).get("pattern", "(?s).*")
                    if cell:
                        READ[field["type"]](cell)
                        assert re.fullmatch(pattern, cell), (field, cell)
                        count += "rdfType" in field
    assert count > 100


def test_an_amount_is_never_a_number_that_tools_round(folder):
    """It is a text that says it is a decimal: 1.000000000000000003 eth is no float."""
    amounts = {}
    for each in described(folder):
        for field in each["schema"]["fields"]:
            assert field["type"] in READ, field
            if field.get("rdfType") == XSD_DECIMAL:
                assert field["type"] == "string" and "exact decimal" in field["description"]
                amounts[each["name"], field["name"]] = field
    assert amounts["summary", "gross_sales"]["unit"] == "coin"
    assert amounts["summary", "usd_gross"]["unit"] == "USD"
    assert amounts["summary", "effective_fee_rate"]["unit"] == "ratio"
    for name in ("summary", "lines", "refunds"):
        schema = pq.read_schema(folder / f"{name}.parquet")
        decimals = {field.name for field in schema if pa.types.is_decimal(field.type)}
        assert decimals == {column for table, column in amounts if table == name}
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        sums = {row["currency"]: Decimal(row["gross_sales"]) for row in csv.DictReader(file)}
    assert sums["eth"] == Decimal("1.000000000000000003")


def test_every_column_has_a_name_for_people_and_a_meaning(folder):
    """Those that no SQL makes too: metadata, findings, the journal."""
    for each in described(folder):
        assert each["description"], each["name"]
        for field in each["schema"]["fields"]:
            assert field["title"] and field["description"].endswith("."), (each["name"], field)


def test_parquet_holds_the_same_meanings(folder):
    """As the comment of each column, so a file that goes alone says what it is."""
    told = {each["name"]: each["schema"]["fields"] for each in described(folder)}
    for path in folder.glob("*.parquet"):
        for field, said in zip(pq.read_schema(path), told[path.stem], strict=True):
            comment = field.metadata[b"comment"].decode().rstrip(".")
            assert comment, (path.stem, field)
            assert said["description"].lower().startswith(comment.lower()), (path.stem, field)


def test_of_parquet_alone_the_parquet_is_described(make, tmp_path):
    """By the same columns; definitions are always CSV. Without a table there is nothing."""
    made = make(metadata=("cart",))
    paths = {each["path"] for each in described(made.save(tmp_path / "a", ("parquet",)))}
    assert {"summary.parquet", "lines.parquet", "definitions.csv"} <= paths
    assert not (made.save(tmp_path / "b", ("json",)) / "datapackage.json").exists()


@pytest.mark.thorough
def test_frictionless_finds_every_table_valid(folder):
    """The library of the standard's makers, where it is installed."""
    command = shutil.which("frictionless")
    if command is None and importlib.util.find_spec("frictionless") is None:
        pytest.skip("frictionless is not installed")
    called = [command or "frictionless", "validate", "datapackage.json", "--json"]
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["valid"] and len(report["tasks"]) == len(described(folder)), report
