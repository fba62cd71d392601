"""How a notice is handed over: as a mail to its server, or by a call to an address.

Pings are such calls too. No redirect is followed and no proxy of the environment is used: what is
sent may hold a name.
"""

import mimetypes
import smtplib
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate, make_msgid
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

from svc_analytics.config import is_loopback
from svc_analytics.interrupts import fulfil
from svc_analytics.unattended.notices import Notice
from svc_analytics.unattended.notifiers import Late, Notifier, TooMuch, Undelivered, Watching

TIMEOUT = 20  # seconds
_NOT_AS_IT_IS = (400, 403, 406, 413, 415, 422)  # answers to what is too large, or has wrong content
_LARGE = 1 << 16  # bytes: whoever hangs up while so many are sent takes no more
MOST_MAILED = 10_000_000  # bytes of a mail as it is sent: many servers take 10,240,000
_PATIENCE = 60  # seconds for a whole mail, and one more for each so many bytes of it:
_LEAST_SPEED = 100_000
_PORTS = {"smtp": 25, "smtps": 465}
_TOO_LARGE = (523, 552)


@dataclass(frozen=True)
class Attachment:
    """One file of a statement as it was sealed, or is stated by the forms beside the seal."""

    path: Path
    sha256: str
    content: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """The name for whoever gets it: of several months, each has its own."""
        return f"{self.path.parent.name}-{self.path.name}"

    @property
    def kind(self) -> str:
        """The type of its content, as mail names it."""
        return mimetypes.guess_type(self.path.name)[0] or "application/octet-stream"

    def to_json(self, *, has_path: bool) -> dict[str, Any]:
        """Say what it is; on the machine of the lake also where."""
        facts = {"name": self.name, "sha256": self.sha256, "bytes": len(self.content)}
        return facts | ({"path": str(self.path)} if has_path else {})


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the answer is then an error."""


def call(url: str, watching: Watching, body: bytes | None = None) -> None:
    """Send JSON, or ask for an address; raise `Undelivered` unless it is taken in time."""
    in_time(lambda: _call(url, watching, body), TIMEOUT)


def connect(url: str, watching: Watching) -> None:
    """Reach the server of an address and look at its certificate, and ask for nothing."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)

    def reach() -> None:
        try:
            with socket.create_connection((parts.hostname or "", port), TIMEOUT) as line:
                if parts.scheme == "https":
                    watching.trusted().wrap_socket(line, server_hostname=parts.hostname).close()
        except OSError as error:
            raise Undelivered(str(error)) from None

    in_time(reach, TIMEOUT)


def in_time(work: Callable[[], None], seconds: float) -> None:
    """Do work that waits for another machine, for so long as a whole.

    A limit for each piece would wait for ever where pieces come one by one, and none holds for
    the look-up of a name.
    """
    job: Future[None] = Future()
    Thread(target=fulfil, args=(job, work), daemon=True).start()
    try:
        job.result(seconds)
    except TimeoutError:
        raise Late(f"no whole answer within {seconds:g} seconds") from None


