"""Coverage: sets of time, against sets of single moments taken one by one."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given, strategies as st

from svc_analytics.coverage import Coverage, Span, describe_span, difference, intersection, union
from svc_analytics.instants import BEGINNING
from tests.support.unit_material import examples

edges = st.integers(-12, 12)
spans = st.lists(st.tuples(edges, edges), max_size=6)  # empty and backward ones among them
coverages = st.builds(Coverage.of, spans, edges)


def moments(spans: Iterable[Span]) -> set[int]:
    """The model: every moment in a set of spans, one by one."""
    return {moment for start, end in spans for moment in range(start, end)}


def is_tidy(spans: tuple[Span, ...]) -> bool:
    """Whether spans are what `Spans` promises: not empty, disjoint, not touching, in order."""
    apart = all(before[1] < after[0] for before, after in pairwise(spans))
    return apart and all(start < end for start, end in spans)


@examples
@given(st.lists(spans, max_size=3))
def test_union_holds_what_any_set_holds(sets):
    """A union is every moment of every set, in tidy spans."""
    united = union(*sets)
    assert moments(united) == set().union(*map(moments, sets))
    assert is_tidy(united)
    assert union(united) == united


@examples
@given(spans, spans)
def test_difference_holds_what_only_the_first_set_holds(first, second):
    """A difference is every moment of the first set that is not in the second."""
    left = difference(first, second)
    assert moments(left) == moments(first) - moments(second)
    assert is_tidy(left)


@examples
@given(spans, edges, edges)
def test_clip_holds_what_lies_within(given_spans, start, end):
    """Clipping keeps every moment within the bounds and no other."""
    clipped = intersection(given_spans, start, end)
    assert moments(clipped) == moments(given_spans) & moments([(start, end)])
    assert is_tidy(clipped)


@examples
@given(spans, edges)
def test_time_is_complete_before_it_settled_and_provisional_after(given_spans, settled_at):
    """I6: coverage claims exactly what was read, and is sure of what had settled."""
    coverage = Coverage.of(given_spans, settled_at)
    assert moments(coverage.complete) == {at for at in moments(given_spans) if at < settled_at}
    assert moments(coverage.provisional) == {at for at in moments(given_spans) if at >= settled_at}


@examples
@given(coverages, coverages)
def test_adding_keeps_the_surer_claim(one, other):
    """What is complete in either is complete; what is read in either is read; never both."""
    both = one.add(other)
    complete = moments(one.complete) | moments(other.complete)
    assert moments(both.complete) == complete
    assert moments(both.provisional) == (moments(one.read) | moments(other.read)) - complete
    assert both == other.add(one)
    assert is_tidy(both.complete) and is_tidy(both.provisional)


@examples
@given(coverages, spans)
def test_removing_takes_time_out_of_both(coverage, taken):
    """Removed time is neither complete nor provisional; all else stays as it was."""
    left = coverage.remove(iter(taken))
    assert moments(left.complete) == moments(coverage.complete) - moments(taken)
    assert moments(left.provisional) == moments(coverage.provisional) - moments(taken)


@examples
@given(coverages, edges, edges)
def test_within_is_the_part_of_an_interval(coverage, start, end):
    """The coverage of an interval says of it what the whole says."""
    part = coverage.clip(start, end)
    assert moments(part.complete) == moments(coverage.complete) & moments([(start, end)])
    assert moments(part.provisional) == moments(coverage.provisional) & moments([(start, end)])


@examples
@given(coverages)
def test_read_time_is_both_together(coverage):
    """All that was read is what is complete and what is provisional, in tidy spans."""
    assert moments(coverage.read) == moments(coverage.complete) | moments(coverage.provisional)
    assert is_tidy(coverage.read)


@examples
@given(coverages)
def test_nothing_changes_nothing(coverage):
    """Adding or removing nothing, or adding itself, leaves coverage as it was."""
    assert coverage.add(Coverage()) == coverage == coverage.add(coverage)
    assert coverage.remove(()) == coverage
    assert coverage.remove(coverage.read) == Coverage()


def test_a_span_from_the_beginning_is_told_in_words():
    """Its end is an instant, also where it is the beginning of nothing else."""
    assert describe_span((BEGINNING, 0)) == "the beginning .. 1970-01-01T00:00:00Z"
    assert describe_span((0, BEGINNING)).startswith("1970-01-01T00:00:00Z .. 0001-")
