"""Cells stopped in the middle, in a real kernel: the lake stays sound, and one line says so."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from svc_analytics.demo import FILLED, FILLING, finish_filling
from svc_analytics.instants import to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.errors import INTERRUPTED
from svc_analytics.sandbox import Quirks, Running, Service, serve
from tests.support.sandboxes import NOW, check_all, check_claims, stocked

# This machine's clock is the service's.
AGREE = f"""
from svc_analytics.extraction import clock
clock.machine_clock = lambda: {to_micros(NOW)}
"""
PATIENCE, TRIES = 120, 8  # seconds, on a slow machine
REST = "import time; time.sleep(0.1)"
# Publishes after every page, so that most interruptions fall near or into a publication.
OPENING = """
import svc_analytics as svc
from svc_analytics.extraction import workers
workers.BUFFER_LIMIT = 1
svc.notebook_errors()
lake = svc.open_lake({folder!r})
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with stocked(5, 3, 400, Quirks(page_size=25)) as service:
        yield service


@pytest.fixture(scope="module")
def running(service) -> Iterator[Running]:
    with serve(service) as running:
        yield running


@dataclass
class Kernel:
    """A kernel as JupyterLab drives it."""

    manager: KernelManager
    client: BlockingKernelClient

    def run(self, code: str, stop_after: float | None = None) -> dict[str, Any]:
        """Run a cell, stopped after so many seconds; return what the kernel answered.

        If the stop meets the kernel itself, before the cell or behind it, the kernel forgets to
        answer, and goes on with what it is asked next: then the cell is run again.
        """
        sent = self.client.execute(code, stop_on_error=False)
        try:
            return self._reply({sent}, stop_after)[1]
        except Empty:
            self.manager.interrupt_kernel()
        asked = {sent}
        for _ in range(TRIES):  # what it is asked next it may forget too
            asked.add(self.client.execute(REST, stop_on_error=False))
            with suppress(Empty):
                answered, content = self._reply(asked, PATIENCE / TRIES)
                if answered != sent:
                    return self.run(code, stop_after)
                with suppress(Empty):  # a stop that comes late meets the rest, not the next cell
                    self._reply(asked - {sent}, PATIENCE / TRIES)
                return content
        raise TimeoutError(code)

    def _reply(self, sent: set[str], timeout: float | None) -> tuple[str, dict[str, Any]]:
        """Return the first answer to one of these cells, and to which."""
        while True:
            found = self.client.get_shell_msg(timeout=timeout or PATIENCE)
            answered = found["parent_header"].get("msg_id")
            if answered in sent:
                return answered, found["content"]


@pytest.fixture
def kernel(running, tmp_path) -> Iterator[Kernel]:
    manager = KernelManager(kernel_name="python3")
    environment = os.environ | running.environment | {"IPYTHONDIR": str(tmp_path / "ipython")}
    manager.start_kernel(env=environment, extra_arguments=["--IPKernelApp.log_level=40"])
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    yield Kernel(manager, client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_an_interrupted_extraction_leaves_the_lake_sound(kernel, service, tmp_path):
    """It claims only what it holds, tells one line, and the next run completes it."""
    chance, folder = random.Random(6), tmp_path / "lake"
    done = kernel.run(AGREE + OPENING.format(folder=str(folder)))
    while done["status"] == "ok":
        shutil.rmtree(folder, ignore_errors=True)  # it was done before: begin again
        done = kernel.run("svc.extract(lake)", stop_after=chance.uniform(0.02, 0.4))
    assert done["traceback"] == [INTERRUPTED], "\n".join(done["traceback"])
    check_claims(Lake(folder), service)
    done = kernel.run("svc.extract(lake)")
    assert done["status"] == "ok", done
    check_all(Lake(folder), service)


@pytest.mark.thorough
def test_an_interrupted_demo_leaves_nothing_behind(kernel, tmp_path):
    """Not half a lake that would be taken for a whole one; the folder is as it was."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / ".gitignore").write_text("*\n")
    kernel.run(OPENING.format(folder=str(folder)))
    kernel.run("import svc_analytics.sandbox.server")  # pydantic has its own word for a stop
    for seconds in (0.6, 1.7):  # it takes longer than that
        demo = f"svc.demo_lake({str(folder)!r}, months=2, payments=6_000)"
        t = kernel.run(demo, stop_after=seconds)["traceback"]
        assert t == [INTERRUPTED], "\n".join(t)
        left = {path.name for path in folder.iterdir()} - {".demo.lock"}  # if it came so far
        assert left == {".gitignore"}


def test_a_demo_cut_off_while_it_moved_in_is_completed(running, service, lake):
    """Filled beside and half moved when the power failed: whoever comes next goes on."""
    from svc_analytics.config import read_settings
    from svc_analytics.extraction.update import extract

    beside = Lakehouse(lake.path / FILLING)
    extract(beside, read_settings(beside.path, environ=running.environment, folder=Path("/")))
    beside.path.rename(lake.path / FILLED)
    (lake.path / FILLED / "payments").rename(lake.path / "payments")
    assert not lake.exists
    finish_filling(lake)
    assert lake.exists and not (lake.path / FILLED).exists()
    check_all(lake, service)
