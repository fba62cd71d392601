"""A writer told a story in steps: rows, claims, retractions; published at once, or spilled.

Whatever waits on disk between, and however often the writer is killed once it is safe there,
the lake must come to be the one that a single publication makes.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage
from svc_analytics.instants import DAY, HOUR, to_micros
from svc_analytics.lake.index import hashes
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import RUNS_FOLDER
from svc_analytics.lake.side_files import QuarantinedRecord
from svc_analytics.lake.writing import month_merge, publisher, spill
from svc_analytics.lake.writing.spill import WriteBuffer
from svc_analytics.lake.writing.writer import LakeWriter, open_writer
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import PAYMENTS

NOW = to_micros(datetime(2026, 11, 20, tzinfo=UTC))
START = to_micros(datetime(2026, 9, 20, tzinfo=UTC))
PROFILE = {"id": "m-1", "display_name": "Shop"}

HOWS = ["keeps", "finished", "limit", "save", "save", "kill"]  # what a writer does between steps
Step = Callable[[WriteBuffer], None]


class Killed(BaseException):
    """The process is no more."""


def rows(*records: tuple[str, int, str], seen_at: int = NOW) -> pa.Table:
    """Make payments of an id, an instant and an amount."""
    facts = {"status": "completed", "currency": "usdt", "fee_amount": Decimal(0)}
    facts |= {"extracted_at": seen_at}
    listed = [
        facts
        | {"id": record_id, "paid_at": at, "amount": Decimal(amount)}
        | dict.fromkeys(("charged_amount", "net_amount", "usd_value"), Decimal(amount))
        for record_id, at, amount in records
    ]
    return pa.Table.from_pylist(listed, schema=PAYMENTS.no_rows.schema)


def rejected(body: bytes, at: int) -> QuarantinedRecord:
    """Make a rejected record of an instant."""
    record = RejectedRecord(body, "amount: not a number", f"bad-{body!r}", at)
    return QuarantinedRecord(record, at, (at, at + 1), NOW)


@contextmanager
def writing(folder: Path) -> Iterator[LakeWriter]:
    """Give the writer of a lake; one that is killed leaves all as it is."""
    with suppress(Killed), open_writer(Lake(folder), PROFILE, NOW) as writer:
        writer.begin_run(watermark=NOW - HOUR, is_open_ended=True, judged_at=NOW)
        yield writer


@contextmanager
def small_portions() -> Iterator[None]:
    """Let every month that is being read be spilled, in groups and slices of a few rows."""
    with (
        patch.object(publisher, "LARGE_MONTH", -1),
        patch.object(spill, "GROUP_ROWS", 2),
        patch.object(month_merge, "SLICE_ROWS", 3),
        patch.object(month_merge, "MOST_VERSIONS", 1),
        patch.object(hashes, "BLOCK", 2),
        patch.object(hashes, "PORTION", 3),
    ):
        yield


def draw_story(seed: int) -> list[Step]:
    """Draw steps: records come in, again, changed and moved; time is claimed and taken back."""
    chance = random.Random(f"story {seed}")
    moves = seed % 2 == 1
    at = {f"id-{n:02}": chance.randrange(START, NOW) for n in range(25)}
    return [_draw_step(chance, at, number, moves) for number in range(chance.randint(3, 14))]


def _draw_step(chance: random.Random, at: dict[str, int], number: int, moves: bool) -> Step:
    picked = chance.sample(sorted(at), chance.randint(0, 9))
    for record_id in picked if moves else ():
        if chance.random() < 0.2:
            at[record_id] = chance.randrange(START, NOW)
    amounts = [str(1 + number // chance.choice([1, 100])) for _ in picked]
    facts = zip(picked, map(at.__getitem__, picked), amounts, strict=True)
    table = rows(*facts, seen_at=NOW + number)
    start = chance.randrange(START, NOW)
    span = (start, min(NOW, start + chance.choice([HOUR, 9 * DAY, 40 * DAY])))
    what = chance.choice(["cover", "cover", "cover", "retract", "doubt", "reject"])

    def step(buffer: WriteBuffer) -> None:
        buffer.add(table, size=table.nbytes)
        if what == "retract":
            buffer.retract([span])
        else:
            buffer.cover(span)
        if what == "doubt":
            buffer.doubt([span])
        if what == "reject":
            buffer.rejected.append(rejected(b"%d" % number, start))

    return step


def tell_at_once(folder: Path, story: list[Step]) -> None:
    """Let a writer publish a whole story in one go."""
    with writing(folder) as writer:
        for step in story:
            step(writer.buffer(PAYMENTS))
        writer.publish()


def tell_spilling(folder: Path, story: list[Step], seed: int) -> int:
    """Let a writer publish what is whole, spill the rest, and be killed; count the runs found."""
    chance, found, left = random.Random(f"telling {seed}"), 0, list(story)
    is_over = False
    while not is_over:
        found += len([*folder.glob(f"{RUNS_FOLDER}/*/*.run")])
        with small_portions(), writing(folder) as writer:
            while left:
                left.pop(0)(writer.buffer(PAYMENTS))
                _keep(writer, chance.choice(HOWS))
            writer.publish()
            is_over = True
    return found


def _keep(writer: LakeWriter, how: str) -> None:
    if how == "limit":
        writer.publish(holds_back=True)
    elif how == "finished":
        writer.publish_finished()
    elif how != "keeps":
        writer.save()
    if how == "kill":
        raise Killed


@dataclass
class Told:
    """All that matters of a lake that a story was told to."""

    rows: list[dict[str, Any]]
    coverage: Coverage
    quarantined: dict[str, int]
    superseded: set[tuple[str, Decimal]]

    @classmethod
    def of(cls, folder: Path) -> "Told":
        lake = Lake(folder)
        footers = lake.footers(PAYMENTS)
        paths = sorted(lake.folder(PAYMENTS).glob("*.parquet"))
        held = pa.concat_tables(pq.ParquetFile(path).read() for path in paths)
        place = held.schema.get_field_index("paid_at")
        held = held.set_column(place, "paid_at", held["paid_at"].cast(pa.int64()))
        changes = (folder / "changes" / PAYMENTS.name).glob("*.parquet")
        versions = [row for path in changes for row in pq.ParquetFile(path).read().to_pylist()]
        return cls(
            sorted(held.select(["id", "paid_at", "amount"]).to_pylist(), key=lambda r: r["id"]),
            lake.coverage(PAYMENTS),
            {label: footer.quarantined for label, footer in footers.items() if footer.quarantined},
            {(row["id"], row["amount"]) for row in versions},
        )
