"""Routes of the API, as `routes.toml` lists them, and their OpenAPI document."""

import tomllib
from importlib.resources import files

import msgspec

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.sandbox.coins import PLAIN_PATTERN
from svc_analytics.sandbox.service import DEFAULT_LIMIT, KINDS, MAX_ROWS
from svc_analytics.sandbox.validation import HTTPS_PATTERN, MAX_URI, Json, Refusal
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Stream

PREFIX = "/api/pay/v1"


class ServedRoute(msgspec.Struct, frozen=True):
    """Describe a method and path; `operation` names the `Service` method that runs."""

    method: str
    path: str
    operation: str
    summary: str
    response: str  # the schema of a successful response
    filters: tuple[str, ...] = ()  # the query parameters of a list
    body: str | None = None  # the schema of the request body
    codes: tuple[str, ...] = ()  # error codes besides those that follow from what it is
    status: int = 200  # of a successful response

    @property
    def classes(self) -> tuple[str, ...]:
        """The key classes that reach the route (Authentication 4)."""
        top = self.path.split("/")[1]
        if top == "payouts" or self.path.endswith("/refund"):
            return ("payout",)
        return ("checkout", "payout") if top in ("me", "payments") else ("checkout",)

    @property
    def refusals(self) -> dict[int, list[str]]:
        """The error codes of the route by HTTP status."""
        codes = {*self.codes, *_API.everywhere}
        if len(self.classes) == 1:
            codes.add("PAY_WRONG_KEY_KIND")
        if self.id_name == "id":
            codes.add("PAY_SESSION_NOT_FOUND")  # of any object of the account
        if self.body or self.filters:
            codes.add("VALIDATION_FAILED")
        if self.body:
            codes.add("PAYLOAD_TOO_LARGE")
        if self.id_name:
            codes.add("NOT_FOUND")  # an empty id makes a path that no route serves
        by_status = {at: sorted(codes & {*one.codes}) for at, one in _API.statuses.items()}
        return {status: known for status, known in by_status.items() if known}

    @property
    def id_name(self) -> str | None:
        """The name of the id in the path, if it has one."""
        parts = [part for part in self.path.split("/") if part.startswith("{")]
        return parts[0].strip("{}") if parts else None


class AnswerStatus(msgspec.Struct):
    """Say what an HTTP status means, and which error codes can come with it."""

    meaning: str
    codes: tuple[str, ...]


class ApiDescription(msgspec.Struct, forbid_unknown_fields=True):
    """Hold `routes.toml`: the routes, and whatever the OpenAPI document says of them all."""

    everywhere: tuple[str, ...]  # error codes of every route
    about: str
    keys: str
    routes: tuple[ServedRoute, ...]
    statuses: dict[int, AnswerStatus]
    tags: dict[str, str]
    objects: dict[str, tuple[str, ...]]  # their required and their optional members


_TEXT = (files("svc_analytics.sandbox") / "routes.toml").read_text(encoding="utf-8")
_API = msgspec.convert(tomllib.loads(_TEXT), ApiDescription, str_keys=True)
ROUTES = _API.routes

# Which kind of value a query parameter and a member of a body is, for the OpenAPI document.
_FILTERS = {"limit": "rows", "kind": "kind", "from": "instant", "to": "instant"}  # others are text

_KINDS: dict[str, Json] = {
    "text": {"type": "string"},
    "uuid": {"type": "string", "format": "uuid"},
    "uri": {"type": "string", "format": "uri"},
    "https": {"type": "string", "pattern": HTTPS_PATTERN, "maxLength": MAX_URI},
    "instant": {"type": "string", "format": "date-time"},
    "money": {"type": "string", "pattern": AMOUNT_PATTERN},
    # Text of this form that is no valid amount is refused with PAY_AMOUNT_INVALID.
    "asked": {"type": "string", "pattern": PLAIN_PATTERN},
    "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "kind": {"type": "string", "enum": list(KINDS)},
    "approve": {"type": "string", "const": "approve"},
    "reject": {"type": "string", "const": "reject"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "minutes": {"type": "integer", "minimum": 5, "maximum": 1440},
    "rows": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_LIMIT},
    "json": {"type": "object"},
}
_NEW_SESSION = (
    "reference_id:1-128 title:1-128",
    "description:0-512? return_url:https? cancel_url:https? amounts:[NewAmount]1-10?"
    " price_usd:asked? metadata:json? ttl_minutes:minutes?",
)
_UUIDS = ("id", "session_id", "payer_id", "payment_id")
# What no lake has to have, and the contract gives of every record.
_ALWAYS_GIVEN = {
    PAYMENTS.name: "receipt_no session_id reference_id fee_bearer payer_id metadata receipt",
    PAYOUT_RECORDS.name: "fee_percent payer_id comment",
}


