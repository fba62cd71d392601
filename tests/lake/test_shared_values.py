"""Receipt numbers and references that stand in two months: at least one of their files says so."""

import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from typing import Any

import pytest

from svc_analytics.lake.footer import Shared
from svc_analytics.lake.index import shared
from svc_analytics.lake.month_files import MonthFiles
from svc_analytics.schema import PAYMENTS
from tests.simulation.virtual import Killed
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment

COLUMNS = ("receipt_no", "reference_id")


@pytest.fixture
def held(service: FakeService, desk: Desk) -> Desk:
    """Two payments a month from January to June; each has a number of its own."""
    days = [f"2026-{month:02}-{day:02}T00:00:00Z" for month in range(1, 7) for day in (3, 4)]
    service.payments = [payment(n, at) for n, at in enumerate(days)]
    desk.extract()
    return desk


def listed(desk: Desk) -> dict[str, Shared]:
    """What each month's footer lists."""
    return {label: footer.shared for label, footer in desk.lake.footers(PAYMENTS).items()}


def unlisted(desk: Desk) -> list[tuple[str, str, str]]:
    """Values in two months of which neither footer lists them, or says that there are many."""
    homes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in desk.rows():
        for column in COLUMNS:
            homes[column, row[column]].add(f"{row['paid_at']:%Y-%m}")
    lists = listed(desk)

    def tells(label: str, column: str, value: str) -> bool:
        values = lists[label].get(column)
        return values is None or value in values

    return [
        (column, value, " ".join(pair))
        for (column, value), months in homes.items()
        if value is not None
        for pair in combinations(sorted(months), 2)
        if not any(tells(label, column, value) for label in pair)
    ]


def test_a_month_lists_the_numbers_of_its_new_rows_that_other_months_hold(held: Desk) -> None:
    """June's new payment has the number of one in February; no reference stands twice."""
    number = held.service.payments[2]["receipt_no"]
    held.service.payments.append(payment(90, "2026-06-20T00:00:00Z", receipt_no=number))
    held.extract(rereads=True)
    assert listed(held)["2026-06"] == {"receipt_no": (number,), "reference_id": ()}
    assert listed(held)["2026-02"] == {"receipt_no": (), "reference_id": ()}


def test_where_there_are_many_a_month_says_so_and_goes_on_saying_it(
    held: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three numbers are more than two; whoever reads that reads every month."""
    monkeypatch.setattr(shared, "MOST", 2)
    for n in range(3):
        number = held.service.payments[n]["receipt_no"]
        held.service.payments.append(payment(90 + n, "2026-06-20T00:00:00Z", receipt_no=number))
    held.extract(rereads=True)
    assert listed(held)["2026-06"] == {"receipt_no": None, "reference_id": ()}
    held.service.payments.append(payment(95, "2026-06-21T00:00:00Z"))
    held.extract(rereads=True)
    assert listed(held)["2026-06"] == {"receipt_no": None, "reference_id": ()}


def one_of(service: FakeService, chance: random.Random) -> Any:
    return chance.choice(service.payments)


def at(chance: random.Random) -> str:
    return f"2026-{chance.randint(1, 7):02}-{chance.randint(5, 28):02}T00:00:00Z"


STEPS: dict[str, Callable[[FakeService, random.Random], Any]] = {
    "a payment with a number of another": lambda service, chance: service.payments.append(
        payment(
            100 + len(service.payments),
            at(chance),
            **{name: one_of(service, chance)[name] for name in chance.sample(COLUMNS, 1)},
        )
    ),
    "two at once with one new number": lambda service, chance: service.payments.extend(
        [
            payment(500 + 2 * count + n, at(chance), receipt_no=f"new {count}")
            for count in [len(service.payments)]
            for n in range(2)
        ]
    ),
    "a payment restated to a number of another": lambda service, chance: one_of(
        service, chance
    ).update(receipt_no=one_of(service, chance)["receipt_no"]),
    "a payment without a number": lambda service, chance: one_of(service, chance).update(
        receipt_no=None
    ),
    "a payment that moves": lambda service, chance: one_of(service, chance).update(
        paid_at=at(chance)
    ),
}


@pytest.mark.parametrize("seed", range(4))
def test_of_two_months_with_one_value_a_footer_lists_it_whatever_happens(
    held: Desk, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a run is killed between two files, or hashes are lost."""
    chance = random.Random(seed)
    write = MonthFiles.write
    written = 0

    def write_few(self: MonthFiles, *args: Any, **more: Any) -> None:
        nonlocal written
        if written == 0:
            raise Killed
        written -= 1
        write(self, *args, **more)

    monkeypatch.setattr(MonthFiles, "write", write_few)
    for _ in range(5):
        for name in chance.sample(sorted(STEPS), 3):
            STEPS[name](held.service, chance)
        written = chance.choice([1, 2, 3, 1_000])
        with suppress(Killed):
            held.extract(workers=1, rereads=True)
        assert not unlisted(held)
        if chance.random() < 0.3:
            for path in (held.lake.path / ".ids").rglob("*.hashes"):
                path.unlink()
    written = 1_000
    held.extract(workers=1, rereads=True)
    assert not unlisted(held) and len(held.rows()) == len(held.service.payments)
