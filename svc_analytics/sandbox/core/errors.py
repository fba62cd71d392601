"""Refusals: the errors that the service answers with."""

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


def invalid() -> Refusal:
    """Return the error for a request that breaks its schema."""
    return Refusal(422, "VALIDATION_FAILED")


def not_found() -> Refusal:
    """Return the error for an object that does not exist under this account.

    The contract names no code for `GET /payouts/{id}`; the sandbox uses this one.
    """
    return Refusal(404, "PAY_SESSION_NOT_FOUND")


def no_such_route() -> Refusal:
    """Return the error for a path that no route serves."""
    return Refusal(404, "NOT_FOUND")


def invalid_receipt() -> Refusal:
    """Return the error for a receipt that is malformed, forged, altered or too old."""
    return Refusal(422, "PAY_RECEIPT_INVALID")
