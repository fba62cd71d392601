"""The glossary on the command line: read without a lake, by name or by label."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics.cli import app
from svc_analytics.warehouse.figures import figure_groups, stated_figures

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `figures` in an empty folder on a terminal of 80 columns; return code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["svc-analytics", "figures", *words])
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


def test_the_glossary_fits_a_terminal(run: Run) -> None:
    """Every figure under its group, with its formula, within 80 columns; no lake is there."""
    code, out, _ = run()
    lines = out.splitlines()
    assert code == 0 and max(map(len, lines)) <= 80
    assert [line for line in lines if line in figure_groups()] == [*figure_groups()]
    for figure in stated_figures():
        assert f"{figure.label} ({figure.name})" in lines


@pytest.mark.parametrize(
    "name", ["net_settlement", "Sales less fees and refunds", "net settlement"]
)
def test_one_figure_is_said_by_name_or_by_label(run: Run, name: str) -> None:
    """Label and name, then what it means and how it is made."""
    code, out, _ = run(name)
    assert code == 0
    assert out == (
        "Sales less fees and refunds (net_settlement)\n"
        "    What sales left in the wallet: sales of the period after fees, less what its\n"
        "    refunds took out. Payouts are not taken off. It is not a settlement that the\n"
        "    service pays out.\n"
        "    formula  sales after fees - refunds debited\n"
        "    unit     coin\n"
        "    sign     either way\n"
        "    needs    payments of the period; payout records of the period\n"
    )


def test_a_misspelt_figure_is_one_line_with_the_names_like_it(run: Run) -> None:
    """Code 2: a wrong word was given."""
    code, out, err = run("net_setlement")
    assert (code, out) == (2, "")
    assert err.startswith(
        "svc-analytics: error: no figure 'net_setlement': did you mean net_settlement"
    )
    assert len(err.splitlines()) == 1


def test_programs_read_the_glossary_as_json_and_csv(run: Run) -> None:
    """All of it, or the figures named."""
    rows = json.loads(run("--json")[1])["figures"]
    assert [row["name"] for row in rows] == [figure.name for figure in stated_figures()]
    assert list(csv.DictReader(io.StringIO(run("--csv")[1]))) == rows
    [row] = json.loads(run("usd_exposure", "--json")[1])["figures"]
    assert (row["label"], row["unit"], row["sign"]) == ("Position in USD", "USD", "either way")
