"""The machine-readable description of exactly what is served."""

from typing import Any

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.sandbox.listing import DEFAULT_LIMIT, KINDS, MOST_ROWS
from svc_analytics.sandbox.routes import PREFIX, Route
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Column, Stream

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_INSTANT: Json = {"type": "string", "format": "date-time"}
_COLUMNS: dict[str, Json] = {
    "text": _TEXT,
    "money": {"type": "string", "pattern": AMOUNT_PATTERN},
    "instant": _INSTANT,
    "json": {"type": "object"},
}
_NULLABLE = ("payment_id", "reference_id")  # of payout records: plain ones, and console ones
_FILTERS: dict[str, Json] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": DEFAULT_LIMIT},
    "cursor": _TEXT,
    "currency": _TEXT,
    "kind": {"type": "string", "enum": list(KINDS)},
    "from": _INSTANT,
    "to": _INSTANT,
}
_REFUSALS = {
    401: "The key is missing, malformed, revoked or unknown",
    403: "The key is of the wrong class",
    404: "No such object under this account",
    422: "The request breaks its schema, or the receipt does not verify",
}


def describe(routes: tuple[Route, ...]) -> Json:
    """Return the OpenAPI document of these routes."""
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Merchant Payments API (sandbox)", "version": "v1"},
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> Json:
    parameters = [_parameter(name, "query", _FILTERS[name]) for name in route.filters]
    if route.has_id:
        parameters.append(_parameter("id", "path", _TEXT) | {"required": True})
    operation: Json = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": parameters,
        "responses": {
            "200": _content("Success", route.answers),
            **{str(status): _content(_REFUSALS[status], "Error") for status in route.refusals},
            "default": _content("Any other failure", "Error"),
        },
    }
    if route.body:
        operation["requestBody"] = _content("The request", route.body) | {"required": True}
    return operation


def _parameter(name: str, place: str, schema: Json) -> Json:
    return {"name": name, "in": place, "schema": schema}


def _content(description: str, schema: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _ref(schema)}}}


def _ref(schema: str) -> Json:
    return {"$ref": f"#/components/schemas/{schema}"}


def _schemas() -> dict[str, Json]:
    codes = {"type": "array", "items": _TEXT}
    return {
        "Payment": _record(PAYMENTS),
        "PayoutRecord": _record(PAYOUT_RECORDS, nullable=_NULLABLE),
        "PaymentPage": _page("Payment"),
        "PayoutPage": _page("PayoutRecord"),
        "Profile": _object(
            id=_TEXT,
            display_name=_TEXT,
            display_name_fa=_TEXT,
            logo_url=_TEXT,
            status=_TEXT,
            accepted_currencies={"type": "array", "items": _TEXT},
            webhook_url=_TEXT,
        ),
        "ReceiptToken": _object(receipt=_TEXT),
        "ReceiptCheck": _object(valid={"type": "boolean"}, payment=_ref("Payment")),
        "Error": _object(statusCode={"type": "integer"}, errors=_object(error=codes)),
    }


def _record(stream: Stream, nullable: tuple[str, ...] = ()) -> Json:
    def schema(column: Column) -> Json:
        plain = _COLUMNS[column.kind]
        return {**plain, "type": ["string", "null"]} if column.name in nullable else plain

    return _object(**{column.name: schema(column) for column in stream.columns})


def _page(record: str) -> Json:
    rows = {"type": "array", "items": _ref(record)}
    return _object(data=rows, next_cursor={"type": ["string", "null"]})


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}
