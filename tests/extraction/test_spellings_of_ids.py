"""A UUID in capitals is the same id, wherever one is read."""

import pytest

import svc_analytics as svc
from tests.support.closings import findings_of
from tests.support.fake_service import MERCHANT_ID, payment, refund
from tests.support.receipt_material import SECRET, signed
from tests.support.rings import rings

PAID = "2026-10-05T09:30:00Z"
RETURNED = "2026-10-06T00:00:00Z"
Record = dict[str, str]


def capitals(record: Record, *names: str) -> Record:
    return record | {name: record[name].upper() for name in names}


def facts_of(record: Record) -> Record:
    stated = {name: str(record[name]) for name in record}
    return stated | {"payment_id": stated["id"], "merchant_id": MERCHANT_ID}


@pytest.mark.parametrize(
    "names", rings([["id", "payment_id"]], [["id"], ["payment_id"]]), ids=" and ".join
)
def test_a_refund_finds_its_payment_in_either_spelling(service, desk, names):
    """The payment of 10 in capitals, or named so by its refund of 4: nothing is unresolved."""
    paid = payment(1, PAID)
    returned = refund(1, paid, RETURNED, "4")
    service.payments = [capitals(paid, "id") if "id" in names else paid]
    service.payouts = [capitals(returned, "payment_id") if "payment_id" in names else returned]
    desk.extract()
    [row] = desk.lake.sql("from refunds").to_dict("records")
    assert (row["amount"], row["payment_month"]) == (4, "2026-10")


def test_one_payment_listed_in_two_spellings_is_one_record(service, desk):
    """On one page, on two, and in a later run."""
    paid = payment(1, PAID)
    for listed in ([paid, capitals(paid, "id")], [capitals(paid, "id")], [paid]):
        service.payments = [*listed, payment(2, PAID)]
        desk.extract(rereads=True)
        assert len(desk.ids()) == 2
    assert findings_of(desk.lake, "record_was_not_restated").empty


@pytest.mark.parametrize(
    "names", [("payment_id",), ("merchant_id",), ("payment_id", "merchant_id")]
)
def test_a_receipt_in_capitals_proves_its_payment(service, desk, names):
    """The signature is over the text as it came; the facts are compared as ids."""
    paid = payment(1, PAID)
    token = signed(capitals(facts_of(paid), *names))
    service.payments = [paid | {"receipt": token}]
    desk.extract()
    verdicts = svc.verify_receipts([token], secrets=[SECRET], lake=desk.lake)
    assert list(verdicts["verdict"]) == ["valid"]
