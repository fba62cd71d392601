"""A manifest keeps English and codes: of another release, its English is what it says."""

from svc_analytics.messages import Message
from svc_analytics.render.document import Reason, Unknown, reason_facts, reasons_of

KEPT = "payout_records before 2026-10-01T00:00:00Z were not read"
ODD = {"code": "text.clauses", "values": {"FIRST": {"code": "{0}"}, "REST": ""}}
FACTS = {"figures": ["opening_position"], "coins": ["usdt"], "because": KEPT}


def test_a_code_that_this_release_does_not_know_leaves_the_english() -> None:
    """So does one whose places are others now, or that is no message at all."""
    for message in ({"code": "unknown.gone"}, {"code": "text.clauses"}, {"code": 5}, ["text"], ODD):
        assert Unknown.from_json(FACTS | {"message": message}).because == KEPT


def test_an_earlier_release_is_told_in_its_own_words() -> None:
    """Its manifest has no codes, and its page named the stream in words."""
    told = Unknown.from_json(FACTS).text
    assert told.endswith("unknown: payout records before 2026-10-01T00:00:00Z were not read")


def test_messages_that_are_no_list_are_none() -> None:
    """Anybody may hand in a manifest."""
    for odd in (None, {}, "text", 5):
        assert reasons_of({"reasons": ["typed"], "reason_messages": odd}) == (Reason("typed"),)


def test_each_reason_keeps_its_own_message() -> None:
    """Also behind one that has none."""
    reasons = (Reason("typed"), Reason(Message("reason.still_changes", count=3)))
    kept = reasons_of(reason_facts(reasons))
    assert kept == reasons
    assert [isinstance(one.text, Message) for one in kept] == [False, True]
