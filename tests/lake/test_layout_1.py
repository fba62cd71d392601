"""A lake of layout 1 is read as it was, and brought up to date by the next writer.

`layout_1` holds a small one, written by version 0.1.0 before month files had derived amounts:
three coins, a restated and a moved payment, one set aside, verdicts, and October sealed. Beside
it stand the figures that the same version stated of it.
"""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.errors import LakeError
from svc_analytics.instants import to_micros
from svc_analytics.lake import partition
from svc_analytics.lake.footer import PartitionFooter, read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.schema import PAYMENTS, STREAMS
from svc_analytics.statements.statement import statement
from svc_analytics.warehouse.database import write_views
from tests.simulation.disk import Disk
from tests.simulation.simulate import quick_folder
from tests.support.fake_service import MERCHANT_ID, NOW
from tests.support.publishing import contents
from tests.support.rings import rings

FIXTURE = Path(__file__).parent / "layout_1"
STATED: dict[str, dict[str, str]] = json.loads((FIXTURE / "figures.json").read_text())
PROFILE = {"id": MERCHANT_ID, "display_name": "Shop"}
CLAIMS = ("owns", "coverage", "confirmed", "quarantined", "written_at", "judged_at")
PARTS = 8  # tests that share the calls at which a migration is killed
OF_RECORDS = "select * exclude (usd_net, usd_fee, usd_rate, fee_rate) from payments order by all"
FINDINGS = "from exceptions order by all"


@pytest.fixture
def old(tmp_path: Path) -> Lakehouse:
    """A copy of the lake of layout 1."""
    return Lakehouse(shutil.copytree(FIXTURE / "lake", tmp_path / "data"))


def bring_up_to_date(lake: Lake, note: Callable[[str], None] = lambda text: None) -> None:
    """Let a writer open the lake, and write nothing of its own."""
    with open_writer(lake, PROFILE, to_micros(NOW), note=note):
        pass


def month_files(lake: Lake) -> dict[str, PartitionFooter]:
    """The footer of every month file."""
    paths = (path for stream in STREAMS.values() for path in lake.folder(stream).glob("*.parquet"))
    return {f"{path.parent.name}/{path.stem}": read_footer(path) for path in paths}


def kept_files(lake: Lake) -> dict[str, bytes]:
    """All files but the indexes of ids, which are made anew where they are out of date."""
    return {name: body for name, body in contents(lake.path).items() if not name.startswith(".ids")}


def layouts(lake: Lake) -> set[int]:
    return {footer.layout for footer in month_files(lake).values()}


def check_figures(lake: Lakehouse) -> None:
    """Statements are those that the earlier version made, and the sealed one holds."""
    for name, stated in STATED.items():
        month, zone = name.split()
        made = statement(lake, month, zone=zone, now=NOW)
        assert (made.content_digest(), made.status) == (stated["content_digest"], stated["status"])
    assert verify_statement(lake.path / "statements" / "2026-10", lake).holds


def test_it_is_read_as_it_was(old: Lakehouse) -> None:
    """Statements, findings, derived amounts: nothing depends on the layout; nothing is changed."""
    before = contents(old.path)
    check_figures(old)
    assert contents(old.path) == before


def test_it_is_brought_up_to_date_with_the_same_rows_and_claims(old: Lakehouse) -> None:
    """The next writer does it first; rows, totals and what was read and when stay as they are."""
    before, rows, findings = month_files(old), old.sql(OF_RECORDS), old.sql(FINDINGS)
    said: list[str] = []
    bring_up_to_date(old, said.append)
    after = month_files(old)
    assert layouts(old) == {2} and json.loads((old.path / "lake.json").read_text())["layout"] == 2
    assert after.keys() == before.keys()
    for name, footer in after.items():
        assert footer.totals.by_currency() == before[name].totals
        for claim in CLAIMS:
            assert getattr(footer, claim) == getattr(before[name], claim), (name, claim)
    assert old.sql(OF_RECORDS).equals(rows) and old.sql(FINDINGS).equals(findings)
    assert said[:2] == [f"bringing payments up to date: file {n} of 5" for n in (1, 2)]
    check_figures(old)


