"""Routes of the API: one table for the app and its OpenAPI document."""

from dataclasses import dataclass

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.sandbox.coins import PLAIN_PATTERN
from svc_analytics.sandbox.service import DEFAULT_LIMIT, KINDS, MAX_ROWS
from svc_analytics.sandbox.validation import HTTPS_PATTERN, MAX_URI, Json, Refusal
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Stream

PREFIX = "/api/pay/v1"

_EVERYWHERE = (
    "UNAUTHORIZED MERCHANT_NOT_FOUND RATE_LIMITED INTERNAL_SERVER_ERROR BAD_GATEWAY"
    " SERVICE_UNAVAILABLE MAINTENANCE_MODE BAD_REQUEST METHOD_NOT_ALLOWED"
)
_STATUSES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "PAY_WRONG_KEY_KIND MERCHANT_DISABLED MERCHANT_PAYOUTS_DISABLED",
    404: "PAY_SESSION_NOT_FOUND MERCHANT_NOT_FOUND NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "PAY_DUPLICATE_REFERENCE PAY_SESSION_STATE PAY_BINDING_STATE",
    413: "PAYLOAD_TOO_LARGE",
    422: "VALIDATION_FAILED PAY_CUSTOMER_REQUIRED PAY_AMOUNT_INVALID PAY_CURRENCY_NOT_ACCEPTED"
    " PAY_RECEIPT_INVALID PAY_RECIPIENT_INVALID PAY_PAYOUT_LIMIT PAY_REFUND_EXCEEDS_PAYMENT"
    " INSUFFICIENT_BALANCE",
    429: "RATE_LIMITED PAY_LOOKUP_THROTTLED",
    500: "INTERNAL_SERVER_ERROR",
    502: "BAD_GATEWAY",
    503: "SERVICE_UNAVAILABLE MAINTENANCE_MODE PAY_RATE_UNAVAILABLE",
}


@dataclass(frozen=True)
class ServedRoute:
    """Describe a method and path; `operation` names the `Service` method that runs."""

    method: str
    path: str
    operation: str
    summary: str
    response: str  # the schema of a successful response
    filters: tuple[str, ...] = ()  # the query parameters of a list
    body: str | None = None  # the schema of the request body
    codes: str = ""  # error codes besides those that every route can return
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
        codes = {*self.codes.split(), *_EVERYWHERE.split()}
        if self.body or self.filters:
            codes.add("VALIDATION_FAILED")
        if self.body:
            codes.add("PAYLOAD_TOO_LARGE")
        if self.id_name:
            codes.add("NOT_FOUND")  # an empty id makes a path that no route serves
        by_status = {
            status: sorted(codes & {*known.split()}) for status, known in _STATUSES.items()
        }
        return {status: known for status, known in by_status.items() if known}

    @property
    def id_name(self) -> str | None:
        """The name of the id in the path, if it has one."""
        parts = [part for part in self.path.split("/") if part.startswith("{")]
        return parts[0].strip("{}") if parts else None


