"""Runs: months that wait on disk while they are read, and are merged once."""

from pathlib import Path

import pytest

from svc_analytics.coverage import difference
from tests.support.rings import rings
from tests.support.waiting import Told, draw_story, tell_at_once, tell_spilling

STORIES = rings(range(0, 40, 10), range(0, 2_000, 10))


@pytest.mark.parametrize("first", STORIES)
def test_what_waited_on_disk_comes_to_be_as_if_published_at_once(
    first: int, tmp_path: Path
) -> None:
    """Rows, coverage, counts of rejected records and older versions, after any kill."""
    found = 0
    for seed in range(first, first + 10):
        story = draw_story(seed)
        tell_at_once(tmp_path / f"{seed}", story)
        found += tell_spilling(tmp_path / f"{seed} spilled", story, seed)
        told, spilled = Told.of(tmp_path / f"{seed}"), Told.of(tmp_path / f"{seed} spilled")
        assert spilled.rows == told.rows, seed
        assert spilled.quarantined == told.quarantined, seed
        assert spilled.superseded >= told.superseded, seed
        # The instant that a record has moved to is read again, if its file was there before.
        lost = difference(told.coverage.read, spilled.coverage.read)
        assert sum(end - start for start, end in lost) <= seed % 2 * 25, seed
        assert not difference(spilled.coverage.read, told.coverage.read), seed
        assert not [*(tmp_path / f"{seed} spilled").glob(".runs*")], seed
    assert found > 10
