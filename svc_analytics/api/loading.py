"""Loading of the client without `rich`: httpx loads what its own command would print with."""

import gc
import sys

from svc_analytics.lake.loading import without

_RICH = "rich"


def load_client() -> None:
    """Load the client of the service while httpx finds no `rich`, unless either is loaded."""
    if {"httpx", _RICH} & sys.modules.keys():
        return
    with without(_RICH):
        import svc_analytics.api.client  # noqa: F401
    gc.freeze()
