"""Files of a lake that were damaged, lost, swapped or brought in from elsewhere (G2 to G4)."""

import errno
import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.closing.stated import statement
from svc_analytics.errors import LakeError
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.coverage_footer import read_footer
from svc_analytics.lake.layout import LAYOUT
from svc_analytics.lake.month_file import write_month_file
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import INSTANT, PAYMENTS, PAYOUT_RECORDS, STREAMS, Column
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.receipts.test_verify_lake import SETTINGS
from tests.support.altered import flip
from tests.support.closings import Closer, findings_of
from tests.support.desks import Desk
from tests.support.fake_service import ids, payment, payout, spread
from tests.support.prepared import extracted
from tests.support.rings import sample

CATEGORIES = 1_000  # bytes into a file: well within the pages of its first column


@pytest.fixture
def filled(desk) -> Desk:
    """Three months, of which October is the one that gets hurt; one record was set aside."""
    start = datetime(2026, 8, 25, tzinfo=UTC)
    desk.service.payments = spread(60, start, timedelta(hours=33))
    desk.service.payouts = [payout(n, f"2026-{8 + n:02}-05T00:00:00Z") for n in range(4)]
    return extracted(desk)


def october(desk: Desk) -> Path:
    return desk.lake.month_path(PAYMENTS, "2026-10")


def hold_all(lake: Lakehouse) -> None:
    """What `check` and a statement do before they say anything."""
    with open_warehouse(lake):
        pass


LOSSES = ("kept_files_are_there", "record_could_be_held", "set_aside_records_are_on_file")
LOSSES += ("time_was_read_without_gap",)


def findings(desk: Desk) -> list[str]:
    """The rules about what is lost that find something."""
    return sorted(set(findings_of(desk.lake, *LOSSES)["check_name"]))


def test_a_file_is_whole_where_the_system_takes_no_advice(filled, monkeypatch):
    """Some file systems refuse to be told how a file is read: it is read all the same."""

    def refuse(*told: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "posix_fadvise", refuse, raising=False)
    hold_all(filled.lake)


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table], **facts: object) -> None:
    """Let another tool write a file anew, keeping our footer but for its checksum, and facts."""
    table, footer = pq.read_table(path), pq.read_metadata(path).metadata[b"svc_analytics"]
    kept = json.loads(footer) | facts
    del kept["footer_sha256"], kept["body_crc32"]
    table = change(table).replace_schema_metadata({"svc_analytics": json.dumps(kept)})
    pq.write_table(table, path, write_page_checksum=True)


