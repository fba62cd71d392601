"""What only a socket can give: bytes that are no answer, or one and a half of them.

Each spoiler takes the head and the body of the right answer and says which pieces are sent,
and how the connection ends.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from socket import SO_LINGER, SOL_SOCKET, socket
from struct import pack

import httpx

from tests.support.fake_service import CHECKOUT_KEY
from tests.support.loopback import Loopback

OPEN, CLOSED, RESET = "kept", "closed", "reset"


@dataclass(frozen=True)
class Sent:
    """The bytes of an answer, and what becomes of the connection behind them."""

    data: bytes
    end: str = CLOSED


WireSpoiler = Callable[[bytes, bytes, random.Random], Sent]

OK = b"HTTP/1.1 200 OK\r\n"
TYPE = b"Content-Type: application/json\r\n"


def answer(body: bytes, *lines: bytes, first: bytes = OK) -> bytes:
    """Write an answer with these header lines and no length of its own."""
    return first + TYPE + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def length(number: int | bytes) -> bytes:
    return b"Content-Length: " + (str(number).encode() if isinstance(number, int) else number)


def chunks(body: bytes, size: int = 100) -> bytes:
    parts = (body[place : place + size] for place in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CHUNKED = b"Transfer-Encoding: chunked"


def headed(*lines: bytes, end: str = CLOSED) -> WireSpoiler:
    """Make a spoiler: the right body and its length, below these header lines."""
    return lambda head, body, chance: Sent(answer(body, *lines, length(len(body))), end)


def begun(first: bytes) -> WireSpoiler:
    """Make a spoiler: another first line."""
    return lambda head, body, chance: Sent(answer(body, length(len(body)), first=first))


def only(data: bytes, end: str = CLOSED) -> WireSpoiler:
    """Make a spoiler: these bytes and nothing else."""
    return lambda head, body, chance: Sent(data, end)


def _cut(end: str) -> WireSpoiler:
    def spoil(head: bytes, body: bytes, chance: random.Random) -> Sent:
        whole = head + body
        return Sent(whole[: chance.randrange(len(whole))], end)

    return spoil


def _cut_chunks(head: bytes, body: bytes, chance: random.Random) -> Sent:
    whole = answer(chunks(body), CHUNKED)
    return Sent(whole[: chance.randrange(len(whole) - 2)])


def sized(*texts: bytes) -> WireSpoiler:
    """Make a spoiler: chunks of which the first has another size than it says."""

    def spoil(head: bytes, body: bytes, chance: random.Random) -> Sent:
        size = chance.choice(texts)
        return Sent(answer(size + b"\r\n" + body + b"\r\n0\r\n\r\n", CHUNKED))

    return spoil


def measured(*texts: bytes) -> WireSpoiler:
    """Make a spoiler: another length than there is, or none that is a number."""
    return lambda head, body, chance: Sent(answer(body, length(chance.choice(texts))))


EMPTY_PAGE = b'{"data":[],"next_cursor":null}'
FLOOD = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 200) for n in range(5_000))

WIRE: dict[str, WireSpoiler] = {
    "cut anywhere": _cut(CLOSED),
    "reset anywhere": _cut(RESET),
    "reset behind the last byte": lambda head, body, chance: Sent(head + body, RESET),
    "nothing": only(b""),
    "nothing, reset": only(b"", RESET),
    "a body shorter than said": lambda head, body, chance: Sent(
        answer(body, length(len(body) + chance.randint(1, 500)))
    ),
    "a body longer than said": lambda head, body, chance: Sent(
        answer(body + b"x" * chance.randint(1, 500), length(len(body)))
    ),
    "a body longer than said, kept": lambda head, body, chance: Sent(
        answer(body + b"x" * chance.randint(1, 500), length(len(body))), OPEN
    ),
    "another answer behind it": lambda head, body, chance: Sent(
        head + body + answer(EMPTY_PAGE, length(len(EMPTY_PAGE))), OPEN
    ),
    "the same answer behind it": lambda head, body, chance: Sent((head + body) * 2, OPEN),
    "chunks, cut": _cut_chunks,
    "chunks, never ended": lambda head, body, chance: Sent(answer(chunks(body)[:-5], CHUNKED)),
    "chunks of odd sizes": sized(b"-1", b"0x10", b"zz", b"", b"1" * 40, b"ffffffff", b"7;x=y"),
    "chunks with extensions": lambda head, body, chance: Sent(
        answer(b"%x;a=b;c\r\n%s\r\n0;last\r\nX-Trailer: 1\r\n\r\n" % (len(body), body), CHUNKED)
    ),
    "chunks of one byte": lambda head, body, chance: Sent(answer(chunks(body, 1), CHUNKED), OPEN),
    "both a length and chunks": lambda head, body, chance: Sent(
        answer(chunks(body), CHUNKED, length(len(body))), chance.choice([OPEN, CLOSED])
    ),
    "chunks, and a length behind": lambda head, body, chance: Sent(
        answer(chunks(body), length(len(chunks(body))), CHUNKED), OPEN
    ),
    "two lengths": lambda head, body, chance: Sent(
        answer(body, length(len(body)), length(chance.randint(0, len(body))))
    ),
    "one length twice": lambda head, body, chance: Sent(
        answer(body, length(len(body)), length(len(body))), OPEN
    ),
    "odd lengths": measured(
        *(b"+5", b"0x10", b"-1", b"", b"5, 6", b"1e3", b"9" * 30, b"\xb2", b"5 5")
    ),
    "a coding of transfer never heard of": headed(b"Transfer-Encoding: rot13"),
    "chunks within gzip": headed(b"Transfer-Encoding: gzip, chunked"),
    "a flood of headers": headed(FLOOD[:-2]),
    "one long header": headed(b"X-Long: " + b"y" * 300_000),
    "a header without a colon": headed(b"nonsense"),
    "a header of bytes": headed(b"X-Odd: \xff\xfe\x80", end=OPEN),
    "a header with a zero": headed(b"X-Zero: a\0b"),
    "a folded header": headed(b"X-Folded: a\r\n b\r\n\tc", end=OPEN),
    "a header without a name": headed(b": x"),
    "a key in a header": headed(b"Set-Cookie: " + CHECKOUT_KEY.encode(), end=OPEN),
    "a type that is a key": headed(b"Content-Type: text/" + CHECKOUT_KEY.encode()),
    "bare line feeds": lambda head, body, chance: Sent(
        (head[:-2].replace(b"\r\n", b"\n") + b"\n") + body
    ),
    "a version never heard of": begun(b"HTTP/9.9 200 OK\r\n"),
    "HTTP/2 in the clear": only(b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80"),
    "no reason": begun(b"HTTP/1.1 200\r\n"),
    "a reason that is a key": begun(b"HTTP/1.1 400 " + CHECKOUT_KEY.encode() + b"\r\n"),
    "a reason of bytes": begun(b"HTTP/1.1 200 \xff\xfe\r\n"),
    "a status that is no number": begun(b"HTTP/1.1 OK 200\r\n"),
    "a status of two digits": begun(b"HTTP/1.1 20 OK\r\n"),
    "a status of four digits": begun(b"HTTP/1.1 2000 OK\r\n"),
    "another protocol": only(b"SSH-2.0-OpenSSH_9.6 " + CHECKOUT_KEY.encode() + b"\r\n"),
    "an alert of TLS": only(b"\x15\x03\x01\0\2\2\x46"),
    "a stream of music": begun(b"ICY 200 OK\r\n"),
    "a page without a head": lambda head, body, chance: Sent(body),
    "an empty line first": lambda head, body, chance: Sent(b"\r\n" + head + body),
    "go on, and the answer": lambda head, body, chance: Sent(
        b"HTTP/1.1 100 Continue\r\n\r\n" * chance.choice([1, 3, 300]) + head + body, OPEN
    ),
    "hints, and the answer": lambda head, body, chance: Sent(
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 20 + head + body, OPEN
    ),
    "another protocol from here on": only(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", OPEN),
    "until it is closed": lambda head, body, chance: Sent(
        answer(body, first=b"HTTP/1.0 200 OK\r\n")
    ),
    "kept, and closed all the same": lambda head, body, chance: Sent(head + body, CLOSED),
}


class RawServer(Loopback):
    """A loopback server whose answers are bytes: those of a handler, spoiled or not."""

    def __init__(self, respond: Callable[[httpx.Request], Sent]) -> None:
        self._respond = respond
        super().__init__(self._answer)

    def _answer(self, connection: socket) -> None:
        for request in requests_on(connection, self.base_url):
            sent = self._respond(request)
            connection.sendall(sent.data)
            if sent.end == RESET:
                connection.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
            if sent.end != OPEN:
                return


def requests_on(connection: socket, base_url: str) -> Iterator[httpx.Request]:
    """Read one request with its body after another, until the client has gone."""
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            if not (more := connection.recv(65_536)):
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = httpx.Headers([tuple(line.split(": ", 1)) for line in lines])
        size = int(headers.get("content-length", "0"))
        while len(data) < size:
            data += connection.recv(65_536)
        method, target, _ = first.split(" ")
        yield httpx.Request(method, f"{base_url}{target}", headers=headers, content=data[:size])
        data = data[size:]


def written(response: httpx.Response) -> tuple[bytes, bytes]:
    """Write a response as the head and the body that a service sends."""
    names = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-length"]
    body = response.content
    lines = [*names, (b"Content-Length", str(len(body)).encode())]
    head = b"".join(b"%s: %s\r\n" % line for line in lines)
    return b"HTTP/1.1 %d OK\r\n%s\r\n" % (response.status_code, head), body
