"""The folder of month files: what any reader finds in it, and what a writer never does."""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import replacing_folder, restore_folders
from svc_analytics.instants import parse_instant
from svc_analytics.lake import month_file
from svc_analytics.lake.control_totals import control_totals
from svc_analytics.lake.coverage_footer import MonthFileFooter, read_footer
from svc_analytics.lake.lake import Lake, write_description
from svc_analytics.lake.layout import LAYOUT, tool_version
from svc_analytics.lake.month_file import ROW_GROUP, rewrite_month_file
from svc_analytics.lake.status import lake_status
from svc_analytics.lake.writing import writer
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.schema import MONEY, PAYMENTS, PAYOUT_RECORDS
from tests.support.altered import flip
from tests.support.desks import Desk
from tests.support.fake_service import MERCHANT_ID, ids, payment, spread
from tests.support.prepared import extracted
from tests.support.views import views

PROFILE = {"id": MERCHANT_ID}
USDT = ("usdt", "payment", "completed")


@pytest.fixture
def filled(desk) -> Desk:
    """A lake with three months of payments."""
    start = datetime(2026, 8, 25, tzinfo=UTC)
    desk.service.payments = spread(200, start, timedelta(hours=9))
    return extracted(desk)


def group_sizes(desk: Desk) -> list[int]:
    """The rows of each row group of October."""
    metadata = pq.read_metadata(desk.lake.month_path(PAYMENTS, "2026-10"))
    return [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]


def content(lake: Lake) -> dict[str, bytes]:
    files = [path for path in lake.path.rglob("*.parquet") if path.is_file()]
    return {str(path.relative_to(lake.path)): path.read_bytes() for path in files}


def test_any_tool_reads_one_row_per_payment(filled):
    """DuckDB, pandas and pyarrow read the folder right with no help from us."""
    folder = filled.lake.folder(PAYMENTS)
    expected = ids(filled.service.payments)
    with duckdb.connect() as connection:
        rows = connection.execute(f"select id from read_parquet('{folder}/*.parquet')").fetchall()
    assert sorted(row[0] for row in rows) == expected
    assert sorted(pd.read_parquet(folder)["id"]) == expected
    assert sorted(pq.read_table(folder)["id"].to_pylist()) == expected


def test_a_month_file_is_as_documented(filled):
    """id first, decimals of 38 and 18, instants in UTC, sorted, contract names kept."""
    table = pq.read_table(filled.lake.month_path(PAYMENTS, "2026-10"))
    derived = ["usd_net", "usd_fee", "usd_rate", "fee_rate"]
    assert table.schema.names[0] == "id"
    assert table.schema.names[-6:] == ["extra", "extracted_at", *derived]
    assert table.schema.field("amount").type == MONEY
    keys = list(zip(table["paid_at"].to_pylist(), table["id"].to_pylist(), strict=True))
    assert keys == sorted(keys)


def test_a_footer_vouches_for_its_rows(filled):
    """Rows, digest of ids and totals per currency are those of the file."""
    path = filled.lake.month_path(PAYMENTS, "2026-10")
    footer, table = read_footer(path), pq.read_table(path)
    assert footer.totals == control_totals(PAYMENTS, table)
    assert footer.totals.sums[USDT]["amount"] == 10 * len(table)


def test_totals_pass_38_digits_without_wrapping(filled):
    """D2: a total that no single column could hold is still exact in a footer."""
    largest = "99999999999999999999.999999999999999999"
    filled.service.payments += [
        payment(n, "2026-10-05T00:00:00Z", largest, "0", net_amount=largest)
        for n in (901, 902, 903)
    ]
    filled.extract(rereads=True)
    total = filled.lake.footers(PAYMENTS)["2026-10"].totals.sums[USDT]["charged_amount"]
    assert str(total)[:21] == "300000000000000000" + str(total)[18:21]
    assert total > 3 * 10**20 - 1


def test_merging_in_small_steps_gives_the_file_of_one_step(filled, monkeypatch, tmp_path):
    """Row groups are filled up again however often a month is rewritten."""
    monkeypatch.setattr(month_file, "ROW_GROUP", 16)
    small = Desk(filled.service, filled.settings, Lakehouse(tmp_path / "steps"))
    for day in range(1, 28, 6):
        end = int(datetime(2026, 10, day, tzinfo=UTC).timestamp()) * 1_000_000
        small.extract(end=end)
    small.extract()
    assert small.ids() == filled.ids()
    assert set(group_sizes(small)[:-1]) == {16} and ROW_GROUP <= 50_000


