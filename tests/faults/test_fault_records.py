"""Records that break the contract, met in a run: kept, set aside or refused, never guessed (D)."""

import json
from decimal import Decimal
from typing import Any

import httpx
import pytest

from svc_analytics.statements.statement import statement
from tests.support.desks import Desk
from tests.support.fake_service import (
    Record,
    payment,
    refund,
)
from tests.support.rings import sample

AT = "2026-10-01T00:00:00Z"


def serve_texts(desk: Desk, texts: list[str]) -> None:
    """Let the service answer with one page of payments written like this."""

    def answer(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/payments"):
            return None
        body = f'{{"data":[{",".join(texts)}],"next_cursor":null}}'.encode()
        return httpx.Response(200, content=body, headers={"content-type": "application/json"})

    desk.service.intercept = answer


def with_metadata(record: Record, metadata: str) -> str:
    rest = {name: value for name, value in record.items() if name != "metadata"}
    return f'{json.dumps(rest)[:-1]},"metadata":{metadata}}}'


REWRITTEN: dict[str, tuple[str, str, int]] = {
    "keys in another order": ('{"a":1,"b":2}', '{"b":2,"a":1}', 0),
    "a number of 5000 digits": (f'{{"a":1,"n":{"9" * 5000}}}', f'{{"n":{"9" * 5000},"a":1}}', 0),
    "its last digit": (f'{{"n":{"9" * 5000}}}', f'{{"n":{"9" * 4999}8}}', 1),
    "a float beyond any": ('{"a":1,"n":1e999999}', '{"n":1e999999,"a":1}', 0),
    "a number that becomes a text": ('{"a":1.5}', '{"a":"1.5"}', 1),
    "half of a surrogate pair": (r'{"a":"\ud800","b":1}', r'{"b":1,"a":"\ud800"}', 0),
    "900 levels": (f'{{"a":{"[" * 900}{"]" * 900}}}', f'{{"a": {"[" * 900}{"]" * 900}}}', 0),
}


@pytest.mark.parametrize(("before", "after", "changed"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_metadata_written_differently_stops_no_run(
    desk: Desk, before: str, after: str, changed: int
) -> None:
    """D6, D7: what a payer may have typed is compared by meaning, whatever it holds."""
    record: Any = payment(1, AT)
    serve_texts(desk, [with_metadata(record, before)])
    desk.extract()
    serve_texts(desk, [with_metadata(record, after)])
    assert desk.extract(rereads=True).published.changed == changed
    assert desk.ids() == [record["id"]]


def sale(number: int, **more: Any) -> Record:
    return payment(number, "2026-10-02T00:00:00Z", **more)


def test_a_blocking_finding_keeps_a_statement_from_being_final(desk: Desk) -> None:
    """D8: the reason says which rule, and the figures are those of the rows."""
    desk.service.payments = [sale(1)]
    desk.service.payouts = [refund(1, sale(1), AT, "6"), refund(2, sale(1), AT, "5")]
    desk.extract()
    made = statement(desk.lake, "2026-10")
    assert [reason.text for reason in made.reasons] == [
        "1 refund returns more than its payment was charged (refunds_stay_within_charged_amount)"
    ]
    assert made.tables["summary"]["refunds_paid"].to_pylist() == [Decimal(11)]


@pytest.mark.parametrize(
    ("change", "changed"),
    sample([({}, 0), ({"metadata": {"cart": "other"}}, 1), ({"payer_id": "another"}, 1)], 3),
    ids=["same content", "metadata differs", "identity differs"],
)
def test_one_id_twice_on_a_page_is_one_row(desk: Desk, change: Record, changed: int) -> None:
    """D7: which of two versions holds nobody knows; the other is kept beside it and blocks."""
    desk.service.payments = [sale(1), sale(1) | change, sale(2)]
    run = desk.extract()
    assert run.published.changed == changed and len(desk.ids()) == 2
    found = desk.lake.sql("select check_name from exceptions where severity = 'blocking'")
    assert found["check_name"].to_list() == ["record_was_not_restated"] * ("payer_id" in change)
    assert desk.extract(rereads=True).published.files <= 1
