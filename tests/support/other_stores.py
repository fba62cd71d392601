"""Stand-ins for Google Cloud Storage and Azure: what obstore asks of each, in its own words.

Both keep every condition of a PUT. Google tells versions by a generation, which its listing leaves
out, and equal bytes have equal ETags there; Azure's listing leaves out the quotes of an ETag.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.loopback import Web, serving

DATE = "Mon, 23 Nov 2026 09:00:00 GMT"
KEY = "YS1rZXktb2YtdGhlLXRlc3Rz"  # base64, as Azure's are


@dataclass(frozen=True)
class Held:
    """An object, and which putting of all made it."""

    body: bytes
    generation: int
    etag: str


class _Handler(Web):
    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, Held]]
    lock: ClassVar[threading.Lock]
    generations: ClassVar["count[int]"]

    def get(self) -> None:
        parts = urlsplit(self.path)
        if parts.query:
            with self.lock:
                self.tell(200, self.listing(parse_qs(parts.query)["prefix"][0]).encode())
            return
        held = self.objects.get(self.key)
        if held is None:
            self.tell(404)
        elif self.headers.get("If-Match", held.etag) != held.etag:
            self.tell(412)
        else:
            self.tell(200, held.body, held)

    def put(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            held = self.objects.get(self.key)
            status = self.refusal(held)
            if not status:
                number = next(self.generations)
                held = Held(body, number, self.etag_of(body, number))
                self.objects[self.key] = held
        self.tell(status or 201, held=held)

    def delete(self) -> None:
        self.objects.pop(self.key, None)
        self.tell(204)

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path).split(self.root, 1)[1]

    root = "/finance/"

    def etag_of(self, body: bytes, number: int) -> str:
        """The ETag of what was put; of a store that does not say more, one for each PUT."""
        return f'"{number:#x}"'

    def refusal(self, held: Held | None) -> int:
        """The status with which a PUT is refused by its condition; 0 where it may be done."""
        raise NotImplementedError

    def listing(self, prefix: str) -> str:
        raise NotImplementedError

    def tell(
        self, status: int, body: bytes = b"", held: Held | None = None, kind: str = "text/xml"
    ) -> None:
        headers = {"Content-Type": kind}
        if held:
            headers |= {"ETag": held.etag, "Last-Modified": DATE}
            headers["x-goog-generation"] = str(held.generation)
        self.answer(status, body, headers)


class Google(_Handler):
    """The XML API: a PUT names the generation that it replaces, 0 for a new object."""

    def etag_of(self, body: bytes, number: int) -> str:
        return f'"{hashlib.md5(body).hexdigest()}"'

    def refusal(self, held: Held | None) -> int:
        wanted = self.headers.get("x-goog-if-generation-match")
        return 412 if wanted not in (None, str(held.generation if held else 0)) else 0

    def listing(self, prefix: str) -> str:
        rows = (
            f"<Contents><Key>{key}</Key><Size>{len(held.body)}</Size>"
            f"<LastModified>2026-11-23T09:00:00.000Z</LastModified><ETag>{held.etag}</ETag></Contents>"
            for key, held in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        return f"<ListBucketResult>{''.join(rows)}</ListBucketResult>"


class Azure(_Handler):
    """Block blobs: If-None-Match and If-Match, and a listing of ETags without quotes."""

    def post(self) -> None:
        """Remove objects, of which several requests are the parts of one."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        keys = re.findall(r"^DELETE \S*?/finance/(\S+) ", body, re.M)
        for key in keys:
            self.objects.pop(unquote(key), None)
        parts = [
            f"--all\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
            "HTTP/1.1 202 Accepted\r\n\r\n"
            for number in range(len(keys))
        ]
        answered = "".join([*parts, "--all--\r\n"]).encode()
        self.tell(202, answered, kind="multipart/mixed; boundary=all")

    def refusal(self, held: Held | None) -> int:
        if held and self.headers.get("If-None-Match") == "*":
            return 409
        wanted = self.headers.get("If-Match")
        return 412 if wanted and (not held or held.etag != wanted) else 0

    def listing(self, prefix: str) -> str:
        rows = (
            f"<Blob><Name>{key}</Name><Properties><Last-Modified>{DATE}</Last-Modified>"
            f"<Etag>{held.etag.strip(chr(34))}</Etag><Content-Length>{len(held.body)}</Content-Length>"
            "<Content-Type>x</Content-Type></Properties></Blob>"
            for key, held in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        blobs = f"<Blobs>{''.join(rows)}</Blobs><NextMarker/>"
        return f"<EnumerationResults>{blobs}</EnumerationResults>"


@contextmanager
def serve_other(kind: type[_Handler]) -> Iterator[dict[str, str]]:
    """Serve an empty bucket `finance`; give the environment of a user whom it lets in."""
    own = {"objects": {}, "lock": threading.Lock(), "generations": count(1)}
    handler = type(kind.__name__, (kind,), own)
    with serving(handler) as port:
        address = f"http://127.0.0.1:{port}"
        yield _as_google(address) if kind is Google else _as_azure(address)


def _as_google(address: str) -> dict[str, str]:
    names = ("client_email", "private_key", "private_key_id")
    account = {"gcs_base_url": address, "disable_oauth": True} | dict.fromkeys(names, "")
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "GOOGLE_BASE_URL": address}


def _as_azure(address: str) -> dict[str, str]:
    account = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "AZURE_STORAGE_ACCOUNT_KEY": KEY}
    return account | {"AZURE_STORAGE_ENDPOINT": address}
