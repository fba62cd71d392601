"""Sign-in to one checkout: a signed cookie, so that no later form names the account."""

from starlette.requests import Request
from starlette.responses import Response

from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.resources.sessions import Session
from svc_analytics.sandbox.state.customers import Person
from svc_analytics.sandbox.state.signed_text import read_signed, write_signed

_COOKIE = "checkout_customer"


class SignIn:
    """Remember which customer signed in to which checkout."""

    def __init__(self, service: Service) -> None:
        self._customers = service.platform.customers
        self._secret = service.account.cursor_secret

    def account(self, email: str) -> Person | None:
        """Return the account of an address, or None if it cannot sign in."""
        return _able(self._customers.by_email(email) if email else None)

    def customer(self, request: Request, session: Session) -> Person | None:
        """Return the customer who signed in to this checkout, if one did."""
        cookie = request.cookies.get(_COOKIE, "")
        payer_id = read_signed(cookie, _purpose(session), self._secret)
        return _able(self._customers.find(payer_id.decode()) if payer_id else None)

    def keep(self, response: Response, session: Session, person: Person) -> None:
        """Sign a customer in, until the browser is closed."""
        value = write_signed(person.payer_id.encode(), _purpose(session), self._secret)
        # Lax: it is there when the shop leads to the checkout, but not on a foreign post.
        options = {"path": _path(session), "httponly": True, "samesite": "lax"}
        response.set_cookie(_COOKIE, value, **options)  # type: ignore[arg-type]

    def forget(self, response: Response, session: Session) -> None:
        """Sign the customer out."""
        response.delete_cookie(_COOKIE, path=_path(session), httponly=True, samesite="lax")


def _able(person: Person | None) -> Person | None:
    return None if person is None or person.state == "disabled" else person


def _path(session: Session) -> str:
    return f"/checkout/{session.id}"


def _purpose(session: Session) -> str:
    return f"sign-in {session.id}"
