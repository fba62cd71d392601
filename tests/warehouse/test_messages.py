"""Beside what a finding says stands the message that it is made of: a code and values."""

import json

import pytest

from svc_analytics.lake.layout import quarantine_path
from svc_analytics.lake.side_files import read_side_file, replace_file
from svc_analytics.messages import Message
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.statement import statement
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.prepared import extracted

ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0") | {"amount": "9.x"}
SAID = "payment of 9.x usdt: amount: not a plain decimal amount: '9.x'"


@pytest.fixture
def odd(desk) -> Desk:
    """A lake with one record that could not be held, and one that breaks a rule."""
    desk.service.payments = [ODD, payment(2, "2026-10-09T12:00:00Z") | {"fee_bearer": None}]
    return extracted(desk)


def test_a_record_that_was_set_aside_keeps_its_reason_as_a_message(odd):
    """Within it stands what its amount is, in the quarantine and in a statement's findings."""
    [kept] = read_side_file(quarantine_path(odd.lake.path, PAYMENTS))["message"].to_pylist()
    assert [*Message.from_json(json.loads(kept)).codes()] == ["record.wrong", "amount.not_plain"]
    checks = statement(odd.lake, "2026-10").tables["checks"].to_pylist()
    [found] = [row["message"] for row in checks if row["detail"] == SAID]
    codes = [*Message.from_json(json.loads(found)).codes()]
    assert codes == ["finding.rejected_of", "record.wrong", "amount.not_plain"]


def test_a_quarantine_of_an_earlier_release_is_read_as_before(odd):
    """It has no messages."""
    path = quarantine_path(odd.lake.path, PAYMENTS)
    table = read_side_file(path).drop_columns(["message"])
    replace_file(odd.lake.storage.write(path), table.schema, [table])
    assert SAID in statement(odd.lake, "2026-10").tables["checks"]["detail"].to_pylist()
    odd.extract(rereads=True)
    assert odd.lake.sql("select reason from stg_quarantine")["reason"][0] in SAID
