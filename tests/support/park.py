"""Thirty small lakes of odd kinds, kept as a release wrote them; every later one must state them.

    python -m tests.support.park

writes `tests/park/RELEASE.tar.xz`: the lakes, and beside each what that release stated of it. A
file that is there is never made again: a newer release adds one of its own, for the lakes that
only it can write.
"""

import csv
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from svc_analytics import Lakehouse, Message, Statement, statement
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import parse_bound, to_micros
from svc_analytics.lake.layout import tool_version
from tests.support.desks import SETTINGS, Desk
from tests.support.fake_service import NOW, FakeService, payment, payout, refund
from tests.support.ledgers import read_ledger
from tests.support.seeded_lakes import make_seeded_lake

PARK = Path(__file__).parents[1] / "park"
ASKED, STATED = "asked.json", "stated.csv"
SEEDS = range(1, 14)
OF_EACH_SEED = 3  # of the periods that a seeded lake is made to be asked for
UNKNOWN = "unknown"

Key = tuple[str, str, str]  # a period, a coin, and a figure
Stated = dict[Key, str]

PLAIN = """
 kind     currency  amount  fee   at                of  usd_value  fee_bearer
 payment  btc       0.5     0.005 2026-08-31T23:59      31000      merchant
 payment  usdt      100.25  1     2026-09-10T10:00      100.25     merchant
 refund   btc       0.1           2026-10-07T08:00  1   6100
 payout   usdt      30      0.3   2026-10-20T08:00      30
 payment  usdt      80      0.8   2026-10-21T09:00      80         merchant
"""
EDGES = """
 kind     currency  amount  fee   at                           of  usd_value
 payment  usdt      10      0.1   2026-09-30T23:59:59.999999Z      10
 payment  usdt      20      0.2   2026-10-01T00:00:00Z             20
 payment  usdt      40      0.4   2026-10-31T20:30:00Z             40
 payment  usdt      80      0.8   2026-10-31T23:59:59.999999Z      80
 refund   usdt      5             2026-11-01T00:00:00Z         4   5
"""
DIGITS = """
 kind     currency  amount                                  fee                   at              of
 payment  eth       1.000000000000000003                    0.000000000000000001  2026-10-01T10:00
 payment  eth       9999999999999999999.999999999999999999  0                     2026-10-02T10:00
 refund   eth       0.333333333333333333                                          2026-10-03T10:00 1
"""
COINS = """
 kind     currency      amount  fee  at                of  usd_value
 payment  tether/trc20  10      0.1  2026-10-01T10:00      10
 payment  1inch         3       0    2026-10-02T10:00
 payout   unpriced      7       0.1  2026-10-03T10:00
"""
BEARERS = """
 kind     currency  amount  fee  at                of  usd_value  fee_bearer  charged_amount
 payment  usdt      10      0.1  2026-10-01T10:00      10         customer    10.1
 payment  usdt      20      0.2  2026-10-02T10:00      20         platform    20
 payment  usdt      30      0.3  2026-10-03T10:00      30         merchant    30
"""
BREAKS = """
 kind       currency  amount  fee  at                of  usd_value  status
 payment    usdt      10      0.1  2026-10-01T10:00      10         completed
 payment    usdt      20      0.2  2026-10-02T10:00      20         reversed
 refund     usdt      15           2026-10-03T10:00  1   15         completed
 chargeback usdt      1       0    2026-10-04T10:00      1          completed
"""
LEAP = """
 kind     currency  amount  fee   at                of  usd_value
 payment  usdt      10      0.1   2024-02-29T23:00      10
 payment  usdt      20      0.2   2024-03-20T21:00      20
 refund   usdt      4             2024-03-21T00:00  1   4
"""


def _read(desk: Desk, ledger: str) -> None:
    """Let a lake made by hand be told a ledger, besides what its service holds already."""
    payments, others = read_ledger(ledger)
    desk.service.payments += payments
    desk.service.payouts += others
    desk.extract()


def _ledger(ledger: str, folder: Path) -> None:
    _read(Desk.at(folder), ledger)


def _without_payouts(folder: Path) -> None:
    _read(Desk(FakeService(), replace(SETTINGS, payout_key=None), Lakehouse(folder)), PLAIN)