def test_large_rows_make_small_row_groups(service, desk, monkeypatch):
    """H6: a month is merged group by group, so a group has few bytes, whatever its rows."""
    monkeypatch.setattr(month_file, "GROUP_BYTES", 100_000)
    service.payments = spread(60, datetime(2026, 10, 3, tzinfo=UTC), timedelta(hours=3))
    for record in service.payments[20:40]:
        record["metadata"] = {"note": "x" * 30_000}
    desk.extract()
    groups = pq.read_metadata(desk.lake.month_path(PAYMENTS, "2026-10"))
    sizes = [groups.row_group(n).num_rows for n in range(groups.num_row_groups)]
    assert sum(sizes) == 60 and len(sizes) > 6
    assert all(groups.row_group(n).total_byte_size < 150_000 for n in range(len(sizes)))
    assert desk.ids() == ids(service.payments)


def test_a_file_that_lists_no_shared_values_is_read(filled):
    """As that of a stream which was never read."""
    footer = read_footer(filled.lake.month_path(PAYMENTS, "2026-10"))
    document = json.loads(footer.to_json()) | {"shared": None}
    assert MonthFileFooter.from_json(json.dumps(document).encode()).shared == {}


@pytest.mark.parametrize(
    ("layout", "release", "said"),
    [
        (LAYOUT + 1, None, "newer svc-analytics"),
        (LAYOUT + 1, "3.4.0", r"newer svc-analytics, 3\.4\.0: install that release"),
        (1, None, "extract into a new folder"),
    ],
)
def test_another_layout_is_refused(filled, layout, release, said):
    """G4: an older tool does not guess at a newer lake; who wrote it last stands in lake.json."""
    document = json.loads((filled.lake.path / "lake.json").read_text(encoding="utf-8"))
    assert document.pop("tool_version") == tool_version() and document.pop("sha256")
    document |= {"layout": layout} | ({"tool_version": release} if release else {})
    write_description(filled.lake.storage, document)
    with pytest.raises(LakeError, match=said):
        _ = filled.lake.merchant_id


def test_a_snapshot_stands_still_while_months_are_replaced(filled):
    """E4: readers see one published state, which no writer removes while they live."""
    with filled.lake.snapshot() as folder:
        before = pq.read_table(folder / "payments" / "2026-11.pq")
        filled.service.payments.append(payment(900, "2026-11-20T11:00:00Z"))
        worker = threading.Thread(target=filled.extract)
        worker.start()
        worker.join()
        assert pq.read_table(folder / "payments" / "2026-11.pq").equals(before)
    assert not list(filled.lake.path.glob(".snapshot-*"))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_readers_snapshot_removed_as_it_begins_is_begun_again(filled, monkeypatch, moment):
    """E4: a folder that is not locked yet looks to a writer like a dead reader's."""
    moments = iter([moment])

    class RemovedOnce(FileLock):
        def acquire(self, *args: Any, **kwargs: Any) -> Any:
            removed, folder = next(moments, None), Path(self.lock_file).parent
            if removed == "before":
                shutil.rmtree(folder)
                raise FileNotFoundError(errno.ENOENT, "no such folder", self.lock_file)
            proxy = super().acquire(*args, **kwargs)
            if removed == "after":  # this lock was waited for while a writer held it
                shutil.rmtree(folder)
            return proxy

    monkeypatch.setattr("svc_analytics.files.FileLock", RemovedOnce)
    with filled.lake.snapshot() as folder:
        assert (folder / "lock").exists() and (folder / "payments" / "2026-10.pq").exists()
    assert not list(filled.lake.path.glob(".snapshot-*"))


