"""A seal keeps what was accepted when it was made: a clock that is set right alters no month."""

import csv
import time
from pathlib import Path
from unittest.mock import patch

from svc_analytics import verify_statement
from svc_analytics.closing.acceptances import accept
from svc_analytics.statements.statement import statement
from tests.closing.test_releases import WITH_A_FINDING
from tests.support.closings import Closer, table
from tests.support.fake_service import payment

ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0")
NEXT_YEAR = 1_827_360_000  # 28 November 2027
HELD = "record_could_be_held"


def lines(closer: Closer) -> Path:
    path: Path = closer.desk.lake.path / "acknowledgements.csv"
    return path


def test_a_month_sealed_by_a_clock_that_was_ahead_stays_as_it_was_sealed(closer):
    """What that clock dated 2027 counts for this month; a later content of the record does not."""
    closer.desk.service.payments.append(ODD | {"amount": "9.x"})
    closer.desk.extract()
    with patch.object(time, "time_ns", lambda: NEXT_YEAR * 10**9):
        accept(closer.desk.lake, HELD, ODD["id"], reason="a test of 9", by="Mina")
        sealed = closer.close()
    assert (sealed.state, ",2027-11-28T" in lines(closer).read_text()) == ("sealed", True)
    assert closer.close().state == "unchanged"
    verified = verify_statement(sealed.folder)
    assert (verified.holds, verified.unproven) == (True, ())
    closer.desk.service.payments[-1] = ODD | {"amount": "9000000.x"}
    assert closer.close().state == "provisional"


def test_what_is_accepted_after_a_seal_alters_nothing(closer):
    """A note of a sealed month, by whoever reads it later."""
    closer.serve(WITH_A_FINDING)
    sealed = closer.close()
    [note] = table(sealed.folder, "checks")
    accept(closer.desk.lake, note["check_name"], note["record_id"], reason="so it is", by="Ali")
    verified = verify_statement(sealed.folder)
    assert (verified.holds, verified.unproven, verified.table.num_rows) == (True, (), 0)
    assert closer.close().state == "unchanged"


def test_what_was_accepted_at_a_sealing_must_still_be(closer):
    """Its line was taken away: the lake no longer says that anybody accepted it."""
    closer.serve(WITH_A_FINDING)
    closer.desk.extract()
    [note] = statement(closer.desk.lake, "2026-10").tables["checks"].to_pylist()
    accept(closer.desk.lake, note["check_name"], note["record_id"], reason="so it is", by="Ali")
    sealed = closer.close()
    assert table(sealed.folder, "checks")[0]["acknowledged_by"] == "Ali"
    with lines(closer).open() as file:
        [head, _] = csv.reader(file)
    lines(closer).write_text(",".join(head) + "\n")
    assert f"1 of {note['check_name']} that the lake does not give" in str(
        verify_statement(sealed.folder).unproven
    )
