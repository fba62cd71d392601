"""The README and the pages of docs/: their code blocks, and a desk to run them at.

The desk stands at noon on 20 November 2026, so that October is always the last full month.
Beside it, the sandbox it was filled from still answers, with its settings in `.env`. The demo's
lake is made once for all processes of a run, and copied to where it is wanted.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest
from filelock import FileLock

import svc_analytics as svc
from svc_analytics.instants import to_micros
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed, serve
from svc_analytics.sandbox.server import Running, write_env_file

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs" / "pages").rglob("*.md"))
NOW = to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC))
_BLOCK = re.compile(r"^```(\w*)\n(.+?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code: the page it stands on, its language and its text."""

    page: Path
    language: str
    text: str


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of code in some languages, in the order of the pages."""
    return [
        Block(page, language, text)
        for page in [README, *PAGES]
        for language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def name_of(value: object) -> str:
    """Return the name of a block or a page in the list of tests."""
    page = value.page if isinstance(value, Block) else value
    return page.stem if isinstance(page, Path) else str(value)[:60]


@contextmanager
def demo_desk(folder: Path, months: int = 12, payments: int = 20_000) -> Iterator[Running]:
    """Work in a folder in which the demo has just run, at its hour, beside its sandbox."""
    clock = Clock(NOW)
    with patch.object(time, "time_ns", lambda: NOW * 1000), chdir(folder), Store() as store:
        seed(store, Scenario(months=months, payments=payments, until=NOW))
        with serve(Service(store, clock)) as running:
            write_env_file(Path(".env"), running.environment)
            lake = svc.open_lake("data")
            svc.extract(lake)
            verify_lake(lake, svc.read_settings())
            svc.close(lake, "2026-10")
            yield running


def write_orders(lake: Lakehouse, path: Path) -> None:
    """Write the list of a shop that does not agree with October: what the page on it shows."""
    query = """
        select
            reference_id, paid_on,
            case returned when charged_amount then 'refunded' else
                if(returned > 0, 'partially refunded', 'paid') end as status,
            currency, amount
        from payments
        left join (
            select payment_id, sum(amount) as returned from refunds group by payment_id
        ) using (payment_id)
        where month = '2026-10'
        order by all
    """
    orders = [list(map(str, row)) for row in lake.sql(query).values.tolist()]
    orders[3][2], orders[5][4] = "cancelled", "1000.00"
    lost = ["A-7001", "2026-10-31", "paid", "usdt", "48.25"]
    lines = [["Order ID", "Date", "Status", "Currency", "Total"], *orders[:1], *orders[2:], lost]
    path.write_text("".join(f"{','.join(line)}\n" for line in lines), encoding="utf-8")


def demo_copy(factory: pytest.TempPathFactory) -> Lakehouse:
    """Return a lake of about 120 payments of three months, with verified receipts."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made = shared / "demo-lake" / "data"
    with FileLock(shared / "demo-lake.lock"):
        if not made.exists():
            svc.demo_lake(made, months=3, payments=120)
    place = factory.mktemp("desk") / "data"
    shutil.copytree(made, place)
    return Lakehouse(place)
