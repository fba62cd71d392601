"""A mail server and a receiver of webhooks and pings, on real sockets of this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

from tests.support.loopback import Web, serving

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
