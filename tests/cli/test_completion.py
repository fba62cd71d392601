"""Behind Tab a shell offers what there is: figures, months of the lake, notebooks."""

import pytest
from click.shell_completion import ShellComplete

from svc_analytics.cli.app import cli
from tests.support.desks import Desk


def offered(*words: str, begun: str = "") -> list[str]:
    """What a shell offers behind these words of a command line."""
    complete = ShellComplete(cli, {}, "svc-analytics", "_SVC_ANALYTICS_COMPLETE")
    return [item.value for item in complete.get_completions(list(words), begun)]


def test_figures_are_offered_to_explain() -> None:
    """By how their names begin."""
    assert offered("statement", "--explain", begun="net_") == ["net_sales", "net_settlement"]


def test_months_of_the_lake_are_offered(desk: Desk) -> None:
    """Newest first; of a folder without a lake none, and no error."""
    desk.extract()
    lake = ["--data-dir", str(desk.lake.path)]
    assert offered("statement", *lake, "--month")[0] == "2026-11"
    assert offered("statement", "--data-dir", "none", "--month") == []


@pytest.mark.parametrize("begun", ["02", "02-st"])
def test_notebooks_are_offered(begun: str) -> None:
    """By number or name."""
    assert offered("notebook", begun=begun) == ["02-statement"]