def test_where_links_are_refused_files_are_copied(filled, monkeypatch):
    """G5: a file system without hard links costs time, not correctness."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr("svc_analytics.lake.lake.os.link", refuse)
    assert len(filled.lake.sql("from payments")) == 200


@pytest.mark.parametrize("name", ["a[b]", "what?", "all*", "back\\slash"])
def test_paths_that_read_as_patterns_are_refused(tmp_path, name):
    """G5: DuckDB would take them for patterns; better to say so."""
    with pytest.raises(ConfigError, match="pattern"):
        Lake(tmp_path / name)


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    """A file where the lake should be is named, and not touched."""
    (tmp_path / "data").write_text("a file")
    with (
        pytest.raises(LakeError, match="cannot write to"),
        open_writer(Lake(tmp_path / "data"), PROFILE, 0),
    ):
        pass
    assert (tmp_path / "data").read_text() == "a file"


def test_a_lake_can_be_moved(filled, tmp_path):
    """Nothing in the month files depends on where they lie."""
    moved = Lakehouse(shutil.move(filled.lake.path, tmp_path / "elsewhere"))
    assert len(moved.sql("from payments")) == 200


def test_a_lake_begun_by_another_merchant_meanwhile_is_refused(filled, monkeypatch):
    """The merchant is checked again once the lock is held, before anything is written."""
    checks = iter([None])
    real = writer.check_merchant
    monkeypatch.setattr(writer, "check_merchant", lambda *of: next(checks, None) or real(*of))
    (filled.lake.path / "lake.json").unlink()
    before = content(filled.lake)
    with (
        pytest.raises(LakeError, match="of another merchant"),
        open_writer(filled.lake, {"id": "another-merchant"}, 0),
    ):
        pass
    assert content(filled.lake) == before and not filled.lake.exists


@pytest.mark.parametrize("stream", [PAYMENTS, PAYOUT_RECORDS], ids=lambda one: one.name)
def test_each_column_of_a_month_file_says_what_it_means(filled, stream):
    """As a comment of its field, in the words of the views; the columns are as they were."""
    meant = {model.name: model.columns for model in views()}[stream.name]
    [path, *_] = filled.lake.folder(stream).glob("*.parquet")
    schema = pq.read_schema(path)
    assert schema.equals(stream.schema)
    for field in schema:
        name = f"{stream.name.split('_')[0].removesuffix('s')}_id" if field.name == "id" else ""
        assert field.metadata[b"comment"].decode() == meant[name or field.name]


def test_a_month_file_without_comments_is_read_and_rewritten(filled, monkeypatch):
    """An earlier release wrote none: nothing is damaged, and the records stay as they are."""
    path = filled.lake.month_path(PAYMENTS, "2026-10")
    before = filled.rows()
    with monkeypatch.context() as patch:
        patch.setitem(vars(PAYMENTS), "commented_schema", PAYMENTS.schema)
        rewrite_month_file(filled.lake.storage, path, read_footer(path))
    assert not pq.read_schema(path).field("amount").metadata and filled.rows() == before
    rewrite_month_file(filled.lake.storage, path, read_footer(path))
    assert pq.read_schema(path).field("amount").metadata and filled.rows() == before


# ---------- the status of a lake


def test_the_status_tells_what_is_there(desk, history):
    """400 payments every five hours from 25 August, in four months; nine refunds of one instant."""
    desk.extract()
    payments, payouts = lake_status(desk.lake).streams
    paid = sorted(each["paid_at"] for each in history.payments)
    assert (payments.rows, payments.months) == (400, 4)
    assert (payments.first_at, payments.last_at) == tuple(
        parse_instant(at)[0] for at in (paid[0], paid[-1])
    )
    assert payouts.rows == 9 and payouts.first_at == payouts.last_at


def test_the_status_reads_no_record(desk, history):
    """Of ten years too: it looks at footers alone."""
    desk.extract()
    before = lake_status(desk.lake)
    for file in desk.lake.path.glob("payments/2026-*.parquet"):
        flip(file, 200)
    assert lake_status(desk.lake) == before


def test_a_lake_without_a_record_has_no_first_one(desk):
    """And no last one."""
    desk.extract()
    for stream in lake_status(desk.lake).streams:
        assert (stream.rows, stream.first_at, stream.last_at) == (0, None, None)


# ---------- what a killed process leaves


WORKING = """
import signal
from pathlib import Path
from svc_analytics.lake.lake import Lake
from svc_analytics.files import replacing_folder

with replacing_folder(Path("data/statements/2026-10")), Lake(Path("data")).snapshot():
    print("working", flush=True)
    signal.pause()
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """A process that waits in the middle of its work, inside its folders."""
    command = [sys.executable, "-c", WORKING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline()
        yield process
        process.kill()


def left_of(lake: Lakehouse) -> list[str]:
    folders = [*lake.path.glob(".snapshot-*"), *lake.path.glob("statements/.*")]
    return [path.name for path in folders]


def test_a_folder_stays_as_long_as_its_process_and_goes_with_the_next_one(filled, process):
    """That of a reader and that of a statement, which was killed in the middle of its work."""
    os.utime(filled.lake.path / "statements", (0, 0))  # how old it is does not matter
    for is_alive in (True, False):
        filled.extract()
        assert len(left_of(filled.lake)) == 2 * is_alive
        process.kill()
        process.wait()


def test_what_a_person_keeps_beside_it_is_not_touched(tmp_path):
    """Also a folder of theirs that is named as ours are."""
    names = {".notes.writing", ".notes.20261031.writing"}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    (tmp_path / ".2026-10.0123abcd.writing").touch()
    restore_folders(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names | {".2026-10.0123abcd.writing"}
    assert all((tmp_path / name / "mine").exists() for name in names)


def test_a_failure_while_it_is_filled_leaves_the_old_folder(tmp_path):
    out = tmp_path / "2026-10"
    out.mkdir()
    (out / "old").touch()
    with pytest.raises(OSError, match="full"), replacing_folder(out):
        raise OSError("full")
    assert [path.name for path in tmp_path.rglob("*")] == ["2026-10", "old"]
