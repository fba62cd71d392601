"""Processes that benchmarks begin: each finds bytecode, as users' do, whoever begins it."""

import atexit
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@cache
def bytecode() -> str:
    """Return a folder with the bytecode of the package, for as long as this process runs."""
    folder = tempfile.mkdtemp(prefix="bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compiling = [sys.executable, "-m", "compileall", "-q", "svc_analytics"]
    subprocess.run(compiling, env=_with_bytecode(folder), cwd=ROOT, check=True)
    return folder


def environment() -> dict[str, str]:
    """Return variables for a command: it finds its own cache, and nothing of the user's."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("SVC_")}
    places = {"SVC_CACHE_DIR": f"{bytecode()}/cache", "SVC_STATE_DIR": f"{bytecode()}/state"}
    return _with_bytecode(bytecode(), own) | places


def _with_bytecode(folder: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    own = {name: text for name, text in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {"PYTHONPYCACHEPREFIX": folder}


def in_child(work: Callable[..., Any], *arguments: object) -> Any:
    """Return what work returns in a process of its own."""
    context, folder = get_context("spawn"), bytecode()
    with ProcessPoolExecutor(1, context, _find_bytecode, (folder,)) as process:
        return process.submit(work, *arguments).result()


def _find_bytecode(folder: str) -> None:
    # Not by its environment alone: it is begun with the options of this process.
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder


def times_of_command(
    words: list[str],
    environ: Mapping[str, str],
    python: str = sys.executable,
    folder: Path = ROOT,
) -> tuple[float, float]:
    """Return how long a command of Python takes, and its processor time, its children counted.

    It runs in a folder; an older release runs by the Python of its own environment, elsewhere.
    """
    began, before = time.perf_counter(), _of_children()
    run = [python, "-m", *words]
    done = subprocess.run(run, env=environ, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: a person should look
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - began, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
