"""Numbers, ids and foreign words within Persian: isolated, so that no sign changes sides.

In plain texts the isolates are characters of Unicode that are not seen: from U+2066 or U+2067
up to U+2069. A page turns them into elements.
"""

LEFT_TO_RIGHT, RIGHT_TO_LEFT, END = "\u2066", "\u2067", "\u2069"


def isolate(text: str) -> str:
    """Return a number, an id or a word of another script, isolated within Persian."""
    return f"{LEFT_TO_RIGHT}{text}{END}" if text else ""


def isolate_right_to_left(text: str) -> str:
    """Return a Persian text isolated within a line that runs from left to right."""
    return f"{RIGHT_TO_LEFT}{text}{END}"


def without_marks(text: str) -> str:
    """Return a text as it is read, without the characters that isolate its parts."""
    return text.translate(dict.fromkeys(map(ord, (LEFT_TO_RIGHT, RIGHT_TO_LEFT, END))))