def _rejected(folder: Path) -> None:
    """An amount with a 19th place, and one whose currency is missing."""
    desk = Desk.at(folder)
    odd = payment(90, "2026-10-05T08:00:00Z", "0.0000000000000000001", "0", net_amount="0")
    bare = payment(91, "2026-10-06T08:00:00Z") | {"currency": None}
    desk.service.payments += [odd, bare]
    _read(desk, PLAIN)


def _restated(folder: Path) -> None:
    """A payment of the newest day has another amount when it is read again."""
    desk = Desk.at(folder)
    desk.service.payments.append(payment(90, "2026-11-20T08:00:00Z", "10"))
    _read(desk, PLAIN)
    desk.service.payments[0] |= {"amount": "12", "charged_amount": "12", "net_amount": "11.9"}
    desk.extract()


def _unlisted(folder: Path) -> None:
    """The service knows a payment of the newest day, and lists it no more."""
    desk = Desk.at(folder)
    gone = payment(90, "2026-11-20T08:00:00Z", "10")
    desk.service.payments.append(gone)
    _read(desk, PLAIN)
    desk.service.hidden.add(gone["id"])
    desk.extract()


def _unknown_parent(folder: Path) -> None:
    """A refund of a payment that was made before the service's list begins."""
    desk = Desk.at(folder)
    desk.service.payouts.append(
        refund(90, payment(91, "2020-01-01T00:00:00Z"), "2026-10-05T08:00:00Z", "3")
    )
    _read(desk, PLAIN)


def _settled_later(folder: Path) -> None:
    """A payout is created in October and settled in November."""
    desk = Desk.at(folder)
    times = {"settled_at": "2026-11-01T00:00:03Z"}
    desk.service.payouts.append(payout(90, "2026-10-31T23:59:58Z", "9", "0.09", **times))
    _read(desk, PLAIN)


def _renamed(folder: Path) -> None:
    desk = Desk.at(folder)
    _read(desk, PLAIN)
    desk.service.merchant |= {"display_name": "Bazaar", "display_name_fa": "بازار"}
    desk.extract()


def _typed(folder: Path) -> None:
    """People wrote down balances, and accepted a finding."""
    _read(Desk.at(folder), BREAKS)
    at = "2026-11-01T00:00:00Z,usdt"
    (folder / "assertions.csv").write_text(
        f"at,currency,balance,note\n{at},5,read off\n", encoding="utf-8"
    )
    (folder / "acknowledgements.csv").write_text(
        "check,record_id,reason,by,at\n"
        f"status_is_known,{payment(2, '')['id']},seen,Sara,2026-11-02T00:00:00Z\n",
        encoding="utf-8",
    )


def _gap(folder: Path) -> None:
    """Two runs left three days of October between them."""
    desk = Desk.at(folder)
    desk.serve(PLAIN)
    for start, end in (("2026-08-01", "2026-10-10"), ("2026-10-13", "2026-11-20")):
        desk.extract(start=parse_bound(start), end=parse_bound(end))


OCTOBER, MEHR = ("2026-10", "UTC", None), ("1405-07", "Asia/Tehran", "jalali")
# Each lake by its name: what makes it, and the periods to ask it for.
BY_HAND: dict[str, tuple[Callable[[Path], None], tuple[tuple[str, str, str | None], ...]]] = {
    "empty": (partial(_ledger, " kind"), (OCTOBER,)),
    "plain": (partial(_ledger, PLAIN), (OCTOBER, MEHR, ("2026-Q4", "UTC", None))),
    "edges": (partial(_ledger, EDGES), (OCTOBER, ("2026-10", "Asia/Tehran", None))),
    "digits": (partial(_ledger, DIGITS), (OCTOBER,)),
    "coins": (partial(_ledger, COINS), (OCTOBER,)),
    "bearers": (partial(_ledger, BEARERS), (OCTOBER,)),
    "breaks": (partial(_ledger, BREAKS), (OCTOBER,)),
    "leap": (partial(_ledger, LEAP), (("2024-02", "UTC", None), ("1403-01", "UTC", "jalali"))),
    "without payouts": (_without_payouts, (OCTOBER,)),
    "rejected": (_rejected, (OCTOBER,)),
    "restated": (_restated, (("2026-11", "UTC", None),)),
    "unlisted": (_unlisted, (("2026-11", "UTC", None),)),
    "unknown parent": (_unknown_parent, (OCTOBER,)),
    "settled later": (_settled_later, (OCTOBER, ("2026-11", "UTC", None))),
    "renamed": (_renamed, (OCTOBER,)),
    "typed": (_typed, (OCTOBER,)),
    "gap": (_gap, (OCTOBER, ("2026", "UTC", None))),
}


