"""A sandbox's site called in this process: starting and stopping a server takes far longer."""

import asyncio
import html
import re

import httpx


class InProcess(httpx.BaseTransport):
    """Carries the requests of a client to an ASGI app, as from this machine."""

    def __init__(self, app):
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._runner = asyncio.Runner()

    def handle_request(self, request):
        return self._runner.run(self._send(request))

    def close(self):
        self._runner.close()

    async def _send(self, request):
        answer = await self._app.handle_async_request(request)
        body = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)


def words(answer):
    """What a page says, without its markup and style."""
    text = re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", answer.text)
    return " ".join(html.unescape(text).split())
