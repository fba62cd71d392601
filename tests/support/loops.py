"""Event loops apart: a browser that other tests opened keeps one running in the tests' thread."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class LoopApart:
    """Runs coroutines, one after another, by a loop in a thread of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what a coroutine returns."""
        return self._thread.submit(self._runner.run, work).result()

    def close(self) -> None:
        """End the loop and its thread."""
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    def __enter__(self) -> "LoopApart":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
