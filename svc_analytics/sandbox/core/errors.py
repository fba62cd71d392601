"""Refusals: the errors that the service answers with."""

from functools import partial
from typing import Any


class Refusal(Exception):
    """Refuse a request with an HTTP status and the contract's error codes."""

    def __init__(self, status: int, *codes: str) -> None:
        super().__init__(f"{status} {', '.join(codes)}")
        self.status = status
        self.codes = codes

    @property
    def envelope(self) -> dict[str, Any]:
        """The response body in the contract's error envelope."""
        return {"statusCode": self.status, "errors": {"error": list(self.codes)}}


invalid = partial(Refusal, 422, "VALIDATION_FAILED")  # the request breaks its schema
not_found = partial(Refusal, 404, "PAY_SESSION_NOT_FOUND")  # of any object of the account
no_such_route = partial(Refusal, 404, "NOT_FOUND")
invalid_amount = partial(Refusal, 422, "PAY_AMOUNT_INVALID")
invalid_receipt = partial(Refusal, 422, "PAY_RECEIPT_INVALID")
invalid_recipient = partial(Refusal, 422, "PAY_RECIPIENT_INVALID")
duplicate_reference = partial(Refusal, 409, "PAY_DUPLICATE_REFERENCE")
