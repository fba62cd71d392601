"""Show a function's options in its signature, as `help` does: for the site's reference."""

import inspect
from importlib import import_module
from typing import Any

import griffe


class Options(griffe.Extension):
    """Replaces `**options: Unpack[...]` by the options and their defaults."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Take the parameters of a function with options from the function itself."""
        last = [*func.parameters][-1:]
        if not last or "Unpack[" not in str(last[0].annotation):
            return
        del func.parameters[last[0].name]
        module, _, name = func.path.rpartition(".")
        for each in inspect.signature(getattr(import_module(module), name)).parameters.values():
            if each.kind is each.KEYWORD_ONLY:
                kind = griffe.ParameterKind.keyword_only
                default = "..." if callable(each.default) else repr(each.default)
                func.parameters.add(griffe.Parameter(each.name, kind=kind, default=default))
