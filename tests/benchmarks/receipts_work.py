"""What the benchmark of receipts times: the lake's verification, and a plain loop.

The plain loop is one of `hmac`, `base64` and `json` over the same month files, which compares the
same ten facts.
"""

import base64
import hashlib
import hmac
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from statistics import median
from uuid import UUID

import pyarrow as pa

from svc_analytics.config import Settings
from svc_analytics.instants import (
    BEGINNING,
    DAY,
    format_instant,
    from_micros,
    parse_instant,
)
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.month_file import read_groups
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import sign_receipt
from svc_analytics.signing.secrets import Secret, SigningSecret
from svc_analytics.signing.token_form import FACTS, MONEY_FACTS
from tests.benchmarks.bounds import Bound, both_times, note, weighed

MERCHANT_ID = "11111111-1111-4111-8111-111111111111"
SECRET = "receipt secret of the benchmark"
START = parse_instant("2024-01-01T00:00:00Z")[0]
MONTHS = 24
CHUNK = 20_000
REPEATS = 3


def settings() -> Settings:
    return Settings(receipt_secrets=(SigningSecret(Secret(SECRET)),))


def payment(number: int, tokens: int) -> dict[str, object]:
    """Make the n-th payment, its receipt about 540 characters long."""
    at = START + number * (MONTHS * 30 * DAY // tokens) // 1_000_000 * 1_000_000
    amount = f"{number % 9000}.{number % 1_000_000:06d}"
    facts = {
        "payment_id": str(UUID(int=number * 2**60 + number)),
        "receipt_no": f"SVC-{number:09d}",
        "merchant_id": MERCHANT_ID,
        "reference_id": f"order/{number:012d}/of-the-spring-catalogue-and-its-annex-b",
        "currency": "usdt",
        "amount": amount,
        "charged_amount": amount,
        "fee_bearer": "merchant",
        "net_amount": amount,
        "paid_at": format_instant(at),
    }
    row = {name: facts[name] for name in FACTS if name in PAYMENTS.schema.names}
    return (
        row
        | {name: Decimal(amount) for name in MONEY_FACTS}
        | {
            "id": facts["payment_id"],
            "status": "completed",
            "fee_amount": Decimal(0),
            "receipt": sign_receipt(facts, Secret(SECRET)),
            "paid_at": at,
            "extracted_at": START,
        }
    )


def fill(folder: Path, tokens: int) -> Lake:
    """Make a lake of signed payments."""
    lake, end = Lake(folder), START + (MONTHS + 1) * 31 * DAY
    with open_writer(lake, {"id": MERCHANT_ID}, end) as writer:
        writer.begin_run(watermark=end, is_open_ended=True)
        for start in range(0, tokens, CHUNK):
            rows = [payment(n, tokens) for n in range(start, min(start + CHUNK, tokens))]
            writer.buffer(PAYMENTS).add(pa.Table.from_pylist(rows, schema=PAYMENTS.record_schema))
        writer.buffer(PAYMENTS).cover((BEGINNING, end))
        writer.publish()
    return lake


def verify_all(lake: Lake, workers: int = 1) -> int:
    """Verify every receipt of the lake as if for the first time; count them."""
    shutil.rmtree(lake.path / "receipt_verdicts", ignore_errors=True)
    return verify_lake(lake, settings(), workers=workers).checked


def rows_of(lake: Lake) -> Iterator[dict[str, object]]:
    columns = ["id", *[name for name in FACTS if name in PAYMENTS.schema.names], "receipt"]
    for month in lake.months(PAYMENTS):
        for group in read_groups(lake.month_path(PAYMENTS, month), columns):
            place = group.schema.get_field_index("paid_at")
            yield from group.set_column(
                place, "paid_at", group["paid_at"].cast(pa.int64())
            ).to_pylist()


def verify_plainly(lake: Lake) -> int:
    """Do the same by a plain loop over the standard library; count what is covered."""
    return sum(is_proven(row) for row in rows_of(lake))


def is_proven(row: dict[str, object]) -> bool:
    """Check one row as a reader of the contract would write it down."""
    version, payload, signature = str(row["receipt"]).split(".")
    mac = hmac.new(SECRET.encode(), f"{version}.{payload}".encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(base64.urlsafe_b64encode(mac).rstrip(b"=").decode(), signature):
        return False
    facts = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    record = row | {"payment_id": row["id"], "merchant_id": MERCHANT_ID}
    return all(
        Decimal(facts[name]) == record[name]
        if name in MONEY_FACTS
        else datetime.fromisoformat(facts[name]) == from_micros(record[name])
        if name == "paid_at"
        else facts[name] == record[name]
        for name in FACTS
    )


def _verify_in(path: Path) -> int:
    return verify_all(Lake(path))


def measure(lake: Lake, tokens: int) -> list[Bound]:
    """Compare the plain loop, one core and two, turn by turn."""
    ways: list[Callable[[], object]] = [
        lambda: verify_plainly(lake),
        lambda: verify_all(lake),
        lambda: verify_all(lake, 2),
    ]
    runs = list(zip(*([both_times(way) for way in ways] for _ in range(REPEATS)), strict=True))
    plain, one, two = (median(time for time, _ in each) for each in runs)
    worked = [median(work for _, work in each) for each in runs]
    for name, total in (("plain loop", plain), ("one core", one), ("two cores", two)):
        note(f"{name:<26} {total / tokens * 1e6:6.2f} µs a token, {total:.2f} s")
    return [
        Bound("plain loop / one core, by processor time", worked[0] / worked[1], 3, "x", True),
        Bound("one core / two cores", one / two, 1.8, "x", True),
        Bound(f"peak memory, {tokens:,} tokens", weighed(_verify_in, lake.path)[1], 600, "MB"),
    ]
