"""Seeding: repeatable, all or nothing, and never over something else."""

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, parse_instant
from svc_analytics.periods import month
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.sales import history

SMALL = Scenario(seed=5, months=2, payments=40)


def test_later_now_in_the_same_month_changes_nothing():
    """Of `until` only the month matters to the records."""
    early, late = (
        Scenario(until=parse_instant(text)[0], payments=40)
        for text in ("2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z")
    )
    assert list(history(early)) == list(history(late))
    assert early.identity == late.identity


@pytest.mark.parametrize(
    "other",
    [
        Scenario(seed=6, months=2, payments=40),
        Scenario(seed=5, months=3, payments=40),
        Scenario(seed=5, months=2, payments=41),
        Scenario(seed=5, months=2, payments=40, until=SMALL.until + 31 * DAY),
    ],
    ids=["seed", "months", "payments", "month"],
)
def test_store_of_another_scenario_is_refused(tmp_path, other):
    """A file is never filled twice, nor taken for what it is not."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        with pytest.raises(ConfigError, match="holds another scenario"):
            seed(store, other)


def test_seeded_store_is_used_as_it_is(tmp_path):
    """Seeding again writes nothing, whoever opens the file."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        before = _records(store)
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL, on_progress=lambda *_: pytest.fail("seeded again"))
        assert _records(store) == before


def test_seeding_cut_short_leaves_an_empty_store(tmp_path):
    """An interrupted seeding leaves nothing half-done behind; the next one does it all."""
    with Store(tmp_path / "sandbox.db") as store:
        with pytest.raises(KeyboardInterrupt):
            seed(store, SMALL, on_progress=_interrupt)
        assert store.scenario() is None
        seed(store, SMALL)
        assert store.scenario().identity == SMALL.identity


def test_seeded_store_has_its_books_open(tmp_path):
    """Summing up a long past is the seeding's work: no payment has to wait for it."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        booked = store.fetch("select count(*), max(at) from entries")
        assert booked[0][0] > 0
        Service(store, Clock(SMALL.until + DAY)).platform.open_wallets()
        assert store.fetch("select count(*), max(at) from entries") == booked


def test_payments_are_those_of_the_full_months():
    """`payments` counts the full months; the current one comes on top."""
    rows = [row for day in history(SMALL) for row in day.payments]
    current = month("2026-11")
    assert sum(row[-1] < current.start for row in rows) == 40
    assert any(current.start <= row[-1] < current.end for row in rows)
    assert all(SMALL.start <= row[-1] < current.end for row in rows)


def test_progress_counts_up_to_all_payments():
    """Progress is told in payments, and ends at their number."""
    told = []
    with Store() as store:
        seed(store, SMALL, on_progress=lambda done, total: told.append((done, total)))
        [(count,)] = store.fetch("select count(*) from payments")
    assert told[-1] == (count, count)
    assert told == sorted(told)


@pytest.mark.parametrize("parameters", [{"months": 0}, {"months": 241}, {"payments": -1}], ids=str)
def test_impossible_scenario_is_refused(parameters):
    """Parameters out of range are a setting's error, told by name."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        Scenario(**parameters)


def test_file_that_is_no_database_is_refused(tmp_path):
    """A wrong --db is named, and left untouched."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to look at\n" * 40)
    with Store(file) as store, pytest.raises(ConfigError, match=r"notes\.txt"):
        seed(store, SMALL)
    assert file.read_text().startswith("not a database")


def test_empty_store_cannot_be_served():
    """A service needs a scenario to know its merchant."""
    with Store() as store, pytest.raises(ConfigError, match="seed it first"):
        Service(store)


def _records(store):
    service = Service(store, Clock(SMALL.until))
    return [*service.records("payments"), *service.records("payout_records")]


def _interrupt(done, total):
    if 2 * done > total:
        raise KeyboardInterrupt
