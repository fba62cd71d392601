"""A lake compared with the service that it was extracted from: what it claims is there, once.

The oracle of the faults: the service is the sandbox or the model, and the lake is read as any other
tool would.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Protocol

import duckdb

from svc_analytics.instants import parse_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS, Stream

Facts = tuple[Any, ...]  # an id, an instant, a currency, and each amount


class Serving(Protocol):
    def records(self, name: str) -> Iterable[dict[str, Any]]:
        """All that the service has of a stream."""


def held(lake: Lake, stream: Stream) -> list[Facts]:
    """Read a stream's files."""
    files = f"{lake.folder(stream)}/*.parquet"
    facts = f"id, epoch_us({stream.instant}), currency, {', '.join(stream.money)}"
    with duckdb.connect() as connection:
        return connection.execute(f"select {facts} from read_parquet('{files}')").fetchall()


def served(service: Serving, stream: Stream) -> list[Facts]:
    """List what the service has."""
    return [
        (
            record["id"],
            parse_instant(record[stream.instant])[0],
            record["currency"],
            *(None if record[name] is None else Decimal(record[name]) for name in stream.money),
        )
        for record in service.records(stream.name)
    ]


def check_claims(lake: Lake, service: Serving) -> None:
    """What a lake says was read is there, whole and once."""
    for stream in STREAMS.values() if lake.exists else ():
        if not any(lake.folder(stream).glob("*.parquet")):
            continue
        rows = held(lake, stream)
        ids = [facts[0] for facts in rows]
        assert len(ids) == len(set(ids))
        listed = served(service, stream)
        for start, end in lake.coverage(stream).read:
            there = {facts for facts in rows if start <= facts[1] < end}
            assert there == {facts for facts in listed if start <= facts[1] < end}


def check_all(lake: Lake, service: Serving) -> None:
    """All that the service has is in the lake, once, to the last digit."""
    for stream in STREAMS.values():
        assert sorted(held(lake, stream)) == sorted(served(service, stream))
