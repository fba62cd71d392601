"""Pickers drive the whole notebook: one choice, and every cell that shows it follows."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

import svc_analytics as svc
from svc_analytics import charts
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.lake.lake import known_months
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.messages import Message
from svc_analytics.notebook import pickers, runner
from svc_analytics.notebook.picked import Picked, heading
from svc_analytics.notebook.pickers import PARTS, Pickers
from svc_analytics.render.document import Reason, Unknown
from svc_analytics.statements import statement as statements
from tests.support.documents import demo_copy
from tests.support.prepared import once

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Lakehouse:
    return demo_copy(tmp_path_factory)


@pytest.fixture
def made(lake) -> svc.Statement:
    return once("made of the demo", lambda: svc.statement(lake, svc.last_full_month(lake)))


@pytest.fixture
def picked(lake, made) -> Picked:
    return Picked(lake, made)


@pytest.fixture
def count(monkeypatch) -> list[str]:
    """The months of the statements that are made."""
    made_of: list[str] = []
    make = statements.statement

    def counted(lake: Lakehouse, month: str, **options: Any) -> svc.Statement:
        made_of.append(month)
        return make(lake, month, **options)

    monkeypatch.setattr(statements, "statement", counted)
    return made_of


@dataclass
class Output:
    """Where a cell's output would be updated."""

    texts: list[str] = field(default_factory=list)

    def update(self, shown: Any) -> None:
        self.texts.append(repr(shown))


def before(made: svc.Statement) -> str:
    return made.period.shift(-1).label


def test_everything_that_shows_the_pick_follows_it(picked, made):
    """Figures, days, checks and what a function shows: all of the new month."""
    shown = [
        svc.show(picked),
        svc.search(picked, "daily"),
        picked.show(lambda st, coin: f"{st.period.label} of {coin}"),
        picked.explain("net_sales"),
    ]
    other = before(made)
    assert all(other not in repr(one) for one in shown[:3])
    picked.choose(month=other, coin="usdt")
    assert [other in repr(one) for one in shown] == [True] * 4
    assert repr(shown[2]) == f"{other} of usdt" and "net_sales of usdt" in repr(shown[3])
    assert set(picked.table("lines")["currency"].to_pylist()) == {"usdt"}


def test_a_chosen_coin_is_drawn_alone(picked, made):
    """All coins at first, and again."""
    drawn = svc.draw(charts.position, picked)
    assert repr(drawn).count(", ") >= len(made.summary)
    picked.choose(coin="btc")
    assert repr(drawn).startswith("position, btc") and "usdt" not in repr(drawn)
    picked.choose(coin=None)
    assert "usdt" in repr(drawn)


@pytest.mark.thorough
def test_one_statement_is_made_for_a_change(picked, made, count):
    """However many cells show it, and although the other pickers follow; none for a coin."""
    for _ in range(3):
        picked.follow(svc.show(picked), Output())
    widgets = Pickers(picked)
    widgets.month.value = before(made)
    assert count == [before(made)]
    widgets.coin.value = "usdt"
    widgets.zone.value = "Asia/Tehran"
    assert count == [before(made)] * 2 and picked.statement.period.zone == "Asia/Tehran"
    widgets.calendar.value = "jalali"
    assert len(count) == 3 and picked.statement.period.calendar == "jalali"


def test_pickers_offer_what_there_is(picked, lake, made):
    """Months newest first, the running one marked; all coins before each; usual zones."""
    widgets = Pickers(picked)
    texts, labels = zip(*widgets.month.options, strict=True)
    assert list(labels) == sorted({*known_months(lake), made.period.label}, reverse=True)
    assert texts[0] == f"{made.period.shift(1).label} (running)" and texts[1] == labels[1]
    assert widgets.coin.options == ("all coins", *made.summary["currency"])
    assert "Asia/Tehran" in widgets.zone.options
    widgets.calendar.value = "jalali"
    assert all(label.startswith("1") for _, label in widgets.month.options)


def test_another_calendar_picks_the_month_of_the_same_time(picked):
    """The middle of 1405-07 is in October, and that of October in 1405-07."""
    picked.choose(month="2026-10")
    picked.choose(calendar="jalali")
    assert picked.choice.month == "1405-07"
    picked.choose(month="oct 2026")
    assert (picked.choice.month, picked.choice.calendar) == ("2026-10", "gregorian")


def test_days_of_a_jalali_month_stand_in_both_calendars(picked):
    """1 Mehr 1405 was 23 September 2026; a Gregorian month has Gregorian days alone."""
    days = svc.search(picked, "daily", only=["day"])
    assert "(20" not in repr(days)
    picked.choose(month="mehr 1405", zone="Asia/Tehran")
    assert "1405-07-01 (23 Sep 2026)" in repr(days) and "1405-07-22 (14 Oct 2026)" in repr(days)
    assert "1 Mehr 1405 00:00 to 1 Aban 1405 00:00, Asia/Tehran" in repr(picked)


def test_what_goes_wrong_is_one_line_above_the_last_good_tables(picked, made):
    """The heading names the mistake; each table says of which month and zone it is."""
    live, output = svc.show(picked), Output()
    picked.follow(live, output)
    widgets = Pickers(picked)
    widgets.zone.value = "Mars/Base"
    told = "no time zone 'Mars/Base': use an IANA name such as UTC or Asia/Tehran"
    making, shown = output.texts
    assert making.startswith("making the statement of ") and f"{made.period.label}, UTC" in shown
    assert told in repr(picked) and told not in shown
    widgets.zone.value = "UTC"
    assert told not in repr(picked)
    assert made.period.label in output.texts[-1]


