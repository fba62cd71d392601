"""The model service on a real socket, for what cannot be given a transport."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.support import loopback
from tests.support.fake_service import FakeService
from tests.support.loopback import Web


@contextmanager
def serving(service: FakeService) -> Iterator[str]:
    """Put the model service on a real socket; give its address."""

    class Handler(Web):
        def get(self) -> None:
            url = f"http://{self.headers['host']}{self.path}"
            answer = service.handle(httpx.Request("GET", url, headers=dict(self.headers)))
            self.answer(answer.status_code, answer.content)

    with loopback.serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"