def stated(folder: Path) -> Stated:
    """State the periods that a kept lake is asked for: each figure of each coin, as text."""
    asked = json.loads((folder / ASKED).read_text(encoding="utf-8"))
    found: Stated = {}
    for label, zone, calendar in asked["periods"]:
        options = {"zone": zone, "calendar": calendar, "as_of": asked["as_of"]}
        made = statement(Lakehouse(folder), label, now=asked["now"], **options)
        found |= {(made.period.folder, *key): value for *key, value in _facts(made)}
    return found


def _facts(made: Statement) -> Iterator[tuple[str, str, str]]:
    """Yield what a statement says: its status and findings, then its figures by coin."""
    yield "", "status", made.status
    for reason in made.reasons:
        code = reason.text.code if isinstance(reason.text, Message) else reason.text
        yield "", f"reason {code}", "yes"
    checks = made.tables["checks"]["check_name"].to_pylist()
    yield from (("", f"findings of {name}", str(checks.count(name))) for name in {*checks})
    for name in ("lines", "receipts"):
        yield "", f"rows of {name}", str(len(made.tables[name]))
    for row in made.tables["summary"].drop_columns("period").to_pylist():
        coin = row.pop("currency")
        yield from ((coin, name, _text(value)) for name, value in row.items())
    for row in made.tables["figures"].to_pylist():
        yield row["currency"], row["name"], _text(row["value"])


def _text(value: Any) -> str:
    return UNKNOWN if value is None else value_text(value)


def read_stated(folder: Path) -> Stated:
    """Return what the release that wrote a lake stated of it."""
    with (folder / STATED).open(encoding="utf-8", newline="") as file:
        return {(period, coin, name): value for period, coin, name, value in csv.reader(file)}


def archives() -> list[Path]:
    return sorted(PARK.glob("*.tar.xz"))


def kept_names() -> list[str]:
    """Return the names of all kept lakes: the release that wrote each, and its kind."""
    found: dict[str, None] = {}
    for archive in archives():
        with tarfile.open(archive) as file:
            parts = (Path(name).parts for name in file.getnames())
            found |= {f"{archive.name.removesuffix('.tar.xz')}/{each[0]}": None for each in parts}
    return [*found]


def unpack(name: str, folder: Path) -> Path:
    """Put a kept lake into a folder, and return where it lies."""
    release, _, kind = name.partition("/")
    with tarfile.open(PARK / f"{release}.tar.xz") as file:
        members = [each for each in file if Path(each.name).parts[0] == kind]
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 has none
        file.extractall(folder, members)
    return folder / kind


# ---------- made once


def make(folder: Path) -> None:
    """Write every lake below a folder, with what this release states of it."""
    for kind, (fill, periods) in BY_HAND.items():
        fill(folder / kind)
        _finish(folder / kind, to_micros(NOW), None, periods)
    for seed in SEEDS:
        seeded = make_seeded_lake(folder / f"seed {seed}", seed)
        asked = [(one.label, one.zone, one.calendar) for one in seeded.asked[:OF_EACH_SEED]]
        _finish(folder / f"seed {seed}", seeded.now, seeded.as_of, asked)


def _finish(folder: Path, now: int, as_of: int | None, periods: Any) -> None:
    asked = {"now": now, "as_of": as_of, "periods": periods}
    (folder / ASKED).write_text(json.dumps(asked), encoding="utf-8")
    with (folder / STATED).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            (*key, value) for key, value in sorted(stated(folder).items())
        )


def main() -> None:
    target = PARK / f"{tool_version()}.tar.xz"
    if target.exists():
        raise SystemExit(f"{target} is kept as it is: a lake of the park is never made again")
    with TemporaryDirectory() as place:
        make(Path(place))
        target.parent.mkdir(exist_ok=True)
        with tarfile.open(target, "w:xz", preset=9 | lzma.PRESET_EXTREME) as file:
            for path in sorted(Path(place).rglob("*")):
                name = path.relative_to(place)
                is_made = name.name == "analytics.duckdb" or name.parts[1:2] == (".ids",)
                if path.is_file() and not is_made and not name.name.endswith(".lock"):
                    file.add(path, str(name))


if __name__ == "__main__":
    main()
