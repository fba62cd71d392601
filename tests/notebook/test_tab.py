"""What Tab offers in a notebook, asked of a real kernel, with and without jedi."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

import svc_analytics as svc
from svc_analytics.lakehouse import _INNER
from svc_analytics.statements.statement import Statement
from tests.support.rings import rings

PATIENCE = 120  # seconds, on a slow machine


@pytest.fixture(scope="module", params=rings([True], [True, False]), ids=str)
def kernel(request) -> Iterator[Any]:
    words = [f"--IPCompleter.use_jedi={request.param}", "--IPKernelApp.log_level=40"]
    manager, client = start_new_kernel(
        kernel_name="python3", startup_timeout=PATIENCE, extra_arguments=words
    )
    client.has_jedi = request.param
    client.execute_interactive("import svc_analytics as svc\nlake = svc.open_lake('data')")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def tab(client: Any, code: str) -> set[str]:
    """What the kernel offers behind a text, without what stands before the point."""
    asked = client.complete(code, len(code))
    while True:
        answer = client.get_shell_msg(timeout=PATIENCE)
        if answer["parent_header"].get("msg_id") == asked:
            return {found.rpartition(".")[2] for found in answer["content"]["matches"]}


def test_tab_offers_exactly_the_public_names(kernel):
    """And the charts that `draw` takes: no module, no name of how they are made."""
    assert tab(kernel, "svc.") == {*svc.__all__, "charts"}
    assert {"statement", "Statement"} & tab(kernel, "svc.st") == {"statement"}


def test_tab_on_a_lake_offers_what_a_person_does_with_it(kernel):
    """Queries, figures, views, whose it is; not how its files are kept.

    Without jedi, IPython adds the names of the class, whatever an object says.
    """
    wanted = {"engine", "exists", "explain", "merchant", "merchant_id", "path", "place"}
    wanted |= {"sql", "views"}
    offered = tab(kernel, "lake.")
    of_the_class = _INNER & {*dir(svc.Lakehouse)}
    assert offered == (wanted if kernel.has_jedi else wanted | of_the_class)


def test_a_near_miss_is_named():
    """In a word: what was meant."""
    with pytest.raises(AttributeError, match="did you mean 'statement'"):
        _ = svc.statment
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = svc.zzz


def test_charts_are_there_without_an_import_of_their_own():
    """As the notebooks use them."""
    assert svc.charts.position.__name__ == "position" and "charts" in dir(svc)


def test_tab_on_a_statement_hides_what_seals_are_made_of():
    """Its tables, its status and `save` stay."""
    offered = set(dir(object.__new__(Statement)))
    assert {"summary", "lines", "daily", "figures", "checks", "status", "save"} <= offered
    assert not {"manifest", "content_digest", "controls"} & offered


def test_a_kernel_of_a_clone_finds_the_package():
    """The names asked for are those of this project, not of another one that is installed."""
    assert Path(svc.__file__).parents[1] == Path(__file__).parents[2]
