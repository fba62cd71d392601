"""The lake that months are booked from."""

import shutil
from pathlib import Path

import pytest

from svc_analytics.books.accounts import starter
from tests.support.prepared import keep_readings
from tests.support.sealed_months import make


@pytest.fixture(scope="session")
def sealed_lake(tmp_path_factory) -> Path:
    """Two sealed months, in CSV alone: a page is drawn again whenever its seal is proven."""
    folder = tmp_path_factory.mktemp("sealed") / "data"
    with pytest.MonkeyPatch.context() as patch:
        keep_readings(patch)
        make(folder, ("csv",))
    return folder


@pytest.fixture
def books_lake(sealed_lake, tmp_path) -> Path:
    """A lake with two sealed months and a chart of accounts, in the working folder."""
    shutil.copytree(sealed_lake, tmp_path / "data")
    (tmp_path / "data" / "books.toml").write_text(starter(), encoding="utf-8")
    return tmp_path / "data"
