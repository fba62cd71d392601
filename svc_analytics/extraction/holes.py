"""Holes: months of which the list lacks many records, and nobody has accepted that."""

from collections.abc import Iterable, Sequence

from svc_analytics.coverage import Spans, union
from svc_analytics.instants import from_micros
from svc_analytics.lake.unlisted import Unlisted
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.warehouse.acknowledgements import (
    Acknowledgement,
    content_of,
    read_acknowledgements,
)

FEW = 20  # records of a month that a list may lack without being short
# The rules that name what is not listed: one by one, and where a month lacks more than a few.
EACH, MANY = "record_is_still_listed", "listed_records_remain"
MOST_SPANS = 100  # read apart; of more, what lies between them is read too


def find_holes(files: MonthFiles, few: int = FEW) -> dict[str, list[Unlisted]]:
    """Return by month the records that the list lacks, where they are more than a few.

    What a person accepted is none: one by one, or as the one finding that they are together.
    """
    if all(len(footer.unlisted) <= few for footer in files.footers.values()):
        return {}
    marks = read_acknowledgements(files.lake.path)
    named = {mark.record_id for mark in marks if mark.check == EACH}
    left = {
        label: [each for each in footer.unlisted if each.id not in named]
        for label, footer in sorted(files.footers.items())
    }
    return {
        label: records
        for label, records in left.items()
        if len(records) > few and not _is_accepted(f"{files.stream.name} {label}", records, marks)
    }


def hole_spans(files: MonthFiles) -> Spans:
    """Return the time in which the records of holes were listed, to be read again."""
    before = files.stream.settles_within  # they are booked so long after at most
    missing = (each for records in find_holes(files).values() for each in records)
    return few_spans(union((each.booked_at - before, each.booked_at + 1) for each in missing))


def few_spans(spans: Spans) -> Spans:
    """Return spans, as one if they are many: a reading costs more for each."""
    return spans if len(spans) <= MOST_SPANS else ((spans[0][0], spans[-1][1]),)


def _is_accepted(name: str, records: Sequence[Unlisted], marks: Iterable[Acknowledgement]) -> bool:
    """Whether a person accepted these records, as the rule states them: by one digest of all."""
    facts = (fact for each in records for fact in (each.id, each.content, each.said))
    seen_at = from_micros(max(each.noticed_at for each in records))
    finding = {"content": content_of(*facts), "seen_at": seen_at}
    named = (mark for mark in marks if (mark.check, mark.record_id) == (MANY, name))
    return any(mark.covers(finding) for mark in named)
