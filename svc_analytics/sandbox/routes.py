"""The routes that are served: the one table behind the app and its OpenAPI description."""

from dataclasses import dataclass

PREFIX = "/api/pay/v1"


@dataclass(frozen=True)
class Route:
    """One method and path; `operation` is the method of `Service` that answers it."""

    method: str
    path: str
    operation: str
    summary: str
    answers: str  # the schema of a 200
    filters: tuple[str, ...] = ()  # query parameters of a list
    body: str | None = None  # the schema of the request's body
    refusals: tuple[int, ...] = (401,)

    @property
    def has_id(self) -> bool:
        """Whether the last part of the path names an object."""
        return self.path.endswith("/{id}")


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
)
