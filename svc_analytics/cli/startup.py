"""Loading of the client without `pygments`: httpx loads what its own command prints with."""

import gc
import sys

from svc_analytics.lake.loading import without

_PRINTER = "pygments"


def load_client() -> None:
    """Load the client of the service while httpx finds no `pygments`, unless either is loaded."""
    if {"httpx", _PRINTER} & sys.modules.keys():
        return
    with without(_PRINTER):
        import svc_analytics.api.client  # noqa: F401
    gc.freeze()
