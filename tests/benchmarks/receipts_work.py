"""What the benchmark of receipts times: the lake's verification, and a plain loop.

The plain loop is one of `hmac`, `base64` and `json` over the same month files, which compares the
same ten facts.
"""

import base64
import hmac
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from statistics import median

import pyarrow as pa

from svc_analytics import Settings, SigningSecret
from svc_analytics.instants import from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.month_file import read_groups
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import FACTS, MONEY_FACTS
from tests.benchmarks.bare_server import MERCHANT_ID, SECRET, serve
from tests.benchmarks.bounds import Bound, both_times, note, weighed
from tests.benchmarks.extract_benchmark import extract_all

REPEATS = 3


def settings() -> Settings:
    return Settings(receipt_secrets=(SigningSecret(SECRET),))


def fill(folder: Path, tokens: int) -> Lake:
    """Extract a lake of signed payments."""
    with serve(tokens) as base_url:
        extract_all(base_url, folder)
    return Lake(folder)


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
    key, signed = SECRET.reveal().encode(), f"{version}.{payload}".encode()
    mac = hmac.digest(key, signed, "sha256")
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
