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

from tests.support.documents import PAGES, ROOT

[PAGE] = [page for page in PAGES if page.name == "how-to-add.md"]
FILES = re.findall(r'^ *```\w+ title="(.+?)"\n(.+?)^ *```$', PAGE.read_text("utf-8"), re.M | re.S)
Rows = list[dict[str, str]]


LEDGER = """
 kind     currency  amount  fee   at
 payment  btc       9       0.09  2026-10-01T08:00
 payout   btc       2       0.02  2026-10-02T08:00
 payout   btc       3       0.03  2026-10-03T08:00
 payout   usdt      5       0.05  2026-10-04T08:00
 payout   btc       7       0.07  2026-11-05T08:00
"""


@pytest.fixture
def statement(desk, tmp_path) -> dict[str, Rows]:
    """The tables of October, made by the package with the files of the page in it."""
    desk.serve(LEDGER)
    desk.service.payouts[0]["comment"] = "rent"
    desk.extract()
    shutil.copytree(ROOT / "svc_analytics", tmp_path / "svc_analytics")
    for name, text in FILES:
        with (tmp_path / name).open("x", encoding="utf-8") as file:
            file.write(dedent(text))
    words = ["statement", "2026-10", "--format", "csv", "--out", "october"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "svc_analytics", *words]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert (tmp_path / "october").exists(), done.stderr
    return {
        path.stem: list(csv.DictReader(path.read_text("utf-8").splitlines()))
        for path in tmp_path.glob("october/*.csv")
    }


def test_the_page_has_files_to_follow():
    """One of a figure and one of a rule."""
    assert [Path(name).parent.name for name, _ in FILES] == ["figures", "checks"]


def test_the_figure_of_the_page_is_on_the_statement_and_its_rule_finds_what_breaks_it(statement):
    """For each coin its largest payout of October; each payout of it without a comment."""
    rows = [row for row in statement["figures"] if row["name"] == "payout_max"]
    found = {row["currency"]: Decimal(row["value"]) for row in rows if row["value"]}
    assert found == {"btc": Decimal(3), "usdt": Decimal(5)}
    [words] = [row for row in statement["definitions"] if row["name"] == "payout_max"]
    assert words["label"] == "Largest payout"
    silent = [row for row in statement["checks"] if row["check_name"] == "payout_has_a_comment"]
    assert len({row["record_id"] for row in silent}) == len(silent) == 2
