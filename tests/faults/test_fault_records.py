"""Records that break the contract, met in a run: kept, set aside or refused, never guessed (D)."""

import json
from typing import Any

import httpx
import pytest
from desks import Desk
from fake_service import Record, payment

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
