"""Two to sixteen machines write to one bucket: seeds, kills at a PUT, requests that come late."""

import pytest

from svc_analytics.bucket import writing
from svc_analytics.bucket.store import ObjectStore, Version, replace_object
from svc_analytics.bucket.writing import Lease
from svc_analytics.lake.writing import writer
from tests.simulation import machines
from tests.simulation.oracle import Broken
from tests.support.rings import rings

SAFE, LIVELY = 3, 5  # seeds of one test
SAFE_FROM = rings(range(0, SAFE, SAFE), range(0, 2_000, SAFE))
LIVELY_FROM = rings((), range(1_000, 1_500, LIVELY))
FOUND_BY = 153  # a seed that shows what happens without any condition


@pytest.mark.parametrize("first", SAFE_FROM)
def test_whatever_the_machines_do_no_row_is_lost_or_doubled(first):
    """And no time is called read that was not."""
    assert machines.try_seeds(range(first, first + SAFE), "safety") == []


@pytest.mark.parametrize("first", LIVELY_FROM)
def test_once_the_troubles_end_one_machine_reads_everything(first):
    assert machines.try_seeds(range(first, first + LIVELY), "liveness") == []


def test_without_conditions_rows_are_lost_and_it_is_seen(tmp_path, monkeypatch):
    """A simulator that finds nothing proves nothing."""

    def overwrite(store: ObjectStore, key: str, body: bytes, replaces: Version | None) -> Version:
        if key == writing.LEASE_KEY:  # only one writes at a time, as far as it can tell
            return replace_object(store, key, body, replaces)
        return store.put(key, body, store.list().get(key))

    monkeypatch.setattr(writing, "replace_object", overwrite)
    monkeypatch.setattr(Lease, "intend", lambda lease, key: None)
    monkeypatch.setattr(writer, "fence", lambda *of: None)
    with pytest.raises(Broken, match="rows that were put are gone"):
        machines.simulate(FOUND_BY, "safety", tmp_path)
