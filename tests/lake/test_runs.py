"""Runs: months that wait on disk while they are read, and are merged once."""

import errno
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.coverage import Coverage, difference
from svc_analytics.errors import LakeError
from svc_analytics.instants import DAY, to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing import publisher
from svc_analytics.lake.writing.month_merge import Dropped
from svc_analytics.lake.writing.spill import RunFolder
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.schema import PAYMENTS, Stream
from tests.simulation.disk import Disk, failure
from tests.support.rings import rings, sample
from tests.support.waiting import (
    NOW,
    PROFILE,
    Killed,
    Told,
    draw_story,
    rejected,
    rows,
    small_portions,
    tell_at_once,
    tell_spilling,
    writing,
)

TOLD = 2  # stories of one test
STORIES = rings([0], range(0, 2_400, TOLD))


@pytest.mark.parametrize("first", STORIES)
def test_what_waited_on_disk_comes_to_be_as_if_published_at_once(first, tmp_path):
    """Rows, coverage, counts of rejected records and older versions, after any kill."""
    found = 0
    for seed in range(first, first + TOLD):
        story = draw_story(seed)
        tell_at_once(tmp_path / f"{seed}", story)
        found += tell_spilling(tmp_path / f"{seed} spilled", story, seed)
        told, spilled = Told.of(tmp_path / f"{seed}"), Told.of(tmp_path / f"{seed} spilled")
        assert spilled.rows == told.rows, seed
        assert spilled.quarantined == told.quarantined, seed
        assert spilled.superseded >= told.superseded, seed
        # The instant that a record has moved to is read again, if its file was there before.
        lost = difference(told.coverage.read, spilled.coverage.read)
        assert sum(end - start for start, end in lost) <= seed % 2 * 25, seed
        assert not difference(spilled.coverage.read, told.coverage.read), seed
        assert not [*(tmp_path / f"{seed} spilled").glob(".runs*")], seed
    assert found > 1 or first  # a short story may have nothing that waits; the first ones have


def _find_none(stream: Stream, *of: object) -> Dropped:
    return Dropped(stream.no_rows, stream.no_rows)


PLANTED: dict[str, tuple[Any, str, Any, int]] = {  # with a story that finds it
    "both versions of what moved stay": (publisher, "find_dropped", _find_none, 1),
    "a row stays in the month that it left": (publisher.Spill, "find_elsewhere", lambda *_: {}, 1),
    "what is taken back stays claimed": (publisher.Spill, "are_broken", lambda *_: False, 23),
    "what is published waits again": (RunFolder, "remove", lambda *_: None, 0),
}


@pytest.mark.parametrize("bug", sample(PLANTED, 4))
def test_a_planted_bug_is_found(bug, tmp_path, monkeypatch):
    """Stories that find nothing prove nothing: of each of these, one tells."""
    place, name, planted, seed = PLANTED[bug]
    story = draw_story(seed)
    tell_at_once(tmp_path / "once", story)
    told = Told.of(tmp_path / "once")
    monkeypatch.setattr(place, name, planted)
    tell_spilling(tmp_path / "spilled", story, seed)
    spilled = Told.of(tmp_path / "spilled")
    left = [*(tmp_path / "spilled").glob(".runs*")]
    assert left or (spilled.rows, spilled.coverage.read) != (told.rows, told.coverage.read)


DAY_1, DAY_2, DAY_3 = (to_micros(datetime(2026, 10, day, tzinfo=UTC)) for day in (8, 7, 6))
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit in the rows": lambda body: body[:40] + bytes([body[40] ^ 1]) + body[41:],
    "a flipped bit in the footer": lambda body: body[:-60] + bytes([body[-60] ^ 1]) + body[-59:],
    "cut short": lambda body: body[:-30],
    "empty": lambda body: b"",
    "zeros": lambda body: bytes(len(body)),
}


@pytest.fixture
def waiting(tmp_path) -> Path:
    """A lake whose writer was killed with three days of October waiting, a run each."""
    folder = tmp_path / "data"
    with small_portions(), writing(folder) as writer:
        for number, day in enumerate((DAY_1, DAY_2, DAY_3)):
            writer.buffer(PAYMENTS).add(rows((f"id-{number}", day, "5")), size=1)
            writer.buffer(PAYMENTS).cover((day, day + DAY))
            writer.save()
        raise Killed
    return folder


def runs_of(folder: Path) -> list[Path]:
    return sorted(folder.glob(".runs/*/*.run"))


def test_a_month_that_is_read_is_published_and_the_next_waits_in_memory(tmp_path):
    """Nothing is spilled for it, however much waits."""
    october, november = to_micros(datetime(2026, 10, 1, tzinfo=UTC)), NOW - 19 * DAY
    with writing(tmp_path / "data") as writer:
        buffer = writer.buffer(PAYMENTS)
        buffer.add(rows(("id-1", november - 1, "5"), ("id-2", NOW - 1, "5")), size=100)
        buffer.cover((october - 90 * DAY, october - DAY))  # without a row: before the first month
        buffer.cover((october + 1, november))
        buffer.cover((NOW - DAY, NOW))
        assert not writer.has_finished_month
        buffer.cover((october, october + 1))
        assert writer.has_finished_month
        writer.publish_finished()
        assert not writer.has_finished_month
        assert [row["id"] for row in Told.of(tmp_path / "data").rows] == ["id-1"]
        assert runs_of(tmp_path / "data") == [] and writer.buffered_bytes == 50
        writer.publish()
    assert [row["id"] for row in Told.of(tmp_path / "data").rows] == ["id-1", "id-2"]


