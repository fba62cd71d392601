"""A bare service that answers prebuilt pages, so that the server is not what is measured.

It runs in a process of its own: `serve` starts it, and it ends when its stdin closes.
All payments are one text in a mapped file, newest first; a page is one slice of it.
"""

import json
import mmap
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from functools import cache
from itertools import count
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl
from uuid import NAMESPACE_OID, uuid5

from svc_analytics.instants import format_instant, parse_instant
from svc_analytics.periods import month_of
from svc_analytics.signing.receipt_tokens import FACTS, sign_receipt
from svc_analytics.signing.secrets import Secret
from tests.support.fake_service import MERCHANT_ID, payment
from tests.support.loopback import Loopback

PREFIX = "/api/pay/v1"
PAGE = 100
ROOT = Path(__file__).parents[2]
SECRET = Secret("benchmark")
CURRENCIES = ("usdt", "usdt", "usdt", "trx", "ton", "btc")


@contextmanager
def serve(payments: int, latency: float = 0) -> Iterator[str]:
    """Run a server of so many payments of the last year; give its address.

    `latency` is how many seconds each request waits for its answer. `/counts` tells how many were
    answered.
    """
    command = [sys.executable, "-m", "tests.benchmarks.bare_server", str(payments), str(latency)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


class Prebuilt:
    """The payments of the last 12 UTC months, evenly spread, as text."""

    def __init__(self, number: int, file: IO[bytes]) -> None:
        # The service's clock tells whole seconds: all payments are older than that.
        newest = (int(time.time()) - 60) * 1_000_000
        step = (newest - month_of(newest).shift(-11).start) // number
        self._instants = range(newest - (number - 1) * step, newest + 1, step)
        self._ends = array("Q", [0])
        for place in reversed(range(number)):
            size = file.write(_payment(place, self._instants[place]) + b",")
            self._ends.append(self._ends[-1] + size)
        file.flush()
        self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def page(self, query: dict[str, str]) -> bytes:
        """Return the page at `cursor`, of the payments between `from` and `to` inclusive."""
        held, first = len(self._instants), 0
        end = held
        if "to" in query:
            first = held - bisect_right(self._instants, parse_instant(query["to"])[0])
        if "from" in query:
            end = held - bisect_left(self._instants, parse_instant(query["from"])[0])
        first = int(query.get("cursor", first))
        stop = min(first + PAGE, end)
        if first >= stop:
            return b'{"data":[],"next_cursor":null}'
        rows = self._text[self._ends[first] : self._ends[stop] - 1]
        cursor = b'"%d"' % stop if stop < end else b"null"
        return b"".join((b'{"data":[', rows, b'],"next_cursor":', cursor, b"}"))


class Server(Loopback):
    """Answers on a free loopback port, one thread a connection, until the process ends."""

    def __init__(self, payments: Prebuilt, latency: float) -> None:
        self._payments = payments
        self._latency = latency
        self._asked = count()
        super().__init__(self._respond)

    def _respond(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
            while b"\r\n\r\n" in received:
                request, _, received = received.partition(b"\r\n\r\n")
                if self._latency:
                    time.sleep(self._latency)
                connection.sendall(self._answer(request))

    def _answer(self, request: bytes) -> bytes:
        target = request.split(b" ", 2)[1].decode()
        path, _, query = target.partition("?")
        number = next(self._asked)
        match path.removeprefix(PREFIX):
            case "/me":
                body = json.dumps({"id": MERCHANT_ID, "display_name": "Shop"}).encode()
            case "/payments":
                body = self._payments.page(dict(parse_qsl(query)))
            case "/payouts":
                body = b'{"data":[],"next_cursor":null}'
            case "/counts":
                body = b"%d" % number
            case _:
                return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        head = (
            f"HTTP/1.1 200 OK\r\ndate: {formatdate(usegmt=True)}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def _payment(number: int, paid_at: int) -> bytes:
    """Make a payment of the contract with a receipt token of the true length and entropy."""
    amount = 100 + number * 7919 % 900_000  # in hundredths
    more = {"currency": CURRENCIES[number % len(CURRENCIES)], "payer_id": _payer(number % 20_000)}
    at, fee = format_instant(paid_at), _decimal(amount // 100)
    record = payment(number, at, _decimal(amount), fee, **more)
    facts = record | {"payment_id": record["id"], "merchant_id": MERCHANT_ID}
    record["receipt"] = sign_receipt({name: facts[name] for name in FACTS}, SECRET)
    return json.dumps(record, separators=(",", ":")).encode()


@cache
def _payer(number: int) -> str:
    return str(uuid5(NAMESPACE_OID, f"payer-{number}"))


def _decimal(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def main() -> None:
    """Serve until stdin closes; write the port once it answers."""
    payments, latency = (float(text) for text in sys.argv[1:])
    with tempfile.TemporaryFile() as file:
        sys.stdout.write(f"{Server(Prebuilt(int(payments), file), latency).port}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
