"""The desk at which months are closed."""

from tests.closing.conftest import closer

__all__ = ["closer"]
