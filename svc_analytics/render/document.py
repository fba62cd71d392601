"""The statement as renderers see it: its tables, period and manifest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from svc_analytics.periods import Period


@dataclass(frozen=True)
class Reason:
    """Why a statement is provisional; `is_unfinished` while its month is still running."""

    text: str
    is_unfinished: bool = False


class Document(Protocol):
    """A statement as renderers see it."""

    @property
    def period(self) -> Period: ...

    @property
    def merchant(self) -> dict[str, Any]: ...

    @property
    def status(self) -> str: ...

    @property
    def reasons(self) -> Sequence[Reason]: ...

    @property
    def as_of(self) -> int: ...

    @property
    def tables(self) -> dict[str, pa.Table]: ...

    @property
    def options(self) -> dict[str, Any]: ...

    def manifest(self, files: dict[str, dict[str, Any]]) -> dict[str, Any]: ...
