"""The routes that are served: the one table behind the app and its OpenAPI description."""

from dataclasses import dataclass

PREFIX = "/api/pay/v1"


@dataclass(frozen=True)
class Route:
    """One method and path; `operation` is the method of `Service`, or of a part of it."""

    method: str
    path: str
    operation: str
    summary: str
    answers: str  # the schema of a success
    filters: tuple[str, ...] = ()  # query parameters of a list
    body: str | None = None  # the schema of the request's body
    refusals: tuple[int, ...] = (401,)
    status: int = 200  # of a success

    @property
    def id_name(self) -> str | None:
        """The name of the part of the path that names an object, if one does."""
        parts = [part for part in self.path.split("/") if part.startswith("{")]
        return parts[0].strip("{}") if parts else None

    @property
    def pattern(self) -> str:
        """The path as the framework matches it: an id may hold a slash, decoded from %2F."""
        path = PREFIX + self.path
        return path.replace(f"{{{self.id_name}}}", f"{{{self.id_name}:path}}")


ROUTES = (
    Route("GET", "/me", "me", "The merchant profile", "Profile"),
    Route(
        *("GET", "/payments", "payments", "Payments, newest first", "PaymentPage"),
        filters=("limit", "cursor", "currency", "from", "to"),
        refusals=(401, 422),
    ),
    Route(
        *("GET", "/payments/{id}", "payment", "A payment by UUID or receipt number", "Payment"),
        refusals=(401, 404),
    ),
    Route(
        *("GET", "/payouts", "payouts", "Payouts and refunds, newest first", "PayoutPage"),
        filters=("limit", "cursor", "kind", "from", "to"),
        refusals=(401, 403, 422),
    ),
    Route(
        *("GET", "/payouts/{id}", "payout", "A payout by UUID or reference_id", "PayoutRecord"),
        refusals=(401, 403, 404),
    ),
    Route(
        *("POST", "/receipts/verify", "verify_receipt", "Verify a receipt", "ReceiptCheck"),
        body="ReceiptToken",
        refusals=(401, 403, 422),
    ),
    Route(
        *("POST", "/sessions", "sessions.create", "Create a checkout session", "Session"),
        body="NewSession",
        refusals=(401, 403, 409, 422, 503),
        status=201,
    ),
    Route(
        *("POST", "/sessions/{id}/cancel", "sessions.cancel", "Cancel a session", "Session"),
        refusals=(401, 403, 404, 409),
    ),
    Route(
        *("GET", "/sessions/{id}", "sessions.read"),
        *("A session by UUID or reference_id", "Session"),
        refusals=(401, 403, 404),
    ),
    Route(
        *("POST", "/payouts", "pay_out", "Pay a customer", "PayoutRecord"),
        body="NewPayout",
        refusals=(401, 403, 409, 422, 503),
        status=201,
    ),
    Route(
        *("POST", "/payouts/recipients/lookup", "lookups.create"),
        *("Turn an email address into a recipient token", "Recipient"),
        body="Lookup",
        refusals=(401, 403, 422, 429),
    ),
    Route(
        *("POST", "/payments/{id}/refund", "refund", "Refund a payment", "PayoutRecord"),
        body="NewRefund",
        refusals=(401, 403, 404, 409, 422),
        status=201,
    ),
    Route(
        *("GET", "/customers/{customer_id}/binding", "bindings.read"),
        *("The binding of a customer", "BindingState"),
        refusals=(401, 403),
    ),
    Route(
        *("DELETE", "/customers/{customer_id}/binding", "bindings.revoke"),
        *("Sever a binding", "Revoked"),
        body="Reason",
        refusals=(401, 403, 409, 422),
    ),
    Route(
        *("POST", "/customers/{customer_id}/binding/review", "bindings.review"),
        *("Approve or reject a binding under review", "Reviewed"),
        body="Review",
        refusals=(401, 403, 409, 422),
    ),
)
