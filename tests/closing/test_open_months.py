"""Months that wait for a close: what keeps each from a seal, found for all of them together."""

import pytest

from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.open_months import reasons_of_months
from svc_analytics.statements.reading import Basis
from svc_analytics.statements.statement import prepare
from tests.support.rings import rings
from tests.support.seeded_lakes import Seeded, make_seeded_lake


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
