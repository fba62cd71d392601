"""A lake compared with the sandbox that it was extracted from: what it claims is there, once."""

from decimal import Decimal

import duckdb

from svc_analytics.instants import parse_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.schema import STREAMS, Stream

Facts = tuple[str, int, str, Decimal, Decimal]


def held(lake: Lake, stream: Stream) -> list[Facts]:
    """Read a stream's files as any other tool would."""
    files = f"{lake.folder(stream)}/*.parquet"
    facts = f"id, epoch_us({stream.instant}), currency, amount, fee_amount"
    with duckdb.connect() as connection:
        return connection.execute(f"select {facts} from read_parquet('{files}')").fetchall()


def served(service: Service, stream: Stream) -> list[Facts]:
    """List what the service has."""
    return [
        (
            record["id"],
            parse_instant(record[stream.instant])[0],
            record["currency"],
            Decimal(record["amount"]),
            Decimal(record["fee_amount"]),
        )
        for record in service.records(stream.name)
    ]


def check_claims(lake: Lake, service: Service) -> None:
    """What a lake says was read is there, whole and once."""
    for stream in STREAMS.values() if lake.exists else ():
        if not lake.month_path(stream, "0000-00").exists():
            continue
        rows = held(lake, stream)
        ids = [facts[0] for facts in rows]
        assert len(ids) == len(set(ids))
        listed = served(service, stream)
        for start, end in lake.coverage(stream).read:
            there = {facts for facts in rows if start <= facts[1] < end}
            assert there == {facts for facts in listed if start <= facts[1] < end}


def check_all(lake: Lake, service: Service) -> None:
    """All that the service has is in the lake, once, to the last digit."""
    for stream in STREAMS.values():
        assert sorted(held(lake, stream)) == sorted(served(service, stream))