ROUTES = (
    ServedRoute("GET", "/me", "me", "The merchant profile", "Profile"),
    ServedRoute(
        *("GET", "/payments", "payments", "Payments, newest first", "PaymentPage"),
        filters=("limit", "cursor", "currency", "from", "to"),
    ),
    ServedRoute(
        *("GET", "/payments/{id}", "payment", "A payment by UUID or receipt number", "Payment"),
        codes="PAY_SESSION_NOT_FOUND",
    ),
    ServedRoute(
        *("GET", "/payouts", "payouts", "Payouts and refunds, newest first", "PayoutPage"),
        filters=("limit", "cursor", "kind", "from", "to"),
        codes="PAY_WRONG_KEY_KIND",
    ),
    ServedRoute(
        *("GET", "/payouts/{id}", "payout", "A payout by UUID or reference_id", "PayoutRecord"),
        codes="PAY_WRONG_KEY_KIND PAY_SESSION_NOT_FOUND",
    ),
    ServedRoute(
        *("POST", "/receipts/verify", "verify_receipt", "Verify a receipt", "ReceiptCheck"),
        body="ReceiptToken",
        codes="PAY_WRONG_KEY_KIND PAY_RECEIPT_INVALID",
    ),
    ServedRoute(
        *("POST", "/sessions", "sessions.create", "Create a checkout session", "Session"),
        body="NewSession",
        codes=(
            "PAY_WRONG_KEY_KIND MERCHANT_DISABLED PAY_DUPLICATE_REFERENCE PAY_CUSTOMER_REQUIRED"
            " PAY_AMOUNT_INVALID PAY_CURRENCY_NOT_ACCEPTED PAY_RATE_UNAVAILABLE"
        ),
        status=201,
    ),
    ServedRoute(
        *("POST", "/sessions/{id}/cancel", "sessions.cancel", "Cancel a session", "Session"),
        codes="PAY_WRONG_KEY_KIND PAY_SESSION_NOT_FOUND PAY_SESSION_STATE",
    ),
    ServedRoute(
        *("GET", "/sessions/{id}", "sessions.read"),
        *("A session by UUID or reference_id", "Session"),
        codes="PAY_WRONG_KEY_KIND PAY_SESSION_NOT_FOUND",
    ),
    ServedRoute(
        *("POST", "/payouts", "pay_out", "Pay a customer", "PayoutRecord"),
        body="NewPayout",
        codes=(
            "PAY_WRONG_KEY_KIND MERCHANT_PAYOUTS_DISABLED PAY_DUPLICATE_REFERENCE"
            " PAY_CURRENCY_NOT_ACCEPTED PAY_AMOUNT_INVALID PAY_RECIPIENT_INVALID"
            " PAY_PAYOUT_LIMIT INSUFFICIENT_BALANCE PAY_RATE_UNAVAILABLE"
        ),
        status=201,
    ),
    ServedRoute(
        *("POST", "/payouts/recipients/lookup", "lookups.create"),
        *("Turn an email address into a recipient token", "Recipient"),
        body="Lookup",
        codes=(
            "PAY_WRONG_KEY_KIND MERCHANT_PAYOUTS_DISABLED PAY_RECIPIENT_INVALID"
            " PAY_LOOKUP_THROTTLED"
        ),
    ),
    ServedRoute(
        *("POST", "/payments/{id}/refund", "refund", "Refund a payment", "PayoutRecord"),
        body="NewRefund",
        codes=(
            "PAY_WRONG_KEY_KIND MERCHANT_DISABLED PAY_SESSION_NOT_FOUND PAY_DUPLICATE_REFERENCE"
            " PAY_AMOUNT_INVALID PAY_REFUND_EXCEEDS_PAYMENT INSUFFICIENT_BALANCE"
        ),
        status=201,
    ),
    ServedRoute(
        *("GET", "/customers/{customer_id}/binding", "bindings.read"),
        *("The binding of a customer", "BindingState"),
        codes="PAY_WRONG_KEY_KIND",
    ),
    ServedRoute(
        *("DELETE", "/customers/{customer_id}/binding", "bindings.revoke"),
        *("Sever a binding", "Revoked"),
        body="Reason",
        codes="PAY_WRONG_KEY_KIND PAY_BINDING_STATE",
    ),
    ServedRoute(
        *("POST", "/customers/{customer_id}/binding/review", "bindings.review"),
        *("Approve or reject a binding under review", "Reviewed"),
        body="Review",
        codes="PAY_WRONG_KEY_KIND PAY_BINDING_STATE",
    ),
)


# ---------- OpenAPI document of exactly the routes that are served


