"""The months before a statement's own: counted once for a lake that stays as it is."""

import pytest

from svc_analytics.errors import LakeError
from svc_analytics.statements import trend
from svc_analytics.statements.reading import Basis
from svc_analytics.warehouse.acknowledgements import Acceptances
from tests.support.altered import flip
from tests.support.seeded_lakes import LAST, Seeded, make_seeded_lake

MANY_MONTHS = 1  # the seed of a lake with records in several months


@pytest.fixture
def seeded(tmp_path, monkeypatch) -> Seeded:
    """A lake of which nothing is cached, whatever tests came before."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    return make_seeded_lake(tmp_path / "data", MANY_MONTHS)


@pytest.fixture
def asked(monkeypatch) -> list[object]:
    """The questions that the lake's records were asked."""
    questions: list[object] = []
    count = trend.count
    monkeypatch.setattr(trend, "count", lambda *a, **k: questions.append(a) or count(*a, **k))
    return questions


def trend_of(seeded: Seeded, *, is_anew: bool = False):
    acceptances = Acceptances.of(seeded.lake, seeded.now)
    return trend.read_trend(seeded.lake, LAST, LAST.end, seeded.now, acceptances, is_anew=is_anew)


def test_the_same_lake_is_asked_once(seeded, asked):
    """Every digit and type of it is what was counted."""
    first, second = trend_of(seeded), trend_of(seeded)
    assert len(asked) == 1 and first.num_rows and first.equals(second)


def test_what_is_sealed_or_verified_is_counted_though_the_trend_is_known(seeded, asked):
    """By default the basis of a statement takes nothing from the cache."""
    assert trend_of(seeded).equals(trend_of(seeded, is_anew=True)) and len(asked) == 2
    assert not Basis(seeded.now, ()).may_be_cached


def test_a_lake_that_changed_is_asked_again(seeded, asked):
    """Here a file of payments is gone."""
    trend_of(seeded)
    next(seeded.lake.path.glob("payments/*.parquet")).unlink()
    trend_of(seeded)
    assert len(asked) == 2


def test_a_damaged_file_is_refused_though_the_trend_is_known(seeded, asked):
    """The footer names the same content; one bit of the rows is another."""
    trend_of(seeded)
    flip(sorted(seeded.lake.path.glob("payments/2026-*.parquet"))[0], 8)
    with pytest.raises(LakeError, match="altered"):
        trend_of(seeded)
