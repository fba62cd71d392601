"""Run the Merchant Payments API on this machine: seeded, repeatable, no key.

It serves the API, the control API under `/control` (`console.py`), the business
console at `/console`, the checkout widget at each session's `checkout_url` and the script
`/embed.js` (`templates/`). Where the contract says "not shown", the README of this package
says what we chose.

The sandbox shares no code with the client it serves. If both used the same function, a
misread rule would look right on both sides. So some small rules exist twice on purpose:
what a loopback host is, how amounts are rounded, how a file is written in one step. Shared
are only the contract's vocabulary (schema, amount pattern, instants) and the signing rules.

Public names load on first use: importing this package loads no web framework.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Account": "account",
    "Behaviour": "behaviour",
    "Clock": "clock",
    "Console": "console",
    "Quirks": "behaviour",  # the older name of Behaviour
    "Refusal": "validation",
    "Running": "server",
    "Scenario": "scenario",
    "Service": "service",
    "Store": "store",
    "create_app": "app",
    "seed": "platform",
    "serve": "server",
    "write_env_file": "server",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