_REFUSALS = {
    400: "This is not an HTTP request",
    401: "The key is missing, malformed, revoked or unknown",
    403: "The key is of the wrong class, or the merchant may not do this",
    404: "No such object under this account, or the account behind the key is no business",
    405: "This path has no such method; the header Allow names those it has",
    409: "The reference is taken, or the object's state forbids this",
    413: "The body is larger than 1 MiB",
    422: "The request breaks its schema or a rule of the contract",
    429: "Too many requests, or a budget is spent",
    500: "Failure on the service side",
    502: "Failure between here and the service",
    503: "Temporarily unable to serve, maintenance, or no live rate",
}
_ABOUT = (
    "Amounts are decimal strings, instants RFC 3339 in UTC. Lists are newest first: follow"
    " next_cursor until it is null. A write is repeated with the same reference_id."
)
_KEYS = (
    "A key of the checkout class (svc_live_…) or of the payout class (svc_payout_…): each"
    " operation says which it takes. The wrong class gives PAY_WRONG_KEY_KIND."
)
_NEEDS = {
    ("checkout",): "a checkout-class key",
    ("payout",): "a payout-class key",
    ("checkout", "payout"): "a key of either class",
}
_TAGS = {
    "me": "The merchant profile",
    "payments": "Payments, and their refunds",
    "payouts": "Payouts and refunds, and the look-up of recipients",
    "receipts": "Signed receipts",
    "sessions": "Checkout sessions",
    "customers": "Bindings of customers",
}
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
# The required and the optional members of each object. `name` is a text, `name:kind` one of
# the kinds above or a named object, `name:1-128` a text of so many characters, `name:[kind]`
# a list and `name:[kind]1-10` a list of so many; after each, `?` allows null.
_OBJECTS = {
    "Amount": ("currency amount:money", "usd_value:money"),
    "NewAmount": ("currency:1-32 amount:asked",),
    "Session": (
        "id:uuid reference_id status title amounts:[Amount]1-10 pricing_mode checkout_url:uri"
        " metadata:json expires_at:instant created_at:instant",
        "description:0-512 return_url:https cancel_url:https price_usd:asked payment:Payment",
    ),
    "NewPayout": (
        "reference_id:1-128 currency:1-32 amount:asked",
        "payer_id:uuid? recipient_token:0-2048? recipient_confirm:0-128? comment:0-512?",
    ),
    "NewRefund": ("reference_id:1-128 amount:asked", "comment:0-512?"),
    "Lookup": ("email:1-320",),
    "Recipient": ("recipient_token masked_name expires_at:instant",),
    "Binding": (
        "binding_id:uuid customer_id payer_id:uuid masked_name supplied_name"
        " supplied_name_native supplied_email status match_score match_passed:boolean"
        " bound_at:instant? reviewed_at:instant? created_at:instant",
    ),
    "BindingState": ("customer_id state binding:Binding?",),
    "Revoked": ("customer_id state",),
    "Reason": ("reason:1-512",),
    "Reviewed": ("binding:Binding",),
    "PaymentPage": ("data:[Payment] next_cursor:text?",),
    "PayoutPage": ("data:[PayoutRecord] next_cursor:text?",),
    "Profile": (
        "id:uuid display_name display_name_fa logo_url status accepted_currencies:[text]"
        " webhook_url",
    ),
    "ReceiptToken": ("receipt",),
    "ReceiptCheck": ("valid:boolean payment:Payment",),
}
_NEW_SESSION = (
    "reference_id:1-128 title:1-128",
    "description:0-512? return_url:https? cancel_url:https? amounts:[NewAmount]1-10?"
    " price_usd:asked? metadata:json? ttl_minutes:minutes?",
)
_UUIDS = ("id", "session_id", "payer_id", "payment_id")
# payment_id: payouts have none. reference_id: console payouts have none. usd_value: no rate.
_NULLABLE = {
    PAYMENTS.name: ("usd_value",),
    PAYOUT_RECORDS.name: ("payment_id", "reference_id", "usd_value"),
}


def describe(routes: tuple[ServedRoute, ...]) -> Json:
    """Return the OpenAPI document of the routes."""
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Merchant Payments API (sandbox)",
            "version": "v1",
            "description": _ABOUT,
        },
        "servers": [{"url": "/", "description": "The sandbox that serves this document"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": _KEYS}},
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
    operation: Json = {
        "operationId": route.operation,
        "summary": route.summary,
        "description": f"Needs {_NEEDS[route.classes]}.",
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
    refusal = _content(_REFUSALS[status], "Error")
    examples = {code: {"value": Refusal(status, code).envelope} for code in codes}
    refusal["content"]["application/json"]["examples"] = examples
    return refusal


def _schemas() -> dict[str, Json]:
    customer, codes = _object("id:1-128 name:1-256 email:1-320"), _object("error:[code]1-")
    # A rejection needs a reason.
    review = [_object("action:approve", "reason:0-512?"), _object("action:reject reason:1-512")]
    return {
        **{name: _object(*members) for name, members in _OBJECTS.items()},
        "NewSession": _object(*_NEW_SESSION, customer=customer),
        "Payment": _record(PAYMENTS),
        "PayoutRecord": _record(PAYOUT_RECORDS),
        "Review": {"oneOf": review},
        "Error": _object("statusCode:integer", errors=codes),
    }


def _record(stream: Stream) -> Json:
    kinds: dict[str, str] = {column.name: column.kind for column in stream.columns}
    kinds |= {name: "uuid" for name in _UUIDS if name in kinds}
    kinds |= {name: f"{kinds[name]}?" for name in _NULLABLE[stream.name]}
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
