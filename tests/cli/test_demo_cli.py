"""After `demo`: what it suggests works in its folder, and needs no key from anywhere."""

from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.server import serve


@pytest.mark.thorough
def test_the_demos_merchant_can_be_served_again(run, monkeypatch):
    """With the options that are printed: the same keys, secrets and records as in the lake."""
    out = run("demo", "--months", "2", "--payments", "300").out
    assert "svc-analytics sandbox serve --env-file .env --months 2 --payments 300\n" in out
    tokens = svc.open_lake("data").sql("select receipt from payments limit 3")["receipt"]
    Path("box.csv").write_text("receipt\n" + "\n".join(tokens) + "\n")
    assert run("receipts", "verify", "box.csv").code == 2
    clock = Clock()
    with Store() as store:
        seed(store, Scenario(7, 2, 300, until=clock.now()))
        with serve(Service(store, clock)) as running:
            for name, value in running.environment.items():
                monkeypatch.setenv(name, value)
            verified = run("receipts", "verify", "box.csv")
            assert verified.code == 0 and "3 of them proven" in verified.err
            assert run("extract").code == 0 and run("close", "--last-month").code in (0, 1)
