"""One thing that the doctor looked at."""

from dataclasses import dataclass
from typing import Literal

State = Literal["well", "note", "wrong"]


@dataclass(frozen=True)
class Point:
    """One thing that was looked at: well, a note, or wrong, with the next step."""

    name: str
    state: State
    text: str
    next_step: str = ""