def test_what_is_up_to_date_is_left_alone(old: Lakehouse) -> None:
    """A second writer writes no month file."""
    bring_up_to_date(old)
    before = contents(old.path)
    said: list[str] = []
    bring_up_to_date(old, said.append)
    assert contents(old.path) == before and not said


@pytest.mark.parametrize("kept", ["payments/2026-09", "payout_records/2026-10", "payments/0000-00"])
def test_a_lake_of_both_layouts_is_read(old: Lakehouse, kept: str) -> None:
    """So a file brought back from a backup does no harm."""
    bring_up_to_date(old)
    shutil.copy(FIXTURE / "lake" / f"{kept}.parquet", old.path / f"{kept}.parquet")
    assert layouts(old) == {1, 2}
    made = statement(old, "2026-10", now=NOW)
    assert made.content_digest() == STATED["2026-10 UTC"]["content_digest"]


def test_other_tools_are_told_what_to_do(old: Lakehouse) -> None:
    """Their views name columns that the files do not have yet."""
    with pytest.raises(LakeError, match=r"data was written by an earlier .*run svc-analytics extr"):
        write_views(old)
    bring_up_to_date(old)
    assert write_views(old).exists()


def test_a_damaged_file_is_named_and_left_as_it_is(old: Lakehouse) -> None:
    """Readers and writers name the lake's own file, not the copy that they would make of it."""
    path = old.month_path(PAYMENTS, "2026-09")
    body = bytearray(path.read_bytes())
    body[200] ^= 1
    path.write_bytes(body)
    with pytest.raises(LakeError, match=r"data/payments/2026-09.parquet is torn or altered"):
        old.sql("select count(*) from payments")
    with pytest.raises(LakeError, match=r"data/payments/2026-09.parquet is torn or altered"):
        bring_up_to_date(old)
    assert path.read_bytes() == body


def test_an_old_file_whose_rows_are_not_those_it_states_is_left_as_it_is(
    old: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The totals of its footer, by currency, are compared with the rows that are written."""
    before = contents(old.path)
    real = partition.read_groups

    def lose_a_row(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
        yield from (rows[0 if columns else 1 :] for rows in real(path, columns))

    with monkeypatch.context() as broken:
        broken.setattr(partition, "read_groups", lose_a_row)
        with pytest.raises(LakeError, match=r"2026-08: .* by what it held .* not published"):
            bring_up_to_date(old)
    months = [name for name in before if name.startswith("payments")]
    assert [before[name] for name in months] == [contents(old.path)[name] for name in months]


@pytest.fixture(scope="module")
def recorded() -> Iterator[tuple[list[Disk], dict[str, bytes], Lakehouse]]:
    """The disk at each call by which a lake is brought up to date; its files then; a free place."""
    with quick_folder() as folder:
        lake = Lakehouse(shutil.copytree(FIXTURE / "lake", folder / "disk" / "data"))
        moments: list[Disk] = []
        disk = Disk(
            lake.path.parent,
            lambda *call: moments.append(disk.copy(folder / str(len(moments)))),
        )
        with disk.installed():
            bring_up_to_date(lake)
        yield moments, kept_files(lake), lake


@pytest.mark.parametrize("part", rings([1], range(PARTS)))
def test_killed_at_any_call_it_is_brought_up_to_date_by_the_next_writer(
    recorded: tuple[list[Disk], dict[str, bytes], Lakehouse], part: int
) -> None:
    """Every month is the old file or the new one, also when the power goes; none is torn."""
    moments, goal, lake = recorded
    for call in range(part, len(moments), PARTS):
        shutil.rmtree(lake.path.parent)
        disk = moments[call].copy(lake.path.parent)
        if call // PARTS % 2:
            disk.lose_power(random.Random(call))
        months = month_files(lake)
        assert sum(footer.totals.rows for footer in months.values()) == 44 + 6
        bring_up_to_date(lake)
        assert kept_files(lake) == goal
