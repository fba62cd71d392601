"""`extract --dry-run` and `close --dry-run`: they say what would be done, and do none of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.closings import Closer
from tests.support.desks import Run, machine_clock_at
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, NOW, PAYOUT_KEY


@pytest.fixture
def closer(desk) -> Closer:
    """A desk that has sealed August, of a service with records of three months."""
    found = Closer(desk)
    found.serve()
    found.sealed("2026-08")
    return found


@pytest.fixture
def run(run, closer, monkeypatch) -> Iterator[Run]:
    """Commands on the desk's lake, with the settings of a service that is not there."""
    settings = {"BASE_URL": BASE_URL, "CHECKOUT_KEY": CHECKOUT_KEY, "PAYOUT_KEY": PAYOUT_KEY}
    for name, value in (settings | {"DATA_DIR": str(closer.desk.lake.path)}).items():
        monkeypatch.setenv(f"SVC_{name}", value)
    with machine_clock_at(NOW):
        yield run


def lake_bytes(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder with its content and the time of it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    "words",
    [["extract"], ["extract", "--reread"], ["close", "--all-due", "--years"], ["close", "2026-10"]],
    ids=" ".join,
)
def test_a_dry_run_changes_no_byte_of_a_lake_and_asks_nothing(closer, run, words):
    """Each file is as it was, to its time, and no other one came; nobody is there to be asked."""
    before = lake_bytes(closer.desk.lake.path)
    asked = len(closer.desk.service.requests)
    done = run(*words, "--dry-run", "--patience", "1")
    assert done.code == 0 and "nothing was asked or written" in done.out and done.err == ""
    assert lake_bytes(closer.desk.lake.path) == before
    assert len(closer.desk.service.requests) == asked


def test_a_dry_run_of_extract_names_the_time_and_the_files(run):
    """The newest day again, and what came since."""
    document = json.loads(run("extract", "--dry-run", "--json").out)
    payments, payouts = document["streams"]
    assert payments["files"] == ["payments/2026-11.parquet"] and len(payments["spans"]) == 1
    assert payments["spans"][0][1] == "2026-11-20T12:00:00Z"
    assert payouts["files"] == ["payout_records/2026-11.parquet"]
    assert document["calls"] == 4  # one for each key, one for each list


def test_a_dry_run_without_a_lake_reads_all_and_begins_none(run, tmp_path):
    place = tmp_path / "none"
    done = run("close", "--all-due", "--dry-run", "--data-dir", str(place))
    assert done.code == 0 and "no month would be closed" in done.out
    assert "payments would be read: the beginning" in done.out and not place.exists()


def test_a_dry_run_of_close_names_what_is_sealed_and_what_would_be(closer, run):
    """A sealed month is compared; the others are read twice."""
    document = json.loads(run("close", "--all-due", "--dry-run", "--json").out)
    does = {month["label"]: month["does"] for month in document["months"]}
    assert does == {"2026-08": "compare", "2026-09": "seal", "2026-10": "seal"}
    folders = [Path(month["folder"]).name for month in document["months"]]
    assert folders == ["2026-08", "2026-09", "2026-10"] and document["calls"] == 4 + 2 * 2 * 2


def test_a_dry_run_refuses_what_the_command_refuses(run, monkeypatch):
    """A month that is not over is no plan, and neither is one without a key."""
    assert run("close", "2026-11", "--dry-run").code == 1
    monkeypatch.delenv("SVC_PAYOUT_KEY")
    assert run("extract", "--stream", "payout_records", "--dry-run").code == 2
    assert (
        "payout_records would not be read: it needs a payout-class"
        in run("extract", "--dry-run").out
    )