def test_nobody_sees_what_waits_and_the_next_writer_publishes_it_and_says_so(waiting):
    """No row, and no claim of time, before the month takes it in; nothing is read again."""
    assert len(runs_of(waiting)) == 3
    assert Lake(waiting).coverage(PAYMENTS) == Coverage()
    assert Told.of(waiting).rows == []
    with writing(waiting) as writer:
        assert writer.notes == [
            "payments: rows that an interrupted run had read and not published are published now: 3"
        ]
    assert [row["id"] for row in Told.of(waiting).rows] == ["id-0", "id-1", "id-2"]
    assert Lake(waiting).coverage(PAYMENTS).complete == ((DAY_3, DAY_1 + DAY),)
    assert runs_of(waiting) == []


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_run_and_those_behind_it_are_void(waiting, damage):
    """A run may cover time whose rows are in the one before it: their time is read again."""
    second = runs_of(waiting)[1]
    second.write_bytes(damage(second.read_bytes()))
    with writing(waiting) as writer:
        assert "not whole were removed, and their time is read again: 2" in writer.notes[1]
    assert [row["id"] for row in Told.of(waiting).rows] == ["id-0"]
    assert Lake(waiting).coverage(PAYMENTS).read == ((DAY_1, DAY_1 + DAY),)
    assert runs_of(waiting) == []


def test_a_lost_run_voids_those_behind_it(waiting):
    """Each names the one before: of a chain without its beginning nothing is believed."""
    runs_of(waiting)[0].unlink()
    with writing(waiting):
        pass
    assert Told.of(waiting).rows == [] and runs_of(waiting) == []


@pytest.mark.parametrize("removal", range(1, 4))
def test_a_kill_among_removals_brings_no_older_version_back(tmp_path, removal):
    """The first run goes first: what is left of a published month is void, not published again."""
    folder, removed = tmp_path / "data", []
    with small_portions(), writing(folder) as writer:
        for amount in ("5", "6", "7"):
            writer.buffer(PAYMENTS).add(rows(("id-0", DAY_1, amount)), size=1)
            writer.save()
        raise Killed

    def fate(number: int, kind: str, path: str) -> None:
        if kind == "unlink" and path.endswith(".run"):
            removed.append(path)
            if len(removed) == removal:
                raise Killed

    killed = suppress(Killed)
    with killed, Disk(tmp_path, fate).installed(), open_writer(Lake(folder), PROFILE, NOW):
        pass
    with writing(folder):
        pass
    assert len(removed) == removal and runs_of(folder) == []
    assert [row["amount"] for row in Told.of(folder).rows] == [7]


def test_a_run_whose_rejected_records_are_lost_is_void(tmp_path):
    """What its time held is not all on file any more: it is read again."""
    folder = tmp_path / "data"
    with small_portions(), writing(folder) as writer:
        buffer = writer.buffer(PAYMENTS)
        buffer.add(rows(("id-0", DAY_1, "5")), [rejected(b"bad", DAY_1)], size=1)
        buffer.cover((DAY_1, DAY_1 + DAY))
        writer.save()
        raise Killed
    (folder / "quarantine" / "payments" / "rejected.parquet").unlink()
    with writing(folder) as writer:
        assert "were removed" in writer.notes[0]
    assert Lake(folder).coverage(PAYMENTS) == Coverage()


def test_a_doubt_and_a_retraction_survive_on_disk(tmp_path):
    """What was covered only provisionally stays so; what was taken back stays taken back."""
    folder = tmp_path / "data"
    with small_portions(), writing(folder) as writer:
        for step in ("cover", "take back"):
            buffer = writer.buffer(PAYMENTS)
            if step == "cover":
                buffer.add(rows(("id-0", DAY_1, "5"), ("id-1", DAY_2, "5")), size=1)
                buffer.cover((DAY_3, DAY_1 + DAY))
                buffer.doubt([(DAY_2, DAY_1)])
            else:
                buffer.retract([(DAY_3, DAY_2)])
            writer.save()
        raise Killed
    with writing(folder):
        pass
    coverage = Lake(folder).coverage(PAYMENTS)
    assert coverage == Coverage(((DAY_1, DAY_1 + DAY),), ((DAY_2, DAY_1),))


def test_a_full_disk_while_spilling_is_one_line(tmp_path):
    """E5: the lake is as it was, and the next writer finds nothing half written."""
    disk = Disk(tmp_path)

    def fate(number: int, kind: str, path: str) -> None:
        if kind == "write" and ".run" in path:
            raise failure(errno.ENOSPC, path)

    disk.fate = fate
    with (
        pytest.raises(LakeError, match="No space left on device; the records written before"),
        disk.installed(),
        small_portions(),
        writing(tmp_path / "data") as writer,
    ):
        writer.buffer(PAYMENTS).add(rows(("id-0", DAY_1, "5")), size=1)
        writer.save()
    with writing(tmp_path / "data") as writer:
        assert writer.notes == []
    assert Told.of(tmp_path / "data").rows == []
    assert not [*(tmp_path / "data").glob(".runs/*/*")]
