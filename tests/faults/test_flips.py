"""One flipped bit is never a silent answer: any file of a lake, any bit, through every door (J5).

    pytest -n auto -m thorough tests/faults/test_flips.py   # 10,000 flips

After a flip each command must say what it said before, or name the file, or mend it.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from svc_analytics import LakeError, SvcError, statement, verify_statement
from svc_analytics.cli.app import cli
from svc_analytics.lake.status import lake_status
from svc_analytics.receipts.verify_files import open_payments
from svc_analytics.receipts.verify_lake import verify_lake
from tests.conftest import is_thorough
from tests.extraction.test_lookups import EVER, look_up
from tests.receipts.test_verify_lake import SETTINGS, receipted
from tests.support.altered import flip
from tests.support.closings import Closer
from tests.support.desks import Desk
from tests.support.fake_service import binding, payment, payout, refund, session
from tests.support.rings import rings

USUAL, SEEDS, FLIPS = 1, 500, 20  # flips of every run; seeds of the deep ring, and flips of each
SEALED = "statements/2026-10"
TYPED = {  # by people, so that nothing vouches for them
    "acknowledgements.csv": "check,record_id,reason,by,at\nkind_is_known,x,old,Mina,2026-11-05\n",
    "assertions.csv": "at,currency,balance,note\n2026-10-20,usdt,100.5,seen\n",
}
GOOD = ("same", "detected", "repaired")
ALONE = {"statements": ["statement-verify"], ".ids": ["extract"]}  # all that reads these folders
Answer = Any


@dataclass
class House:
    """A lake with every kind of file, what it is to be like, and who serves it."""

    desk: Desk
    right: dict[str, bytes]
    _answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.desk.lake.path

    def answer(self, door: str) -> Answer:
        """What a door says of a lake that is as it is to be."""
        if door not in self._answers:
            self._answers[door] = DOORS[door](self.desk)
            self.restore()
        return self._answers[door]

    def restore(self) -> None:
        """Make every file what it is to be like, and leave no other."""
        for name in contents(self.path).keys() - self.right.keys():
            (self.path / name).unlink()
        for name, content in self.right.items():
            if not (self.path / name).exists() or (self.path / name).read_bytes() != content:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                (self.path / name).write_bytes(content)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that readers may read: no lock, and no database made for other tools."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "lock" not in path.name and path.suffix != ".duckdb"
    }


def asked(query: str) -> Callable[[Desk], Answer]:
    return lambda desk: desk.lake.sql(query).to_csv()


def told(*words: str) -> Callable[[Desk], Answer]:
    def door(desk: Desk) -> Answer:
        words_here = [*words, "--data-dir", str(desk.lake.path)]
        done = CliRunner().invoke(cli, words_here, standalone_mode=False)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    return door


def stated(desk: Desk) -> Answer:
    made = statement(desk.lake, "2026-10")
    merchant = {**made.merchant, "read_at": None}
    return made.status, made.reasons, made.content_digest(), merchant, made.coverage


def held(desk: Desk) -> Answer:
    found = verify_statement(desk.lake.path / SEALED, desk.lake)
    return found.broken, found.reasons, found.restatement.to_csv()


def verified(desk: Desk) -> Answer:
    verify_lake(desk.lake, SETTINGS)
    return asked("select payment_id, verdict, reason from receipt_status order by all")(desk)


def read_again(desk: Desk) -> Answer:
    desk.extract(rereads=True)
    rows = {name: desk.rows(name) for name in ("payments", "payout_records")}
    return rows, asked("select * exclude (extracted_at) from coverage order by all")(desk)


def find_payments(desk: Desk) -> Answer:
    with open_payments(desk.lake):
        pass


DOORS: dict[str, Callable[[Desk], Answer]] = {
    "statement": stated,
    "statement-verify": held,
    "sql payments": asked("from payments order by payment_id"),
    "sql net_settlement": asked("from net_settlement_monthly order by all"),
    "sql verdicts": asked("from receipt_status order by payment_id"),
    "sql sessions": asked("from sessions, bindings order by session_id, customer_id"),
    "check": told("check", "--json"),
    "status": lambda desk: lake_status(desk.lake),
    "views": told("views", "--json"),
    "explain": lambda desk: repr(desk.lake.explain("2026-10", "usdt", "opening_position")),
    "receipts": verified,
    "extract": read_again,
}
# The others that read months.
READERS = {name: DOORS[name] for name in DOORS if name not in ("statement-verify", "views")}
READERS |= {"tokens in files": find_payments, "close": lambda desk: Closer(desk).close("2026-10")}
QUICK = ("statement", "sql payments", "extract")  # those of every run


def build(folder: Path) -> Desk:
    """Four months: receipts, a refund, an older version, a rejected record, looked-up objects."""
    desk = Desk.at(folder / "data")
    start, service = datetime(2026, 8, 3, tzinfo=UTC), desk.service
    times = [f"{start + n * timedelta(days=3):%Y-%m-%dT%H:%M:%SZ}" for n in range(35)]
    service.payments = [receipted(n, at) for n, at in enumerate(times)]
    service.payments += [payment(50, "2026-11-09T00:00:00Z") | {"amount": "1e3"}]
    service.payouts = [payout(n, f"2026-{8 + n:02}-05T00:00:00Z") for n in range(4)]
    service.payouts += [refund(9, service.payments[25], "2026-10-25T00:00:00Z")]
    service.sessions = {of["session_id"]: session(of) for of in service.payments[:5]}
    service.bindings = {"C-1": binding("C-1")}
    desk.extract()
    service.payments[3] |= {"metadata": {"noted": "later"}}
    desk.extract(rereads=True)
    look_up(desk, sessions_of=EVER, customers=["C-1"])
    verify_lake(desk.lake, SETTINGS)
    for name, text in TYPED.items():
        (desk.lake.path / name).write_text(text)
    return desk


@pytest.fixture(scope="module")
def house(request, tmp_path_factory) -> House:
    """The lake; a sealed month is in it where the doors that open one are tried."""
    desk = build(tmp_path_factory.mktemp("flips"))
    if is_thorough(request.config):
        assert Closer(desk).close("2026-10").seal
    for door in ("receipts", "extract"):
        DOORS[door](desk)  # those that write: no other round changes a file
    return House(desk, contents(desk.lake.path))


def kind_of(name: str) -> str:
    """Group the files that are alike, so that each kind has its share of the flips."""
    folder, _, file = name.rpartition("/")
    return f"{folder}/0000-00" if file.startswith("0000-00") else folder or file


def judge(house: House, name: str, door: str, flipped: bytes) -> str:
    """Say what a door makes of a flipped file."""
    right = house.answer(door)
    (house.path / name).write_bytes(flipped)
    try:
        answer = DOORS[door](house.desk)
    except SvcError as error:
        is_named = all(part in str(error) for part in Path(name).parts)
        return "detected" if is_named else f"unnamed: {error}"
    except Exception as error:
        return f"internal error: {error!r}"
    if answer != right:
        is_named = Path(name).name in repr(answer)
        return "detected" if is_named or name in TYPED else "silent"
    path = house.path / name
    return "same" if path.exists() and path.read_bytes() == flipped else "repaired"


def flips(
    house: House, seed: int, count: int, doors: Iterable[str]
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Flip one bit at a time; yield the file, the bit, and what each door made of it."""
    chance, kinds = random.Random(seed), {}
    for name in house.right:
        kinds.setdefault(kind_of(name), []).append(name)
    for _ in range(count):
        name = chance.choice(kinds[chance.choice(sorted(kinds))])
        bit = chance.randrange(8 * len(house.right[name]))
        found = {}
        content = bytearray(house.right[name])
        content[bit // 8] ^= 1 << bit % 8
        for door in ALONE.get(name.split("/")[0], doors):
            found[door] = judge(house, name, door, bytes(content))
            house.restore()
        yield name, bit, found


@pytest.mark.parametrize(
    ("seed", "count", "doors"),
    rings([(0, USUAL, QUICK)], [(seed, FLIPS, (*DOORS,)) for seed in range(SEEDS)]),
)
def test_no_flipped_bit_is_a_silent_answer(house, seed, count, doors):
    """J5, G2: the same answer, or the file is named, or it is mended; never an internal error."""
    for name, bit, found in flips(house, seed, count, doors):
        wrong = {door: what for door, what in found.items() if what not in GOOD}
        assert not wrong, (name, bit, wrong)


@pytest.mark.parametrize("door", READERS)
def test_a_bit_of_another_month_stops_every_reader(house, door):
    """J5: October opens with what August holds; nothing is left of a snapshot that is refused."""
    path = house.path / "payments" / "2026-08.parquet"
    flip(path, path.stat().st_size // 2)
    try:
        with pytest.raises(
            LakeError, match=r"payments/2026-08\.parquet is torn or altered: move it"
        ):
            READERS[door](house.desk)
        assert not list(house.path.glob(".snapshot-*"))
    finally:
        house.restore()


LOST = [
    *("payments/2026-08.parquet", "receipt_verdicts/2026-09.parquet", "changes/payments/2*"),
    *("payments/2026-11.parquet", "payments/0000*", "payout_records/2026-09*", "sessions/held*"),
    *("receipt_verdicts/0000*", "changes/payments/0000*", "changes/payout_records/*"),
    *("quarantine/payments/*", "payout_records/0000*", "bindings/held*", "sessions/0000*"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", rings(LOST[:1], LOST))
def test_a_lost_file_is_noticed(house, pattern):
    """J5: check names what is gone, or the time that it held, or does not go on."""
    (path,) = house.path.glob(pattern)
    right = house.answer("check")
    path.unlink()
    try:
        assert DOORS["check"](house.desk) != right
    except SvcError as error:
        assert str(path.parent.relative_to(house.path)) in str(error)
    finally:
        house.restore()
