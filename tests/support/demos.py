"""The demo's lake: made once for all processes of a run, and copied to where it is wanted."""

import os
import shutil

import pytest
from filelock import FileLock

import svc_analytics as svc
from svc_analytics.lakehouse import Lakehouse


def demo_copy(factory: pytest.TempPathFactory) -> Lakehouse:
    """Return a lake of about 120 payments of three months, with verified receipts."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made = shared / "demo-lake" / "data"
    with FileLock(shared / "demo-lake.lock"):
        if not made.exists():
            svc.demo_lake(made, months=3, payments=120)
    place = factory.mktemp("desk") / "data"
    shutil.copytree(made, place)
    return Lakehouse(place)
