"""Mail servers, and a receiver of webhooks and pings, on real sockets of this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from socket import create_server
from socketserver import StreamRequestHandler, ThreadingTCPServer
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


_ANSWERS = {b"DATA": b"354 go on", b"QUIT": b"221 bye"}


@dataclass
class PostOffice:
    """What came in, in its order; `is_shut` refuses all."""

    letters: list[EmailMessage] = field(default_factory=list)
    calls: list[tuple[str, bytes]] = field(default_factory=list)  # path and body
    is_shut: bool = False
    mail: str = ""
    web: str = ""

    def mailed(self) -> list[str]:
        """Take the subjects of the letters, without the lead; a long word began a line."""
        letters, self.letters = self.letters, []
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

    class Mail(StreamRequestHandler):
        def handle(self) -> None:
            self.say(b"554 shut" if office.is_shut else b"220 ready")
            while line := self.rfile.readline():
                word = line.strip().upper()
                self.say(_ANSWERS.get(word, b"250 well"))
                if word == b"DATA":
                    self.take()

        def say(self, answer: bytes) -> None:
            self.wfile.write(answer + b"\r\n")

        def take(self) -> None:
            lines = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line.removeprefix(b"."))
            office.letters.append(message_from_bytes(b"".join(lines), policy=default))
            self.say(b"250 taken")

    class Callee(Web):
        def post(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            office.calls.append((self.path, self.rfile.read(length)))
            self.answer(503 if office.is_shut else 200)

        get = post

    with serving(ThreadingTCPServer(("127.0.0.1", 0), Mail)) as port:
        office.mail = f"smtp://127.0.0.1:{port}?from=close@shop.example&to=desk@shop.example"
        with serving(Callee) as port:
            office.web = f"http://127.0.0.1:{port}"
            yield office
