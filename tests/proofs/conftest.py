"""The desk at which months are closed, and the key that this machine signs with."""

from pathlib import Path

import pytest

from tests.closing.conftest import closer
from tests.support.packages import Strange, packed_month
from tests.support.signers import StampAuthority, make_key

__all__ = ["closer"]


@pytest.fixture
def key(tmp_path, monkeypatch) -> Path:
    """A key of its own, which the settings name and no agent holds."""
    key = make_key(tmp_path, "own")
    monkeypatch.setenv("SVC_SIGNING_KEY", str(key))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return key


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> StampAuthority:
    return StampAuthority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Strange:
    return packed_month(tmp_path_factory)
