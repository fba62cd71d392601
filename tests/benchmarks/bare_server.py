"""A bare service that answers prebuilt pages, so that the server is not what is measured.

It runs in a process of its own: `serve` starts it, and it ends when its stdin closes.
All payments are one text in a mapped file, newest first; a page is one slice of it.
"""

import base64
import hashlib
import hmac
import json
import mmap
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from typing import IO
from urllib.parse import parse_qsl

PREFIX = "/api/pay/v1"
PAGE = 100
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MERCHANT_ID = "5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f"
CURRENCIES = ("usdt", "usdt", "usdt", "trx", "ton", "btc")


@contextmanager
def serve(
    payments: int, latency: float = 0, *, hidden: int = 0, rate: int = 0, years: int = 1
) -> Iterator[str]:
    """Run a server of so many payments, of the last `years`; give its address.

    `latency` is how many seconds each request waits for its answer. The newest `hidden`
    payments are shown once `/reveal` was asked for. Beyond `rate` requests within any
    second, unless it is 0, the answer is 429. `/counts` tells what was answered.
    """
    command = [sys.executable, __file__, *map(str, (payments, latency, hidden, rate, years))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


def payment_id(number: int) -> str:
    """Return the id of a payment: deterministic, yet as scattered as a random UUID."""
    return _uuid("payment", number)


class Prebuilt:
    """The payments of the last years, each of 12 UTC months, evenly spread, as text."""

    def __init__(self, count: int, file: IO[bytes], hidden: int = 0, years: int = 1) -> None:
        self.hidden = hidden
        # The service's clock tells whole seconds: all payments are older than that.
        newest = (int(time.time()) - 60) * 1_000_000
        step = (newest - _start_of_years_before(newest, years)) // count
        self._instants = range(newest - (count - 1) * step, newest + 1, step)
        self._ends = array("Q", [0])
        for number in reversed(range(count)):
            size = file.write(_payment(number, self._instants[number]) + b",")
            self._ends.append(self._ends[-1] + size)
        file.flush()
        self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def page(self, query: dict[str, str]) -> bytes:
        """Return the page at `cursor`, of the payments between `from` and `to` inclusive."""
        count = len(self._instants)
        first = count - bisect_right(self._instants, _micros(query["to"])) if "to" in query else 0
        end = (
            count - bisect_left(self._instants, _micros(query["from"]))
            if "from" in query
            else count
        )
        first = max(int(query.get("cursor", first)), self.hidden)
        stop = min(first + PAGE, end)
        if first >= stop:
            return b'{"data":[],"next_cursor":null}'
        rows = self._text[self._ends[first] : self._ends[stop] - 1]
        cursor = b'"%d"' % stop if stop < end else b"null"
        return b"".join((b'{"data":[', rows, b'],"next_cursor":', cursor, b"}"))


class Server:
    """Answers on a free loopback port, one thread a connection, until the process ends."""

    def __init__(self, payments: Prebuilt, latency: float, rate: int = 0) -> None:
        self._payments = payments
        self._latency = latency
        self._rate = rate
        self._passed: deque[float] = deque()
        self._counts = {"passed": 0, "refused": 0}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        received = b""
        with connection:
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
        if path.startswith(PREFIX) and not self._may_pass():
            return b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n"
        match path.removeprefix(PREFIX):
            case "/me":
                body = json.dumps({"id": MERCHANT_ID, "display_name": "Shop"}).encode()
            case "/payments":
                body = self._payments.page(dict(parse_qsl(query)))
            case "/payouts":
                body = b'{"data":[],"next_cursor":null}'
            case "/counts":
                body = json.dumps(self._counts).encode()
            case "/reveal":
                self._payments.hidden = 0
                body = b"{}"
            case _:
                return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        head = (
            f"HTTP/1.1 200 OK\r\ndate: {formatdate(usegmt=True)}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _may_pass(self) -> bool:
        with self._lock:
            now = time.monotonic()
            while self._passed and self._passed[0] <= now - 1:
                self._passed.popleft()
            may_pass = not self._rate or len(self._passed) < self._rate
            if may_pass and self._rate:
                self._passed.append(now)
            self._counts["passed" if may_pass else "refused"] += 1
            return may_pass


def _payment(number: int, paid_at: int) -> bytes:
    """Make a payment of the contract with a receipt token of the true length and entropy."""
    amount = 100 + number * 7919 % 900_000  # in hundredths
    fee = amount // 100
    record = {
        "id": payment_id(number),
        "receipt_no": f"SVC-{number:08d}",
        "session_id": _uuid("session", number),
        "reference_id": f"order-{number:08d}",
        "status": "completed",
        "currency": CURRENCIES[number % len(CURRENCIES)],
        "amount": _decimal(amount),
        "charged_amount": _decimal(amount),
        "fee_amount": _decimal(fee),
        "fee_bearer": "merchant",
        "net_amount": _decimal(amount - fee),
        "usd_value": _decimal(amount),
        "payer_id": _uuid("payer", number % 20_000),
        "metadata": {"cart": number, "channel": "web"},
        "paid_at": (EPOCH + paid_at * MICROSECOND).isoformat().replace("+00:00", "Z"),
    }
    record["receipt"] = _receipt(record)
    return json.dumps(record, separators=(",", ":")).encode()


def _receipt(record: dict[str, object]) -> str:
    facts = {"payment_id": record["id"], "merchant_id": MERCHANT_ID}
    for name in (
        *("receipt_no", "reference_id", "currency", "amount", "charged_amount", "fee_bearer"),
        *("net_amount", "paid_at"),
    ):
        facts[name] = record[name]
    signed = f"v1.{_base64(json.dumps(facts, separators=(',', ':')).encode())}"
    return f"{signed}.{_base64(hmac.digest(b'benchmark', signed.encode(), 'sha256'))}"


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decimal(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def _uuid(kind: str, number: int) -> str:
    text = hashlib.md5(f"{kind}-{number}".encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _start_of_years_before(micros: int, years: int) -> int:
    """Return the start of the UTC month that many years back, an instant's own counted in."""
    at = EPOCH + micros * MICROSECOND
    months = at.year * 12 + at.month - 12 * years
    return (datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND


def main() -> None:
    """Serve until stdin closes; write the port once it answers."""
    count, latency, hidden, rate, years = (float(text) for text in sys.argv[1:])
    with tempfile.TemporaryFile() as file:
        payments = Prebuilt(int(count), file, int(hidden), int(years))
        sys.stdout.write(f"{Server(payments, latency, int(rate)).port}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
