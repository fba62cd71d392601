"""A row of tokens as every form of file yields it, and the refusals that all of them share."""

from svc_analytics.errors import ConfigError

NAMES = ("receipt", "receipt_token", "token")  # of a column or member that holds tokens

Cells = tuple[str | None, ...]
# The number of a line from 1, its token if there is one, and the cells of columns to keep.
Row = tuple[int, str | None, Cells]


def require_one(names: list[str], source: str) -> None:
    """Refuse to choose among several columns of tokens."""
    if len(names) > 1:
        shown = ", ".join(names[:10])[:200]
        raise ConfigError(f"{source} has receipt tokens in {shown}: name one with --column")


def require_unique(names: list[str], name: str, source: str) -> str:
    """Return the name of a column; refuse one that two columns have."""
    if names.count(name) > 1:
        message = f"{source} has {names.count(name)} columns named {name!r}"
        raise ConfigError(f"{message}: give one another name, and name it with --column")
    return name


def holds_none(source: str, why: str = "") -> ConfigError:
    """Return the refusal of a file without a token."""
    what = "give a table, a list or a text of them (v1.…), or name their column with --column"
    return ConfigError(f"{source} holds no receipt tokens{why}: {what}")
