"""The Merchant Payments API itself as a local service: seeded, deterministic, no key needed.

Beside the API it serves `/control` (`control.py`: clock, faults, console actions as
JSON), a console page at `/console`, the widget at each session's `checkout_url`, and
the script `/embed.js` that leads to it (`embed.py`).
Where the contract says "not shown", the module of that resource says what we chose, and
`svc_analytics/sandbox/README.md` lists all of it.

It stands on the ground floor only and shares no code with the client it serves, so
that a rule misread on one side does not agree with itself on the other. Public names
load when used: importing this package loads no web framework.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Account": "state.account",
    "Clock": "core.clock",
    "Console": "resources.console",
    "Quirks": "core.behaviour",
    "Refusal": "core.errors",
    "Running": "server",
    "Scenario": "past.scenario",
    "Service": "resources.service",
    "Store": "state.store",
    "create_app": "http.app",
    "seed": "resources.seed",
    "serve": "server",
    "write_env_file": "server",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
