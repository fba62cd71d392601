"""The glossary on the command line: read without a lake, by name or by label."""

import csv
import io
import json
from functools import partial

import pytest

from svc_analytics.warehouse.figures import figure_groups, stated_figures
from tests.support.desks import Run


@pytest.fixture
def run(run, monkeypatch) -> Run:
    """`figures` on a terminal of 80 columns, in an empty folder."""
    monkeypatch.setenv("COLUMNS", "80")
    return partial(run, "figures")


def test_the_glossary_fits_a_terminal(run):
    """Every figure under its group, with its formula, within 80 columns; no lake is there."""
    done = run()
    lines = done.out.splitlines()
    assert done.code == 0 and max(map(len, lines)) <= 80
    assert [line for line in lines if line in figure_groups()] == [*figure_groups()]
    for figure in stated_figures():
        assert f"{figure.label} ({figure.name})" in lines


@pytest.mark.parametrize(
    "name", ["net_settlement", "Sales less fees and refunds", "net settlement"]
)
def test_one_figure_is_said_by_name_or_by_label(run, name):
    """Label and name, then what it means and how it is made."""
    done = run(name)
    assert done.code == 0 and done.out == (
        "Sales less fees and refunds (net_settlement)\n"
        "    What sales left in the wallet: sales of the period after fees, less what its\n"
        "    refunds took out. Payouts are not taken off. It is not a settlement that the\n"
        "    service pays out.\n"
        "    formula  sales after fees - refunds debited\n"
        "    unit     coin\n"
        "    sign     either way\n"
        "    needs    payments of the period; payout records of the period\n"
    )


def test_programs_read_the_glossary_as_json_and_csv(run):
    """All of it, or the figures named."""
    rows = json.loads(run("--json").out)["figures"]
    assert [row["name"] for row in rows] == [figure.name for figure in stated_figures()]
    assert list(csv.DictReader(io.StringIO(run("--csv").out))) == rows
    [row] = json.loads(run("usd_exposure", "--json").out)["figures"]
    assert (row["label"], row["unit"], row["sign"]) == ("Position in USD", "USD", "either way")