def cast(name: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        return table.set_column(place, name, table[name].cast(kind))

    return change


def of_another_merchant(desk: Desk) -> Path:
    other = Desk(desk.service, desk.settings, Lakehouse(desk.lake.path.parent / "other"))
    other.service.merchant = {"id": "another-merchant"}
    other.extract()
    shutil.copy(october(other), october(desk))
    other.service.merchant = {"id": desk.lake.merchant_id}
    return october(desk)


Hurt = Callable[[Desk], Any]


def copied_as(name: str) -> Hurt:
    return lambda desk: shutil.copy(october(desk), october(desk).with_name(f"{name}.parquet"))


DAMAGED: dict[str, Hurt] = {
    "cut short": lambda desk: october(desk).write_bytes(october(desk).read_bytes()[:-100]),
    "empty": lambda desk: october(desk).write_bytes(b""),
    "of other bytes": lambda desk: october(desk).write_bytes(b"not Parquet at all"),
    "a bit of a page": lambda desk: flip(october(desk), CATEGORIES),
    "a bit of the footer": lambda desk: flip(october(desk), -30),
    "a length beyond the file": lambda desk: flip(october(desk), -5, 7),
    "another month's": lambda desk: shutil.copy(
        october(desk).with_name("2026-09.parquet"), october(desk)
    ),
    "another stream's": lambda desk: shutil.copy(
        desk.lake.month_path(PAYOUT_RECORDS, "2026-10"), october(desk)
    ),
    "another merchant's": of_another_merchant,
    "amounts as floats": lambda desk: rewrite(october(desk), cast("amount", pa.float64())),
    "amounts of scale 2": lambda desk: rewrite(
        october(desk), cast("amount", pa.decimal128(38, 2))
    ),
    "a column less": lambda desk: rewrite(
        october(desk), lambda table: table.drop_columns(["metadata"])
    ),
    "foreign Parquet": lambda desk: pq.write_table(pa.table({"x": [1]}), october(desk)),
}  # fmt: skip


@pytest.mark.parametrize("hurt", sample(DAMAGED.values(), 4), ids=DAMAGED.keys())
def test_a_damaged_month_is_named_and_read_anew(filled, hurt):
    """G2, G4: neither check nor statement nor seal goes on; moved away, the service mends it."""
    hurt(filled)
    closer = Closer(filled)
    for act in (lambda: hold_all(filled.lake), lambda: statement(filled.lake, "2026-10"),
                lambda: closer.close("2026-10"), lambda: filled.extract(rereads=True)):  # fmt: skip
        with pytest.raises(LakeError, match=r"payments/2026-10\.parquet is"):
            act()
    assert not (filled.lake.path / "statements").exists()
    october(filled).unlink()
    filled.extract()
    assert filled.ids() == ids(filled.service.payments)
    assert len(filled.lake.footers(PAYMENTS)["2026-10"].coverage.complete) == 1


def test_a_bit_that_rots_after_it_was_read_is_seen(filled):
    """J5: it changes no size and no time, so no reader trusts what an earlier one saw."""
    path = filled.lake.month_path(PAYMENTS, "2026-08")
    assert len(filled.lake.sql("from payments")) == 60
    times = path.stat()
    flip(path, CATEGORIES)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(LakeError, match="torn or altered"):
        filled.lake.sql("from payments")


def test_a_file_without_checksums_of_ours_is_held_to_its_pages(filled):
    """J5: a lake of an earlier version is read as it is; a flipped bit in it is refused."""
    rewrite(october(filled), lambda table: table)
    for _ in range(2):  # the second time the process knows it
        assert len(filled.lake.sql("from payments")) == 60
    flip(october(filled), 100)  # in the page of ids
    with pytest.raises(LakeError, match=r"2026-10\.parquet is torn or altered"):
        filled.lake.sql("from payments")


BROUGHT_IN: dict[str, Hurt] = {
    "somebody's table": lambda desk: pq.write_table(
        pa.table({"x": [1]}), october(desk).with_name("notes.parquet")
    ),
    "a copy under another name": copied_as("copy"),
    "a copy under another month": copied_as("2026-07"),
    "a later copy": copied_as("2026-10 (1)"),
}  # fmt: skip


@pytest.mark.parametrize("bring", sample(BROUGHT_IN.values(), 4), ids=BROUGHT_IN.keys())
def test_a_file_brought_in_is_refused_by_its_name(filled, bring):
    """G3: no row counts twice; nothing is stated, sealed or written until it is gone."""
    known = set(october(filled).parent.glob("*.parquet"))
    bring(filled)
    (added,) = set(october(filled).parent.glob("*.parquet")) - known
    for act in (lambda: hold_all(filled.lake), lambda: statement(filled.lake, "2026-09"),
                lambda: Closer(filled).close("2026-10"), filled.extract):  # fmt: skip
        with pytest.raises(LakeError, match="move it out of the lake") as refused:
            act()
        assert str(added) in str(refused.value)
    added.unlink()
    assert findings(filled) == []


def test_no_flipped_bit_of_a_month_is_unseen(filled):
    """G2: of every 40th byte of a file a bit is flipped; each is found by what all readers ask."""
    path, chance = october(filled), random.Random(7)
    good = path.read_bytes()
    for place in range(0, len(good), 40):
        flip(path, place, chance.randrange(8))
        with pytest.raises(LakeError, match="torn or altered"):
            require_whole(path)
        path.write_bytes(good)
    require_whole(path)


def test_a_month_that_a_person_keeps_behind_a_link_is_read(filled, tmp_path):
    """As one who ran out of space does it; queries may open nothing but the snapshot."""
    kept = shutil.move(october(filled), tmp_path / "kept.parquet")
    october(filled).symlink_to(kept)
    assert len(filled.lake.sql("from payments")) == 60


def test_a_deleted_month_is_a_gap_and_is_read_anew(filled):
    """G2: check lists what is not read any more; that `status` calls it blocked, its test shows."""
    october(filled).unlink()
    assert findings(filled) == ["time_was_read_without_gap"]
    filled.extract()
    assert filled.ids() == ids(filled.service.payments) and findings(filled) == []


@pytest.mark.thorough
def test_a_gap_of_one_stream_is_found_whenever_the_other_begins(filled):
    """Payments were read from August on, payouts from November on; October's payments are lost."""
    filled.lake = Lakehouse(filled.lake.path.parent / "late")
    august, november = month("2026-08").start, month("2026-11").start
    filled.extract(start=august, streams=("payments",))
    filled.extract(start=november, streams=("payout_records",))
    assert findings(filled) == []
    october(filled).unlink()
    assert findings(filled) == ["time_was_read_without_gap"]


@pytest.mark.thorough
def test_a_lost_proof_of_the_beginning_is_brought_back(filled):
    """G2: without 0000-00 nobody knows what was before; the next run reads and knows."""
    before = filled.lake.coverage(PAYMENTS)
    assert before.read[0][0] == BEGINNING
    filled.lake.month_path(PAYMENTS, "0000-00").unlink()
    known = "select count(opening_position) as known from statement_summary($s, $e)"
    bounds = {"s": datetime(2026, 10, 1, tzinfo=UTC), "e": datetime(2026, 11, 1, tzinfo=UTC)}
    assert filled.lake.sql(known, bounds)["known"].to_list() == [0]
    assert findings(filled) == ["kept_files_are_there"]  # no gap: before it nothing was read
    filled.extract()
    assert filled.lake.coverage(PAYMENTS) == before
    assert filled.lake.sql(known, bounds)["known"].to_list() == [1]


def test_a_lost_quarantine_blocks_and_is_read_anew(filled):
    """G2: what was set aside and then lost is not nothing: it is set aside again."""
    filled.service.payments.append(payment(99, "2026-10-09T00:00:00Z", "10") | {"amount": "1e3"})
    filled.extract(rereads=True)
    path = filled.lake.path / "quarantine" / "payments" / "rejected.parquet"
    empty = pq.read_table(path).slice(0, 0)
    pq.write_table(empty, path)
    assert findings(filled) == ["set_aside_records_are_on_file"]
    path.unlink()
    with pytest.raises(LakeError, match="run svc-analytics extract"):
        findings(filled)
    filled.extract()
    assert findings(filled) == ["record_could_be_held"] and len(pq.read_table(path)) == 1


def test_a_lost_file_beside_the_months_is_missed(filled):
    """J5: findings must not vanish with the file that they rest on; made again, it counts."""
    (filled.service.payments[0])["metadata"] = {"noted": "later"}
    filled.extract(rereads=True)
    verify_lake(filled.lake, SETTINGS)
    verdicts = filled.lake.path / "receipt_verdicts" / "2026-09.parquet"
    (version,) = (filled.lake.path / "changes" / "payments").glob("2026*.parquet")
    verdicts.unlink()
    version.unlink()
    query = "select file_label from stg_kept_files where not is_there order by all"
    lost = [f"changes/payments/{version.stem}", "receipt_verdicts/2026-09"]
    assert list(filled.lake.sql(query)["file_label"]) == lost
    advice = findings_of(filled.lake, "kept_files_are_there")["detail"]
    assert sorted(advice) == [
        f"{lost[0]}.parquet is gone: bring it back from a backup",
        f"{lost[1]}.parquet is gone: receipts verify makes it again",
    ]
    reasons = [reason.text for reason in statement(filled.lake, "2026-10").reasons]
    assert reasons == ["2 files that the lake kept are gone"]
    verify_lake(filled.lake, SETTINGS)
    assert list(filled.lake.sql(query)["file_label"]) == lost[:1]


def test_a_flipped_bit_of_lake_json_names_no_other_merchant(filled):
    """J5: statements carry the merchant's name; any bit of any byte is seen."""
    path, chance = filled.lake.path / "lake.json", random.Random(7)
    good = path.read_bytes()
    for place in range(len(good)):
        flip(path, place, chance.randrange(8))
        with pytest.raises(
            LakeError, match=r"lake\.json is torn or altered: move it away and run extract"
        ):
            _ = filled.lake.merchant
        path.write_bytes(good)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"layout": 1}'], ids=repr)
