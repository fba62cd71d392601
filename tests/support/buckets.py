"""Stores of buckets: one in memory, a real S3 server (moto), and such as break conditions."""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5
from io import BytesIO
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Concatenate, ParamSpec
from urllib.parse import parse_qs, unquote, urlsplit

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from svc_analytics.bucket.mirror import open_folder
from svc_analytics.bucket.store import Conflict, ObjectStore, Version
from svc_analytics.bucket.writing import BucketStorage
from tests.support.engines import DuckEngine
from tests.support.loopback import Web, serving

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-tests",
    "AWS_REGION": "us-east-1",
}
App = Callable[[dict[str, Any], Any], Any]


class MemoryStore:
    """A store that keeps every condition. As with S3, equal bytes have equal ETags."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def list(self) -> dict[str, Version]:
        with self._lock:
            return {key: _version(body) for key, body in self.objects.items()}

    def get(self, key: str, version: Version | None = None) -> tuple[bytes, Version]:
        body = self.objects.get(key)
        if body is None or version not in (None, _version(body)):
            raise Conflict(key)
        return body, _version(body)

    def put(self, key: str, body: bytes, replaces: Version | None) -> Version:
        with self._lock:
            held = self.objects.get(key)
            if (None if held is None else _version(held)) != replaces:
                raise Conflict(key)
            self.objects[key] = body
            return _version(body)

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)


def copy_of(store: ObjectStore, folder: Path, url: str = "s3://bucket/lake") -> BucketStorage:
    """Have a copy of a bucket in a folder, as a machine that found before that the store can do."""
    open_folder(folder, url)
    bucket = BucketStorage(folder, url, store)
    bucket._is_probed = True
    return bucket


def _version(body: bytes) -> Version:
    return Version(f'"{md5(body).hexdigest()}"')


class Server:
    """A real S3 server on this machine; `fault` changes what it does with a request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fault: Callable[[App, dict[str, Any], Any], Any] | None = None
        self.requests: list[tuple[str, str, int]] = []  # method, path, bytes that were sent

    def make_bucket(self, name: str) -> None:
        names = {"aws_access_key_id": "AK", "aws_secret_access_key": "SK"}
        client = boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", **names)
        client.create_bucket(Bucket=name)

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL": self.url, **CREDENTIALS}


@contextmanager
def serve_bucket() -> Iterator[Server]:
    """Run moto's S3 on a free port, one request at a time: as such it keeps conditions."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def kept(environ: dict[str, Any], start: Any) -> Any:
        with lock:
            return [b"".join(moto(environ, start))]

    def app(environ: dict[str, Any], start: Any) -> Any:
        size = int(environ.get("CONTENT_LENGTH") or 0)
        served.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], size))
        return served.fault(kept, environ, start) if served.fault else kept(environ, start)

    server = make_server("127.0.0.1", 0, app, threaded=True)
    served = Server(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


Fault = Callable[[App, dict[str, Any], Any], Any]
P = ParamSpec("P")


def fault(act: Callable[Concatenate[App, dict[str, Any], Any, P], Any]) -> Callable[P, Fault]:
    """Make a fault of what a store does with a request, and how."""
    return lambda *how, **named: lambda app, environ, start: act(app, environ, start, *how, **named)


@fault
def ignores(app: App, environ: dict[str, Any], start: Any, header: str) -> Any:
    """A store that does not look at a header, such as If-Match."""
    environ.pop(f"HTTP_{header.upper().replace('-', '_')}", None)
    return app(environ, start)


def lets_two_win() -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that looks first and puts later: whoever comes in between wins too."""
    begun = threading.Semaphore(2)  # that see the object as it was

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        is_put = environ["REQUEST_METHOD"] == "PUT"
        if is_put and "HTTP_IF_NONE_MATCH" in environ and begun.acquire(blocking=False):
            environ.pop("HTTP_IF_NONE_MATCH")
        return app(environ, start)

    return fault


@fault
def keeps_the_old(app: App, environ: dict[str, Any], start: Any) -> Any:
    """A store that answers every PUT of an object it has with success, and does nothing."""
    if environ["REQUEST_METHOD"] == "PUT" and "HTTP_IF_MATCH" in environ:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("200 OK", [("ETag", '"0123456789abcdef0123456789abcdef"')])
        return [b""]
    return app(environ, start)


@fault
def reports_success(app: App, environ: dict[str, Any], start: Any) -> Any:
    """A store that refuses what it should, and answers 200 all the same."""

    def lie(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        if environ["REQUEST_METHOD"] == "PUT" and status.startswith("412"):
            return start("200 OK", [*headers, ("ETag", '"0123456789abcdef"')], *more)
        return start(status, headers, *more)

    return app(environ, lie)


@fault
def answers(app: App, environ: dict[str, Any], start: Any, status: str, code: str) -> Any:
    """A store that answers everything with an error."""
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start(status, [("Content-Type", "application/xml")])
    return [f"<Error><Code>{code}</Code><Message>AKIDEXAMPLE</Message></Error>".encode()]


def keys_in(bucket: str) -> set[str]:
    """List all objects of a bucket, as any other tool does."""
    listed = boto3.client("s3").list_objects_v2(Bucket=bucket)
    return {each["Key"] for each in listed.get("Contents", [])}


def copy(folder: Path, bucket: str, below: str) -> None:
    """Put the files of a folder one by one, without names that begin with a dot."""
    client = boto3.client("s3")
    for path in folder.rglob("*"):
        key = path.relative_to(folder).as_posix()
        if path.is_file() and not re.search(r"(\A|/)\.", key):
            client.upload_file(str(path), bucket, f"{below}/{key}")


def copy_object(bucket: str, source: str, target: str) -> None:
    """Replace an object by the bytes of another one, as a person does with the store's tool."""
    client = boto3.client("s3")
    body = client.get_object(Bucket=bucket, Key=source)["Body"].read()
    client.put_object(Bucket=bucket, Key=target, Body=body)


Hook = Callable[[], None]


def _nothing() -> None:
    """Befall nothing."""


class EngineAtBucket(DuckEngine):
    """DuckDB over objects that it gets anew for each query: nobody makes them stand still.

    What befalls the bucket is told by three hooks: before an object is got, between the first
    and the second, and behind the answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before: Hook = _nothing
        self.between: Hook = _nothing
        self.behind: Hook = _nothing
        self.places: dict[str, list[str]] = {}
        self.handed: dict[str, pa.Table | None] = {}

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        self.places[name], self.handed[name] = [*paths], rows
        self.connection.register(name, schema.empty_table())

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        return {PurePosixPath(path).name: len(_get(path)) for path in paths}

    def query(self, sql: str) -> pa.Table:
        self.before()
        for name in [name for name in self.places if name in sql]:
            self.connection.register(name, self._rows(name))
        found = super().query(sql)
        self.behind()
        return found

    def _rows(self, name: str) -> pa.Table:
        tables = []
        for path in self.places[name]:
            tables.append(pq.read_table(BytesIO(_get(path))).replace_schema_metadata())
            if len(tables) == 1:
                self.between()
        handed = self.handed[name]
        return pa.concat_tables([*tables, *([] if handed is None else [handed])])


def _get(path: str) -> bytes:
    parts = urlsplit(path)
    assert parts.scheme == "s3a", path
    found = boto3.client("s3").get_object(Bucket=parts.netloc, Key=parts.path[1:])
    return bytes(found["Body"].read())


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