def test_a_cell_that_fails_leaves_the_others(picked, made):
    """One line in its place; what is wrong at first is raised in the cell."""

    def only(st: svc.Statement, coin: str | None) -> str:
        if st.period.label != made.period.label:
            raise LakeError("it is torn")
        return "whole"

    first, second = picked.show(only), svc.show(picked)
    picked.choose(month=before(made))
    assert repr(first) == "it is torn" and before(made) in repr(second)
    with pytest.raises(LakeError, match="torn"):
        picked.show(only)


def test_a_cell_that_runs_again_is_updated_once(picked, made, monkeypatch):
    """Its earlier output is gone; two outputs of one run both stay."""
    first, second, third = Output(), Output(), Output()
    for run, output in enumerate([first, second, third]):
        cell = ("cell", min(run, 1))
        monkeypatch.setattr("svc_analytics.notebook.picked.running_cell", lambda cell=cell: cell)
        picked.follow(svc.show(picked), output)
    picked.choose(coin="usdt")
    assert [len(output.texts) for output in (first, second, third)] == [0, 1, 1]


def test_checks_compare_to_the_last_digit(picked):
    """A column, a sum of figures, a count of rows; a wrong claim names both values."""
    agreed = picked.check(
        net_sales="daily.net_sales",
        closing_position=["opening_position", "rail_movement"],
        payments_count="receipts",
    )
    count = 3 * len(picked.coins[1:])
    assert repr(agreed) == f"{count} totals added up again: all agree"
    with pytest.raises(AssertionError, match=r"net_sales of btc is .*, but lines.net adds up to"):
        picked.check(net_sales="lines.net")


def test_a_wrong_table_lists_the_right_ones(picked):
    """One line that names the next step."""
    with pytest.raises(ConfigError, match="no table 'days': choose summary, "):
        svc.search(picked, "days")


@pytest.mark.parametrize("parts", PARTS)
def test_parts_below_the_pickers_are_of_one_coin(lake, made, parts):
    """As `svc.pick(lake, st, "fees")` has always shown them."""
    picked = svc.pick(lake, made, parts)
    widgets = Pickers(picked)
    assert widgets.coin.options == tuple(made.summary["currency"])
    shown = picked._repr_html_()
    widgets.coin.value = "usdt"
    assert picked._repr_html_() != shown and "usdt" in picked._repr_html_()


def test_wrong_parts_list_the_right_ones(lake, made):
    """One line that names the next step."""
    with pytest.raises(ConfigError, match="choose one of settlement, fees, position"):
        svc.pick(lake, made, "profit")


def test_a_pick_begins_with_a_month_a_statement_or_the_last_full_month(lake, made):
    """A statement alone brings its settlement, as it always did."""
    assert svc.pick(lake).statement.period == made.period
    assert svc.pick(lake, "1405-07", calendar="jalali").choice.calendar == "jalali"
    assert "by day, " in repr(svc.pick(lake, made))
    assert "by day, " in repr(svc.pick(lake, month=before(made)))
    heading = repr(svc.pick(lake, before(made))).splitlines()
    assert heading[0].startswith(made.period.shift(-1).title)
    assert heading[1].startswith(made.period.shift(-1).local_bounds)
    assert heading[2].startswith("September 2026 is over and complete.")


def test_what_is_not_known_stands_open_and_what_a_seal_rests_on_is_folded(made):
    """A reader who opens nothing sees each reason, and why a figure is a dash."""
    told, because = (
        "payments before 2026-10-01 were not read",
        Message("reason.still_changes", count=3),
    )
    lacking = Unknown(("net_sales",), ("btc",), told)
    shown = heading(replace(made, unknown=(lacking,), reasons=(Reason(because),)))
    folded, _, opened = shown._repr_html_().partition("</details>")
    assert "payments before 1 Oct 2026 were not read" in opened and str(because) in opened
    assert "were not read" not in folded
    assert "</details>" in heading(made)._repr_html_() and not heading(made).parts[1]


def test_without_widgets_the_heading_stands_alone(picked, monkeypatch):
    """ipywidgets is an extra: without it, everything else is shown."""
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    assert pickers.widgets_of(picked) is None


def _outputs(notebook: Any) -> Iterator[str]:
    """Yield the texts of each cell that shows something."""
    for cell in notebook.cells:
        if cell.get("outputs"):
            yield "".join(str(output.get("data", output)) for output in cell.outputs)


@pytest.mark.thorough
@pytest.mark.parametrize("number", ["02", "03", "04", "05", "06"])
def test_a_pick_in_a_running_notebook_changes_every_cell(number, lake, made, tmp_path):
    """In a real kernel: what was saved is of the new month, and of one coin.

    Notebook 02 is picked from in JupyterLab too, by `test_lab`.
    """
    (path,) = FOLDER.glob(f"{number}-*.ipynb")
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    pick = f'picked._widgets.month.value = "{before(made)}"; picked._widgets.coin.value = "usdt"'
    notebook.cells.append(nbformat.v4.new_code_cell(pick))  # type: ignore[no-untyped-call]
    changed = tmp_path / path.name
    nbformat.write(notebook, changed)  # type: ignore[no-untyped-call]
    texts = list(_outputs(runner.run_notebook(changed, {"DATA_DIR": str(lake.path)})))
    assert made.period.shift(-1).title in texts[0]
    assert not [text for text in texts if f"{made.period.label}, UTC" in text]
    assert "all agree" in texts[-1]
    assert len([text for text in texts if f"{before(made)}, UTC" in text]) >= 2
