"""The one way in which the service says no."""

from typing import Any


class Refusal(Exception):
    """A non-2xx answer: its HTTP status and the contract's machine codes."""

    def __init__(self, status: int, *codes: str) -> None:
        super().__init__(f"{status} {', '.join(codes)}")
        self.status = status
        self.codes = codes

    @property
    def envelope(self) -> dict[str, Any]:
        """The body of the answer, as the contract shapes every error."""
        return {"statusCode": self.status, "errors": {"error": list(self.codes)}}


def invalid() -> Refusal:
    """Return the refusal of a request that breaks its schema."""
    return Refusal(422, "VALIDATION_FAILED")


def not_found() -> Refusal:
    """Return the refusal of an object that does not exist or is another business's.

    The contract leaves `GET /payouts/{id}` open; it answers like the others here.
    """
    return Refusal(404, "PAY_SESSION_NOT_FOUND")


def no_such_route() -> Refusal:
    """Return the refusal of a path that is no route at all."""
    return Refusal(404, "NOT_FOUND")


def unproven() -> Refusal:
    """Return the refusal of a receipt that is malformed, forged, altered or too old."""
    return Refusal(422, "PAY_RECEIPT_INVALID")
