"""What was sealed once holds for good: two months as they were written are read by each build."""

import shutil

import pytest

from svc_analytics import verify_statement
from svc_analytics.closing.verification.facts import wrong_facts
from svc_analytics.messages import Message
from svc_analytics.render.document import Unknown
from tests.support.closings import Closer
from tests.support.sealed_months import FORMS, KEPT, MONTHS, closer_at

BY_OTHER_LIBRARIES = "was written by other libraries, or its words were altered"


@pytest.fixture
def kept(tmp_path) -> Closer:
    """A desk at a copy of the kept lake, whose service holds what it was read from."""
    shutil.copytree(KEPT, tmp_path / "kept")
    return closer_at(tmp_path / "kept")


def test_months_that_were_sealed_hold_and_no_later_close_restates_them(kept):
    """The service says the same as then: no file, fact or figure differs.

    Only the bytes of libraries may be those of another day.
    """
    closed = kept.close_all_due(formats=FORMS)
    assert [(one.label, one.state) for one in closed] == [(month, "unchanged") for month in MONTHS]
    for one in closed:
        checked = verify_statement(one.folder, kept.desk.lake)
        assert (checked.broken, checked.reasons, checked.table.num_rows) == ((), (), 0)
        assert not [text for text in checked.unproven if not text.endswith(BY_OTHER_LIBRARIES)]


def test_a_seal_from_before_messages_holds_and_a_forged_message_does_not():
    """What is unknown has the code beside its English only since codes are kept."""
    unknown = Unknown(("gross_sales",), ("btc",), Message("unknown.too_large")).to_json()
    other = unknown | {"message": Message("unknown.or_undefined").to_json()}
    older = {name: value for name, value in unknown.items() if name != "message"}
    for kept, wrong in ((unknown, 0), (older, 0), (other, 1)):
        assert len(wrong_facts({"unknown": [kept]}, {"unknown": [unknown]})) == wrong


def test_an_entry_that_nobody_expects_is_no_fact():
    """Also one that is null, which is no unknown figure and no reason."""
    for forged in ([None], [None, None], [{}]):
        assert len(wrong_facts({"unknown": forged}, {"unknown": []})) == 1
