"""Mails with notices: how one is made, and handed to its server."""

import smtplib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate, make_msgid

from svc_analytics.config import is_loopback
from svc_analytics.unattended.attachments import Attachment
from svc_analytics.unattended.notices import Notice
from svc_analytics.unattended.notifiers import Notifier, TooMuch, Undelivered
from svc_analytics.unattended.settings import Watching
from svc_analytics.unattended.web import TIMEOUT, in_time

MOST_MAILED = 10_000_000  # bytes of a mail as it is sent: many servers take 10,240,000
_PATIENCE = 60  # seconds for a whole mail, and one more for each so many bytes of it:
_LEAST_SPEED = 100_000
_PORTS = {"smtp": 25, "smtps": 465}
_TOO_LARGE = (523, 552)


def letter(notifier: Notifier, notice: Notice, files: Sequence[Attachment]) -> EmailMessage:
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


def send(notifier: Notifier, mail: EmailMessage, watching: Watching) -> None:
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
