"""The page *How to add*: what it says to write is written into a copy of the package, and works."""

import csv
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest

import svc_analytics as svc
from svc_analytics.sandbox.server import Running
from tests.support.documents import NOW, PAGES, ROOT

[PAGE] = [page for page in PAGES if page.name == "how-to-add.md"]
FILES = re.findall(r'^ *```\w+ title="(.+?)"\n(.+?)^ *```$', PAGE.read_text("utf-8"), re.M | re.S)
# A process of its own, as the package is another; its clock is that of the desk.
COMMAND = f"""\
import time
time.time_ns = lambda: {NOW} * 1000
from svc_analytics.cli.app import main
main()
"""
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def statement(
    demo: tuple[Path, Running], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Rows]:
    """The tables of October, made by the package with the files of the page in it."""
    folder = tmp_path_factory.mktemp("added")
    shutil.copytree(ROOT / "svc_analytics", folder / "svc_analytics")
    for name, text in FILES:
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(dedent(text))
    words = ["statement", "2026-10", "--format", "csv", "--out", str(folder / "october")]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=demo[0], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return {
        path.stem: list(csv.DictReader(path.read_text("utf-8").splitlines()))
        for path in folder.glob("october/*.csv")
    }


def test_the_page_has_files_to_follow() -> None:
    """One of a figure and one of a rule."""
    assert [Path(name).parent.name for name, _ in FILES] == ["figures", "checks"]


def test_the_figure_of_the_page_is_on_the_statement(
    statement: dict[str, Rows], demo: tuple[Path, Running]
) -> None:
    """For each coin the largest payout that the lake holds, with the words of its file."""
    rows = [row for row in statement["figures"] if row["name"] == "payout_max"]
    largest = svc.open_lake(demo[0] / "data").sql(
        "select currency, max(amount) as most from payouts where month = '2026-10' group by all"
    )
    expected = dict(zip(largest["currency"], largest["most"], strict=True))
    assert {row["currency"]: Decimal(row["value"]) for row in rows if row["value"]} == expected
    [words] = [row for row in statement["definitions"] if row["name"] == "payout_max"]
    assert words["label"] == "Largest payout"


def test_the_rule_of_the_page_finds_what_breaks_it(
    statement: dict[str, Rows], demo: tuple[Path, Running]
) -> None:
    """Each payout of the month without a comment, and no other."""
    rule = "payout_has_a_comment"
    found = {row["record_id"] for row in statement["checks"] if row["check_name"] == rule}
    silent = svc.open_lake(demo[0] / "data").sql(
        "select payout_id from payouts where month = '2026-10' and comment = ''"
    )
    assert found and found == set(silent["payout_id"])
