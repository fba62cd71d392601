"""A real mail server on this machine, which refuses whom and what it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from socket import create_server
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class MailHandler:
    """Takes mail for whom it knows, unless a word of it offends."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], EmailMessage]] = []
        self.unknown: set[str] = set()
        self.offence = b"\0"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.unknown:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 well"

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        if self.offence in content:
            return "554 5.7.1 its content is refused"
        letter = message_from_bytes(content, policy=default)
        assert isinstance(letter, EmailMessage)
        self.mails.append((envelope.rcpt_tos, letter))
        return "250 taken"


@contextmanager
def mail_server(handler: MailHandler, **options: Any) -> Iterator[int]:
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(handler, "127.0.0.1", port, **options)
    controller.start()
    yield port
    controller.stop()