def describe(routes: tuple[ServedRoute, ...]) -> Json:
    """Return the OpenAPI document of the routes."""
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    key = {"type": "http", "scheme": "bearer", "description": _API.keys}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Merchant Payments API (sandbox)",
            "version": "v1",
            "description": _API.about,
        },
        "servers": [{"url": "/", "description": "The sandbox that serves this document"}],
        "tags": [{"name": name, "description": text} for name, text in _API.tags.items()],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": key},
        },
    }


def _operation(route: ServedRoute) -> Json:
    parameters: list[Json] = [
        {"name": name, "in": "query", "schema": _schema(_FILTERS.get(name, "text"))}
        for name in route.filters
    ]
    if route.id_name:
        schema = {"type": "string", "minLength": 1}
        named = {"name": route.id_name, "in": "path", "schema": schema, "required": True}
        parameters.append(named)
    only = route.classes[0]
    needed = f"a {only}-class key" if len(route.classes) == 1 else "a key of either class"
    operation: Json = {
        "operationId": route.operation,
        "summary": route.summary,
        "description": f"Needs {needed}.",
        "tags": [route.path.split("/")[1]],
        "parameters": parameters,
        "responses": {
            str(route.status): _content("Success", route.response),
            **{str(status): _refusal(status, codes) for status, codes in route.refusals.items()},
        },
    }
    if route.body:
        operation["requestBody"] = _content("The request", route.body) | {"required": True}
    return operation


def _content(description: str, name: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _schema(name)}}}


def _refusal(status: int, codes: list[str]) -> Json:
    """Return an error response; its codes are examples because new codes may appear."""
    refusal = _content(_API.statuses[status].meaning, "Error")
    examples = {code: {"value": Refusal(status, code).envelope} for code in codes}
    refusal["content"]["application/json"]["examples"] = examples
    return refusal


def _schemas() -> dict[str, Json]:
    customer, codes = _object("id:1-128 name:1-256 email:1-320"), _object("error:[code]1-")
    # A rejection needs a reason.
    review = [_object("action:approve", "reason:0-512?"), _object("action:reject reason:1-512")]
    return {
        **{name: _object(*members) for name, members in _API.objects.items()},
        "NewSession": _object(*_NEW_SESSION, customer=customer),
        "Payment": _record(PAYMENTS),
        "PayoutRecord": _record(PAYOUT_RECORDS),
        "Review": {"oneOf": review},
        "Error": _object("statusCode:integer", errors=codes),
    }


def _record(stream: Stream) -> Json:
    always = _ALWAYS_GIVEN[stream.name].split()
    kinds: dict[str, str] = {column.name: column.kind for column in stream.columns}
    kinds |= {name: "uuid" for name in _UUIDS if name in kinds}
    for column in stream.columns:
        if not (column.is_required or column.name in always):
            kinds[column.name] += "?"
    return _object(" ".join(f"{name}:{kind}" for name, kind in kinds.items()))


def _object(required: str, optional: str = "", **inner: Json) -> Json:
    """Return the schema of an object from its members as text; inner objects are required."""
    kinds = dict(member.partition(":")[::2] for member in f"{required} {optional}".split())
    properties = {name: _schema(kind or "text") for name, kind in kinds.items()} | inner
    needed = [*(member.partition(":")[0] for member in required.split()), *inner]
    return {"type": "object", "properties": properties, "required": needed}


def _schema(kind: str) -> Json:
    """Return the schema of a kind."""
    if kind.endswith("?"):
        return _or_null(_schema(kind[:-1]))
    if kind.startswith("["):
        item, _, size = kind[1:].partition("]")
        return {"type": "array", "items": _schema(item), **_limits("Items", size)}
    if kind[0].isdigit():
        return {"type": "string", **_limits("Length", kind)}
    return _KINDS.get(kind) or {"$ref": f"#/components/schemas/{kind}"}


def _or_null(schema: Json) -> Json:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _limits(of: str, size: str) -> Json:
    least, _, most = size.partition("-")
    bounds = {"min": least, "max": most}
    return {f"{name}{of}": int(bound) for name, bound in bounds.items() if bound}
