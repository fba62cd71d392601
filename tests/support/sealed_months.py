"""Sealed months, kept as two commits wrote them; every later release must keep them.

`tests/closing/sealed_months/COMMIT.tar.xz` is a lake that the program of that commit read from the
model service on a socket, and closed two months of. A file that is there is never made again. It is
made of a checkout of the commit, from the clone of today:

    git worktree add ../COMMIT COMMIT
    python -m venv ../COMMIT/.venv && ../COMMIT/.venv/bin/pip install -e ../COMMIT
    python -m tests.support.sealed_months COMMIT ../COMMIT/.venv/bin/svc-analytics
"""

import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.closings import Closer
from tests.support.desks import Desk
from tests.support.fake_service import CHECKOUT_KEY, MERCHANT_ID, PAYOUT_KEY, FakeService, payment
from tests.support.forms import FORMS
from tests.support.ledgers import read_ledger
from tests.support.loopback import on_a_socket
from tests.support.receipt_material import FACTS, SECRET, signed
from tests.support.signers import make_key

SEALED_BEFORE = Path(__file__).parents[1] / "closing" / "sealed_months"
COMMITS = ("e830cbc", "26661a7c")
MONTHS = ("2026-09", "2026-10")
SEALED = (  # of a kept lake, beside the forms that each has
    (MONTHS[0], "--format", ",".join(FORMS)),
    (MONTHS[1], "--format", "csv,parquet"),
    ("1405-07", "--format", "csv", "--zone", "Asia/Tehran"),
)
LEDGER = """
 kind    currency amount               fee                  at               of usd_value fee_bearer
 payment btc      0.5                  0.005                2026-09-03T09:00    31000.5   merchant
 payment usdt     1200.25              12.0025              2026-09-10T10:00    1200.25   merchant
 payment eth      2.000000000000000001 0.020000000000000001 2026-09-30T23:59    5000      merchant
 refund  usdt     200.25                                    2026-09-12T08:00 2  200.25
 payout  usdt     300                  3                    2026-09-20T08:00    300
 payment btc      0.25                 0.0025               2026-10-01T00:00    16000     customer
 payment usdt     80                   0.8                  2026-10-05T08:00              merchant
 refund  btc      0.1                                       2026-10-07T08:00 1  6100
 refund  usdt     1000                                      2026-10-08T08:00 2  1000
 payout  eth      1                    0.01                 2026-10-09T08:00    2600
"""
NOVEMBER = """
 kind    currency amount               fee                  at               of usd_value fee_bearer
 payment usdt     40                   0.4                  2026-11-03T09:00    40        merchant
 payment btc      0.125                0.00125              2026-11-04T09:00    8000      merchant
 refund  usdt     15                                        2026-11-06T08:00 1  15
"""
BALANCES = "at,currency,balance,note\n2026-10-01T00:00:00Z,usdt,700,read off by Sara\n"


def closer_at(lake: Path) -> Closer:
    """Return what closes months of a lake at a service that holds the ledger."""
    closer = Closer(Desk.at(lake))
    closer.serve(LEDGER)
    return closer


def make(lake: Path, formats: Sequence[str] = FORMS) -> None:
    """Write a lake, with both months sealed in every form but PDF, or in some."""
    closer = closer_at(lake)
    closer.confirm(*MONTHS)
    for month in MONTHS:
        closed = closer.close(month, formats=formats)
        assert closed.state == "sealed", closed.reasons


# ---------- kept lakes


def unpack(commit: str, folder: Path) -> Path:
    """Put the lake that a commit wrote into a folder; return where it lies."""
    with tarfile.open(SEALED_BEFORE / f"{commit}.tar.xz") as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 has none
        file.extractall(folder)
    return folder / "data"


def service_of_kept() -> FakeService:
    """Return the service that they were read from: payments have a receipt and a `channel`.

    The last one could not be held then.
    """
    service = FakeService(now=None)
    service.payments, service.payouts = read_ledger(LEDGER)
    payments, others = read_ledger(NOVEMBER, first=11)
    days = (f"2026-{9 + n // 12:02}-{2 * (n % 12) + 2:02}T12:30:00Z" for n in range(24))
    service.payments += [*payments, *(payment(20 + n, day) for n, day in enumerate(days))]
    service.payouts += others
    service.payments.append(payment(90, "2026-11-05T08:00:00Z"))
    for number, record in enumerate(service.payments):
        facts = {name: record.get(name, MERCHANT_ID) for name in FACTS if name != "payment_id"}
        record["receipt"] = signed({"payment_id": record["id"]} | facts)
        record["channel"] = ("web", 'the "app"', None)[number % 3]
    return service


# ---------- made once


def write_kept(program: str, folder: Path) -> None:
    """Let a program read the service and close both months, as a person would."""
    service = service_of_kept()
    service.payments[-1]["amount"] = "0.0000000000000000001"
    (folder / "data").mkdir()
    (folder / "data" / "assertions.csv").write_text(BALANCES, encoding="utf-8")
    helps = subprocess.run([program, "close", "--help"], capture_output=True, check=True).stdout
    key = make_key(folder, "key") if b"--sign" in helps else None
    with on_a_socket(service) as address:
        settings = {"BASE_URL": address, "CHECKOUT_KEY": CHECKOUT_KEY, "PAYOUT_KEY": PAYOUT_KEY}
        settings |= {"RECEIPT_SECRETS": SECRET, **({"SIGNING_KEY": str(key)} if key else {})}
        environment = os.environ | {f"SVC_{name}": value for name, value in settings.items()}

        def run(*words: str, code: int = 0) -> None:
            done = subprocess.run([program, *words], cwd=folder, env=environment, check=False)
            assert done.returncode == code, (words, done.returncode)

        run("extract", code=3)  # for the record with a 19th place
        for words in SEALED:
            run("close", "--month", *words, *(["--sign"] * bool(key)))
        service.payments[5]["metadata"] = {"cart": 0}
        run("extract", "--reread", "--from", "2026-11-01", code=3)
        run("views")
    if key:
        key.unlink()
        key.with_suffix(".pub").rename(folder / "data" / "key.pub")


def main() -> None:
    commit, program = sys.argv[1:]
    target = SEALED_BEFORE / f"{commit}.tar.xz"
    if target.exists():
        raise SystemExit(f"{target} is kept as it is: a sealed month is never made again")
    with TemporaryDirectory() as place:
        write_kept(str(Path(program).absolute()), Path(place))
        (Path(place) / "data" / "analytics.duckdb").unlink()
        SEALED_BEFORE.mkdir(exist_ok=True)
        with tarfile.open(target, "w:xz", preset=9 | lzma.PRESET_EXTREME) as file:
            file.add(Path(place) / "data", "data")


if __name__ == "__main__":
    main()
