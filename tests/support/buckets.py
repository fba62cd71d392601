"""Stores of buckets: one in memory, a real S3 server (moto), and such as break conditions."""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from svc_analytics.bucket.store import Conflict, Version

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


def ignores(header: str) -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that does not look at a header, such as If-Match."""

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        environ.pop(f"HTTP_{header.upper().replace('-', '_')}", None)
        return app(environ, start)

    return fault


def lets_two_win() -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that looks first and puts later: whoever comes in between wins too."""
    begun = threading.Semaphore(2)  # that see the object as it was

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        is_put = environ["REQUEST_METHOD"] == "PUT"
        if is_put and "HTTP_IF_NONE_MATCH" in environ and begun.acquire(blocking=False):
            environ.pop("HTTP_IF_NONE_MATCH")
        return app(environ, start)

    return fault


def keeps_the_old() -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that answers every PUT of an object it has with success, and does nothing."""

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        if environ["REQUEST_METHOD"] == "PUT" and "HTTP_IF_MATCH" in environ:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("200 OK", [("ETag", '"0123456789abcdef0123456789abcdef"')])
            return [b""]
        return app(environ, start)

    return fault


def reports_success() -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that refuses what it should, and answers 200 all the same."""

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        def lie(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if environ["REQUEST_METHOD"] == "PUT" and status.startswith("412"):
                return start("200 OK", [*headers, ("ETag", '"0123456789abcdef"')], *more)
            return start(status, headers, *more)

        return app(environ, lie)

    return fault


def answers(status: str, code: str) -> Callable[[App, dict[str, Any], Any], Any]:
    """A store that answers everything with an error."""

    def fault(app: App, environ: dict[str, Any], start: Any) -> Any:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>AKIDEXAMPLE</Message></Error>".encode()]

    return fault


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
