"""What the library tells the logger `svc_analytics`: what was done, and what needs a person."""

import logging
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.support.closings import Closer
from tests.support.fake_service import once, payment, refusal

SILENT = "import svc_analytics as svc, svc_analytics.log as log; log.LOG.warning('heard')"


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """What was told at a level; all of it to the one logger that is documented."""
    assert {each.name for each in caplog.records} <= {"svc_analytics"}
    return [each.getMessage() for each in caplog.records if each.levelno == level]


@pytest.fixture
def heard(caplog) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "svc_analytics")
    return caplog


def test_who_does_not_listen_hears_nothing():
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_reading_tells_what_it_read_and_which_call_it_made_again(history, desk, heard):
    history.intercept = once(refusal(503), path="/payments")
    desk.extract()
    # A page that is read again may repeat some rows.
    [told] = lines(heard, logging.INFO)
    assert re.fullmatch(
        r"read 4\d\d rows of payments, 9 rows of payout_records up to 2026-11-20T12:00:00Z", told
    )
    assert lines(heard, logging.DEBUG)[0].startswith("/payments is called again: ")
    assert not lines(heard, logging.WARNING)


def test_a_record_that_was_set_aside_is_a_warning(service, desk, heard):
    service.payments = [payment(1, "2026-10-05T00:00:00Z") | {"amount": "much"}]
    desk.extract()
    assert lines(heard, logging.WARNING) == ["records set aside: 1"]


@pytest.mark.usefixtures("kept")
def test_a_sealed_month_is_told_and_a_restated_one_is_a_warning(desk, heard):
    closer = Closer(desk)
    closer.serve()
    sealed = closer.close("2026-10")
    assert any(text.startswith("2026-10 sealed as ") for text in lines(heard, logging.INFO))
    assert not lines(heard, logging.WARNING)
    replace(sealed, state="restated", version=2).logged()
    assert lines(heard, logging.WARNING)[0].startswith("2026-10 restated as version 2")