def test_a_torn_lake_json_says_what_to_do(filled, text):
    """G2: it holds nothing that the month files and the service do not tell again."""
    path = filled.lake.path / "lake.json"
    path.write_text(text)
    with pytest.raises(
        LakeError, match=r"lake\.json is torn or altered: move it away and run extract"
    ):
        filled.extract()
    path.unlink()
    filled.extract()
    assert filled.lake.merchant["display_name"] == "Shop" and len(filled.ids()) == 60


@pytest.mark.parametrize("name", ["quarantine/payments/rejected", "changes/payments/0000-00"])
def test_a_torn_side_file_is_named(filled, name):
    """G2: what keeps a statement from being final is compared with its checksums too."""
    path = filled.lake.path / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LakeError, match=f"{name}.parquet"):
        statement(filled.lake, "2026-10")


def test_a_newer_month_file_is_not_guessed_at(filled):
    """G4: a layout that this version does not know is refused, and the file named."""
    rewrite(october(filled), lambda table: table, layout=LAYOUT + 1)
    with pytest.raises(LakeError, match=r"2026-10\.parquet: written by a newer svc-analytics"):
        filled.extract()


def test_a_record_that_tells_of_a_checksum_is_kept_as_it_is(desk):
    """D6: columns' statistics hold texts of others, and stand before our own in the footer."""
    told = f'{{"footer_sha256": "{"0" * 64}"}}'
    desk.service.payments = [
        payment(n, f"2026-10-0{n}T00:00:00Z") | {"currency": told} for n in (1, 2)
    ]
    desk.extract()
    (metadata,) = (
        column
        for column in pq.read_metadata(october(desk)).row_group(0).to_dict()["columns"]
        if column["path_in_schema"] == "currency"
    )
    assert {metadata["statistics"]["min"], metadata["statistics"]["max"]} == {told}
    assert len(desk.lake.sql("from payments where currency = $told", {"told": told})) == 2


