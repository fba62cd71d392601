"""OpenAPI document of exactly the routes that are served."""

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.http.openapi_schemas import (
    FREE,
    INSTANT,
    MONEY,
    TEXT,
    UUID,
    Json,
    an_object,
    ref,
    write_schemas,
)
from svc_analytics.sandbox.http.routes import PREFIX, Route
from svc_analytics.sandbox.resources.list_query import DEFAULT_LIMIT, KINDS, MAX_ROWS
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Column, Stream

_COLUMNS: dict[str, Json] = {
    "text": TEXT,
    "money": MONEY,
    "instant": INSTANT,
    "json": FREE,
}
# payment_id: payouts have none. reference_id: console payouts have none. usd_value: no rate.
_NULLABLE = ("payment_id", "reference_id", "usd_value")
_UUIDS = ("id", "session_id", "payer_id", "payment_id")
_FILTERS: dict[str, Json] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_LIMIT},
    "cursor": TEXT,
    "currency": TEXT,
    "kind": {"type": "string", "enum": list(KINDS)},
    "from": INSTANT,
    "to": INSTANT,
}
_REFUSALS = {
    401: "The key is missing, malformed, revoked or unknown",
    403: "The key is of the wrong class, or the merchant may not do this",
    404: "No such object under this account, or the account behind the key is no business",
    409: "The reference is taken, or the object's state forbids this",
    422: "The request breaks its schema or a rule of the contract",
    429: "Too many requests, or a budget is spent",
    500: "Failure on the service side",
    502: "Failure between here and the service",
    503: "Temporarily unable to serve, maintenance, or no live rate",
}


def describe(routes: tuple[Route, ...]) -> Json:
    """Return the OpenAPI document of the routes."""
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
    if route.id_name:
        named = _parameter(route.id_name, "path", {"type": "string", "minLength": 1})
        parameters.append(named | {"required": True})
    operation: Json = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": parameters,
        "responses": {
            str(route.status): _content("Success", route.response),
            **{str(status): _refusal(status, codes) for status, codes in route.refusals.items()},
        },
    }
    if route.body:
        operation["requestBody"] = _content("The request", route.body) | {"required": True}
    return operation


def _parameter(name: str, place: str, schema: Json) -> Json:
    return {"name": name, "in": place, "schema": schema}


def _content(description: str, schema: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": ref(schema)}}}


def _refusal(status: int, codes: list[str]) -> Json:
    """Return an error response; its codes are examples because new codes may appear."""
    refusal = _content(_REFUSALS[status], "Error")
    examples = {code: {"value": Refusal(status, code).envelope} for code in codes}
    refusal["content"]["application/json"]["examples"] = examples
    return refusal


def _schemas() -> dict[str, Json]:
    code = {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"}
    codes = {"type": "array", "items": code, "minItems": 1}
    return {
        **write_schemas(),
        "Payment": _record(PAYMENTS, nullable=("usd_value",)),
        "PayoutRecord": _record(PAYOUT_RECORDS, nullable=_NULLABLE),
        "PaymentPage": _page("Payment"),
        "PayoutPage": _page("PayoutRecord"),
        "Profile": an_object(
            id=UUID,
            display_name=TEXT,
            display_name_fa=TEXT,
            logo_url=TEXT,
            status=TEXT,
            accepted_currencies={"type": "array", "items": TEXT},
            webhook_url=TEXT,
        ),
        "ReceiptToken": an_object(receipt=TEXT),
        "ReceiptCheck": an_object(valid={"type": "boolean"}, payment=ref("Payment")),
        "Error": an_object(statusCode={"type": "integer"}, errors=an_object(error=codes)),
    }


def _record(stream: Stream, nullable: tuple[str, ...] = ()) -> Json:
    def schema(column: Column) -> Json:
        plain = UUID if column.name in _UUIDS else _COLUMNS[column.kind]
        return {**plain, "type": ["string", "null"]} if column.name in nullable else plain

    return an_object(**{column.name: schema(column) for column in stream.columns})


def _page(record: str) -> Json:
    rows = {"type": "array", "items": ref(record)}
    return an_object(data=rows, next_cursor={"type": ["string", "null"]})
