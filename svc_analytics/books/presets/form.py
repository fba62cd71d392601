"""How a text must be that a system takes: as an expression, and in words with an example."""

import re
from dataclasses import dataclass

_LONGEST = 60


@dataclass(frozen=True)
class CodeForm:
    """The form of an account, a tax code or a setting."""

    pattern: str
    words: str
    example: str

    def refusal(self, text: str) -> str:
        """Say why a text is not of the form, and how to write it; empty where it is.

        >>> CodeForm("[A-Z]{1,3}", "1 to 3 capital letters", "SVC").refusal("a  b")
        "cannot be 'a␣␣b': write 1 to 3 capital letters, as SVC"
        """
        if re.fullmatch(self.pattern, text):
            return ""
        return f"cannot be '{shown(text)}': write {self.words}, as {self.example}"


def shown(text: str) -> str:
    """Return a text in which unseen signs, and blanks side by side or at an end, can be seen."""
    visible = "".join(sign if sign.isprintable() else f"[U+{ord(sign):04X}]" for sign in text)
    cut = visible if len(visible) <= _LONGEST else f"{visible[:_LONGEST]}…"
    return re.sub("^ +| {2,}| +$", lambda blanks: "␣" * len(blanks[0]), cut)


ANY_FILE = CodeForm(".+", "any name", "books.txt")
CSV_FILE = CodeForm(r"(?i).+\.csv", "a name that ends in .csv", "books.csv")


def at_most(count: int, example: str) -> CodeForm:
    """Return the form of a text that is free but for its length."""
    return CodeForm(f".{{1,{count}}}", f"at most {count} signs", example)
