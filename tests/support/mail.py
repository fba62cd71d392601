"""Mail servers, and a receiver of webhooks and pings, on real sockets of this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from socket import create_server
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.support.loopback import Web, serving


class MailHandler:
    """Takes mail for whom it knows, unless a word of it offends."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], EmailMessage]] = []
        self.unknown: set[str] = set()
        self.offence = b"\0"
        self.is_shut = False

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.is_shut or address in self.unknown:
            return "554 shut" if self.is_shut else "550 no such user"
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


def plain_text(letter: EmailMessage) -> str:
    """What a letter says in plain text."""
    body = letter.get_body(("plain",))
    return "" if body is None else body.get_content()


class PostOffice(MailHandler):
    """What came in, in its order, by mail and by calls; `is_shut` refuses all."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, bytes]] = []  # path and body
        self.mail = self.web = ""

    @property
    def letters(self) -> list[EmailMessage]:
        return [letter for _, letter in self.mails]

    def mailed(self) -> list[str]:
        """Take the subjects of the letters, without the lead; a long word began a line."""
        letters, self.mails = self.letters, []
        return [" ".join(letter["Subject"].split()).partition(": ")[2] for letter in letters]

    def pings(self) -> list[str]:
        """Take the paths that were called."""
        calls, self.calls = self.calls, []
        return [path for path, _ in calls]

    def documents(self) -> list[dict[str, Any]]:
        """Take the JSON that was sent."""
        calls, self.calls = self.calls, []
        return [json.loads(body) for _, body in calls]


@contextmanager
def post_office() -> Iterator[PostOffice]:
    """Open both until the block ends."""
    office = PostOffice()

    class Callee(Web):
        def post(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            office.calls.append((self.path, self.rfile.read(length)))
            self.answer(503 if office.is_shut else 200)

        get = post

    with mail_server(office) as port:
        office.mail = f"smtp://127.0.0.1:{port}?from=close@shop.example&to=desk@shop.example"
        with serving(Callee) as port:
            office.web = f"http://127.0.0.1:{port}"
            yield office