def _call(url: str, watching: Watching, body: bytes | None) -> None:
    headers = {"User-Agent": "svc-analytics"} | (
        {"Content-Type": "application/json"} if body is not None else {}
    )
    proxy = watching.proxy
    handlers: list[BaseHandler] = [
        _Stay(),
        ProxyHandler({"http": proxy, "https": proxy} if proxy else {}),
    ]
    if "https:" in (url[:6], proxy[:6]):  # the list of authorities loads slowly
        handlers.append(HTTPSHandler(context=watching.trusted()))
    try:
        request = Request(url, body, headers)  # noqa: S310  (its scheme was checked when read)
        with build_opener(*handlers).open(request, timeout=TIMEOUT):
            pass
    except HTTPError as error:
        error.close()
        refused = TooMuch if error.code in _NOT_AS_IT_IS else Undelivered
        raise refused(f"it answered {error.code}") from None  # its text may name the address
    except URLError as error:
        is_cut = isinstance(error.reason, ConnectionError) and len(body or b"") > _LARGE
        raise (TooMuch if is_cut else Undelivered)(str(error.reason)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise Undelivered(type(error).__name__) from None


def mail_of(notifier: Notifier, notice: Notice, files: Sequence[Attachment]) -> EmailMessage:
    """Make a mail with these files."""
    mail = EmailMessage(policy=SMTP)
    [sender] = notifier.people("from")
    mail["From"] = formataddr(notifier.mailboxes("from")[0])
    mail["To"] = ", ".join(map(formataddr, notifier.mailboxes("to", "cc")))
    mail["Date"] = formatdate()
    # As Python folds a long subject that is not ASCII, it loses a blank between its words.
    mail.set_raw("Subject", Header(notice.subject, header_name="Subject").encode())
    mail["Auto-Submitted"] = "auto-generated"
    mail["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2] or None)
    digests = [f"{each.name}: SHA-256 {each.sha256}" for each in files]
    mail.set_content("\n".join([notice.subject, "", *notice.lines, *digests, ""]))
    for each in files:
        main, _, sub = each.kind.partition("/")
        mail.add_attachment(each.content, maintype=main, subtype=sub, filename=each.name)
    return mail


def send_mail(notifier: Notifier, mail: EmailMessage, watching: Watching) -> None:
    """Hand a mail to its server, for one receiver; raise `Undelivered` unless it is taken."""
    size = len(mail.as_bytes())
    if size > MOST_MAILED:
        raise TooMuch(f"the mail has {size:,} bytes, more than most servers take")

    def hand_over() -> None:
        with _server(notifier, watching) as server:
            server.send_message(mail, notifier.people("from")[0], [notifier.receiver])

    in_time(hand_over, _PATIENCE + size // _LEAST_SPEED)


def try_receiver(notifier: Notifier, watching: Watching) -> None:
    """Ask a mail server whether it takes a mail for a receiver, and send none."""

    def ask() -> None:
        with _server(notifier, watching) as server:
            for code, said in (
                server.mail(notifier.people("from")[0]),
                server.rcpt(notifier.receiver),
            ):
                if code not in (250, 251):
                    raise smtplib.SMTPResponseException(code, said)
            server.rset()

    in_time(ask, TIMEOUT)


@contextmanager
def _server(notifier: Notifier, watching: Watching) -> Iterator[smtplib.SMTP]:
    """Connect to a mail server; a password travels only where it is encrypted."""
    parts = notifier.parts
    host, port = str(parts.hostname), parts.port or _PORTS[notifier.scheme]
    try:
        if notifier.scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                host, port, timeout=TIMEOUT, context=watching.trusted()
            )
        else:
            server = smtplib.SMTP(host, port, timeout=TIMEOUT)
        with server:
            _greet(server, notifier, host, watching)
            yield server
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise _undelivered(error) from None


def _undelivered(error: Exception) -> Undelivered:
    """Say what a server answered; of a mail that it does not take as it is, so that it shrinks."""
    of_receiver = getattr(error, "recipients", {})
    code, said = next(iter(of_receiver.values()), (None, b""))
    if isinstance(error, smtplib.SMTPResponseException):
        code, said = error.smtp_code, error.smtp_error
    if code is None:
        return Undelivered(f"{type(error).__name__}: {error}")
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    is_content = isinstance(error, smtplib.SMTPDataError) and code >= 500
    return (TooMuch if is_content or code in _TOO_LARGE else Undelivered)(
        f"it answered {code} {text}"
    )


def _greet(server: smtplib.SMTP, notifier: Notifier, host: str, watching: Watching) -> None:
    """Encrypt where the server can, and log in where that is asked for."""
    is_own = is_loopback(host)  # whose certificate nobody has signed
    server.ehlo_or_helo_if_needed()
    if notifier.scheme == "smtp" and not is_own and server.has_extn("starttls"):
        server.starttls(context=watching.trusted())
    elif notifier.scheme == "smtp" and not is_own and notifier.login:
        raise Undelivered("it does not encrypt, so no password is sent: use smtps://")
    if notifier.login:
        server.login(*notifier.login)