def written_with(
    desk: Desk, columns: Sequence[Column], change: Callable[[pa.Table], pa.Table]
) -> None:
    """Let a release whose payments have these columns write October."""
    other, footer = replace(PAYMENTS, columns=tuple(columns)), read_footer(october(desk))
    table = change(pq.read_table(october(desk)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STREAMS, "payments", other)
        write_month_file(desk.lake.storage, october(desk), other, [table], footer)
        assert not read_footer(october(desk)).columns


def test_a_month_of_a_release_with_a_column_less_is_read(filled):
    """Its column is NULL until the next run; what vouches for itself was torn by nobody."""
    known = [column for column in PAYMENTS.columns if column.name != "session_id"]
    written_with(filled, known, lambda table: table.drop_columns(["session_id"]))
    columns = filled.lake.footers(PAYMENTS)["2026-10"].columns
    assert {*PAYMENTS.schema.names} - columns == {"session_id"}
    [months] = filled.lake.sql(
        "select count(distinct month) from payments where session_id is null"
    ).to_numpy()
    assert months == [1] and findings(filled) == []
    filled.extract()
    assert not filled.lake.footers(PAYMENTS)["2026-10"].columns and findings(filled) == []


def test_a_month_with_a_column_of_another_type_is_refused(filled):
    """Digits may be lost; the advice keeps what the service no longer lists."""
    columns = {column.name: column for column in PAYMENTS.columns}
    columns["session_id"] = replace(columns["session_id"], kind="instant", is_uuid=False)
    instants = pa.nulls(len(pq.read_table(october(filled))), INSTANT)
    place = pq.read_schema(october(filled)).get_field_index("session_id")
    written_with(
        filled, [*columns.values()], lambda table: table.set_column(place, "session_id", instants)
    )
    with pytest.raises(LakeError, match=r"2026-10.parquet .* bring it back from a backup; without"):
        filled.lake.footers(PAYMENTS)
