"""OpenAPI schemas of requests, sessions, recipients and bindings."""

from typing import Any

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.sandbox.core.amounts import PLAIN_PATTERN
from svc_analytics.sandbox.core.validation import HTTPS_PATTERN, MAX_URI

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
INSTANT: Json = {"type": "string", "format": "date-time"}
MONEY: Json = {"type": "string", "pattern": AMOUNT_PATTERN}
FREE: Json = {"type": "object"}
UUID: Json = {"type": "string", "format": "uuid"}
_URI: Json = {"type": "string", "format": "uri"}
_HTTPS: Json = {"type": "string", "pattern": HTTPS_PATTERN, "maxLength": MAX_URI}
# Text of this form that is no valid amount is refused with PAY_AMOUNT_INVALID.
_ASKED: Json = {"type": "string", "pattern": PLAIN_PATTERN}
_MAYBE_INSTANT: Json = {"type": ["string", "null"], "format": "date-time"}


def ref(schema: str) -> Json:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{schema}"}


def an_object(*, optional: Json | None = None, **required: Json) -> Json:
    """Return the schema of an object with required and optional properties."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required)}


def text(maximum: int, minimum: int = 1) -> Json:
    """Return the schema of a text with length limits."""
    return {"type": "string", "minLength": minimum, "maxLength": maximum}


def or_null(**schemas: Json) -> Json:
    """Return schemas of optional members; null means the same as absent."""
    return {name: {**schema, "type": [schema["type"], "null"]} for name, schema in schemas.items()}


def write_schemas() -> dict[str, Json]:
    """Return the schemas by name."""
    return {**_session_schemas(), **_outflow_schemas(), **_binding_schemas()}


def _session_schemas() -> dict[str, Json]:
    echoed = {"description": text(512, 0), "return_url": _HTTPS, "cancel_url": _HTTPS}
    return {
        "Amount": an_object(currency=TEXT, amount=MONEY, optional={"usd_value": MONEY}),
        "NewAmount": an_object(currency=text(32), amount=_ASKED),
        "Session": _session(echoed),
        "NewSession": _new_session(echoed),
    }


def _session(echoed: Json) -> Json:
    return an_object(
        id=UUID,
        reference_id=TEXT,
        status=TEXT,
        title=TEXT,
        amounts=_amounts("Amount"),
        pricing_mode=TEXT,
        checkout_url=_URI,
        metadata=FREE,
        expires_at=INSTANT,
        created_at=INSTANT,
        optional={**echoed, "price_usd": _ASKED, "payment": ref("Payment")},
    )


def _new_session(echoed: Json) -> Json:
    return an_object(
        reference_id=text(128),
        title=text(128),
        customer=an_object(id=text(128), name=text(256), email=text(320)),
        optional=or_null(
            **echoed,
            amounts=_amounts("NewAmount"),
            price_usd=_ASKED,
            metadata=FREE,
            ttl_minutes={"type": "integer", "minimum": 5, "maximum": 1440},
        ),
    )


def _amounts(entry: str) -> Json:
    return {"type": "array", "items": ref(entry), "minItems": 1, "maxItems": 10}


def _outflow_schemas() -> dict[str, Json]:
    return {
        "NewPayout": an_object(
            reference_id=text(128),
            currency=text(32),
            amount=_ASKED,
            optional=or_null(
                payer_id=UUID,
                recipient_token=text(2048, 0),
                recipient_confirm=text(128, 0),
                comment=text(512, 0),
            ),
        ),
        "NewRefund": an_object(
            reference_id=text(128), amount=_ASKED, optional=or_null(comment=text(512, 0))
        ),
        "Lookup": an_object(email=text(320)),
        "Recipient": an_object(recipient_token=TEXT, masked_name=TEXT, expires_at=INSTANT),
    }


def _binding_schemas() -> dict[str, Json]:
    maybe_binding = {"anyOf": [ref("Binding"), {"type": "null"}]}
    return {
        "Binding": an_object(
            binding_id=UUID,
            customer_id=TEXT,
            payer_id=UUID,
            masked_name=TEXT,
            supplied_name=TEXT,
            supplied_name_native=TEXT,
            supplied_email=TEXT,
            status=TEXT,
            match_score=TEXT,
            match_passed={"type": "boolean"},
            bound_at=_MAYBE_INSTANT,
            reviewed_at=_MAYBE_INSTANT,
            created_at=INSTANT,
        ),
        "BindingState": an_object(customer_id=TEXT, state=TEXT, binding=maybe_binding),
        "Revoked": an_object(customer_id=TEXT, state=TEXT),
        "Reason": an_object(reason=text(512)),
        "Review": _review(),
        "Reviewed": an_object(binding=ref("Binding")),
    }


def _review() -> Json:
    """Return the schema of a review: a rejection needs a reason."""
    approve: Json = {"type": "string", "const": "approve"}
    reject: Json = {"type": "string", "const": "reject"}
    return {
        "oneOf": [
            an_object(action=approve, optional=or_null(reason=text(512, 0))),
            an_object(action=reject, reason=text(512)),
        ]
    }
