"""Pieces of the text of a query: steps, lists of columns, quoted texts."""

from collections.abc import Iterable


def step(name: str, sql: str) -> str:
    """Return a step of a query, as WITH takes it."""
    return f"{name} as (\n    {indented(sql)}\n)"


def lines(texts: Iterable[str], separator: str, indent: int) -> str:
    """Return texts a line each, indented but for the first."""
    return (separator + "\n" + " " * indent).join(texts)


def commented(columns: list[tuple[str, str]]) -> str:
    """Return the columns of a select, one a line, each with its meaning behind it."""
    texts = [f"{sql},  -- {meaning}" for sql, meaning in columns[:-1]]
    return lines([*texts, "{}  -- {}".format(*columns[-1])], "", 4)


def indented(sql: str) -> str:
    """Return lines of which all but the first are indented."""
    return sql.replace("\n", "\n    ")


def quote(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
