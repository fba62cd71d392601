"""`svc-analytics lab`, begun and ended by tests."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PATIENCE = 120  # seconds, on a slow machine


@contextmanager
def served_lab(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], notebook: str
) -> Iterator[str]:
    """Run the command in a folder until the block ends; yield where a notebook is open in it."""
    words = [*command, "--no-browser", "--allow-root", "--ServerApp.port=0"]
    with (folder / "lab.log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            server = _server(Path(environment["JUPYTER_RUNTIME_DIR"]), process)
            yield f"{server['url']}lab/tree/{notebook}?token={server['token']}&reset"
        except TimeoutError:
            pytest.fail(f"JupyterLab did not start: {Path(log.name).read_text()[-2000:]}")
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _server(runtime: Path, process: "subprocess.Popen[bytes]") -> dict[str, str]:
    """Wait for the server; return what it says of itself."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with suppress(ValueError):
                server: dict[str, str] = json.loads(file.read_text())
                return server
        time.sleep(0.1)
    raise TimeoutError
