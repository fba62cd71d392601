"""Months that wait for a close: what keeps each from a seal, found for all of them together."""

import pytest

from svc_analytics.closing.month_states import (
    LakeContents,
    judge_open,
    judged,
    month_states,
    reasons_of_months,
)
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.reading import Basis
from svc_analytics.statements.statement import prepare
from tests.support.rings import rings
from tests.support.seeded_lakes import Seeded, make_seeded_lake

SEVERAL_MONTHS = 3  # the seed of a lake with records in several months


def reasons_of_statements(seeded: Seeded, periods):
    """The same from the statement of each, made one after another."""
    basis = Basis(seeded.now, read_assertions(seeded.lake.path), has_trend=False)
    return [prepare(seeded.lake, period, basis).reasons for period in periods]


@pytest.mark.parametrize("seed", rings(range(6), range(150)))
def test_each_waits_for_what_its_statement_says(tmp_path, seed):
    """Unread and provisional time, findings in the month, between months and of none."""
    seeded = make_seeded_lake(tmp_path, seed)
    periods = [each for each in (*seeded.months, *seeded.asked) if each.end <= seeded.now]
    together = reasons_of_months(seeded.lake, periods, seeded.now)
    assert together == reasons_of_statements(seeded, periods)


def test_those_without_a_sealed_month_before_them_are_judged_together(tmp_path, monkeypatch):
    """Each has the state that it has when it is looked at alone, and the next look asks nothing."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    seeded = make_seeded_lake(tmp_path / "data", SEVERAL_MONTHS)
    lake, contents = seeded.lake, LakeContents.read(seeded.lake)
    states = month_states(lake, seeded.now, "UTC", "gregorian", contents)
    together = judge_open(lake, states, seeded.now, contents)
    over = [state for state in reversed(states) if state.kind != "running"]
    assert len(together) == len(over) > 2
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("SVC_CACHE_DIR", str(tmp_path / "empty"))
        assert together == [judged(lake, state, seeded.now, contents) for state in over]
    assert judge_open(lake, states, seeded.now, contents) == []
