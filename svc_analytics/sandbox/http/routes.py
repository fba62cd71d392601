"""Routes of the API: one table for the app and its OpenAPI document."""

from dataclasses import dataclass

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
