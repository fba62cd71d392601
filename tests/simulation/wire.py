"""The way between the client and the simulated service: it takes time, and it fails."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from tests.simulation.service import Service
from tests.simulation.virtual import World
from tests.support.fake_service import refusal

Spoiler = Callable[[httpx.Response, random.Random], httpx.Response]


class Broken(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, body: bytes, error: Exception) -> None:
        self._body, self._error = body, error

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        raise self._error


def _raise(error: Exception) -> Spoiler:
    def spoil(response: httpx.Response, chance: random.Random) -> httpx.Response:
        raise error

    return spoil


def _body(change: Callable[[bytes, random.Random], bytes], kind: str = "") -> Spoiler:
    def spoil(response: httpx.Response, chance: random.Random) -> httpx.Response:
        headers = dict(response.headers) | ({"content-type": kind} if kind else {})
        headers.pop("content-length", None)
        body = change(response.content, chance)
        return httpx.Response(200, headers=headers, content=body)

    return spoil


def _break_off(response: httpx.Response, chance: random.Random) -> httpx.Response:
    part = response.content[: chance.randint(0, len(response.content))]
    error = httpx.RemoteProtocolError("peer closed connection without sending complete message")
    return httpx.Response(200, headers={"date": ""}, stream=Broken(part, error))


def _cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body))]


def _say(status: int, *codes: str) -> Spoiler:
    return lambda response, chance: refusal(status, *codes)


def _hold_off(response: httpx.Response, chance: random.Random) -> httpx.Response:
    """Ask for patience, in any of the ways that were seen."""
    dates = ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT"]
    when = ["", "0", "7", "-3", "1000000000", "soon", *dates]
    asked = chance.choice(when)
    return refusal(429, "RATE_LIMITED", **({"retry_after": asked} if asked else {}))


def _proxy_page(status: int) -> Spoiler:
    return lambda response, chance: httpx.Response(status, html="<h1>Bad Gateway</h1>")


PASSING: dict[str, Spoiler] = {
    "no connection": _raise(httpx.ConnectError("refused")),
    "no answer": _raise(httpx.ReadTimeout("timed out")),
    "reset": _raise(httpx.ReadError("reset by peer")),
    "broken off": _break_off,
    "cut": _body(_cut),
    "cut and closed with a bracket": _body(lambda body, chance: _cut(body, chance) + b"]}"),
    "empty": _body(lambda body, chance: b""),
    "a page for people": _body(lambda body, chance: b"<html></html>", "text/html"),
    "html said to be json": _body(lambda body, chance: b"<html></html>"),
    "json said to be text": _body(lambda body, chance: body, "text/plain"),
    "two documents": _body(lambda body, chance: body + body),
    "junk behind": _body(lambda body, chance: body + b"\0"),
    "a mark before": _body(lambda body, chance: b"\xef\xbb\xbf" + body),
    "bad gateway": _proxy_page(502),
    "error": _say(500, "INTERNAL_SERVER_ERROR"),
    "unavailable": _say(503, "SERVICE_UNAVAILABLE"),
    "maintenance": _say(503, "MAINTENANCE_MODE"),
    "gateway timeout": _say(504),
    "slow down": _hold_off,
    "slow down, unsaid": _say(429),
}


def _cursor(text: bytes) -> Spoiler:
    def change(body: bytes, chance: random.Random) -> bytes:
        return body.rpartition(b',"next_cursor":')[0] + text + b"}"

    return _body(change)


AGAIN = "the cursor just asked for"
LASTING: dict[str, Spoiler] = {
    "key refused": _say(401, "UNAUTHORIZED"),
    "disabled": _say(403, "MERCHANT_DISABLED"),
    "code never heard of": _say(418, "PAY_TEAPOT"),
    "forbidden by a proxy": lambda response, chance: httpx.Response(403, html="no"),
    "elsewhere": lambda response, chance: httpx.Response(
        302, headers={"location": "https://else.example/"}
    ),
    "cursor left out": _cursor(b""),
    "cursor empty": _cursor(b',"next_cursor":""'),
    "cursor a number": _cursor(b',"next_cursor":7'),
    AGAIN: lambda response, chance: response,
    "no list": _body(lambda body, chance: b'{"next_cursor":null}'),
    "a list alone": _body(lambda body, chance: b"[]"),
}


@dataclass
class Weather:
    """How often requests fail: each by itself, and all of them between two moments."""

    passing: float = 0.0
    lasting: float = 0.0
    outage: tuple[float, float] = (0.0, 0.0)
    latency: float = 0.05
    stalls: float = 0.0


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests to the service and answers back, as the weather allows."""

    world: World
    service: Service
    weather: Weather = field(default_factory=Weather)
    log: list[str] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._travel()
        response, shown = self.service.answer(request)
        self._travel()
        trouble = self._draw_trouble()
        self.log.append(f"{self.world.now:.3f} {request.url.raw_path.decode()} {trouble}")
        if trouble == AGAIN and (cursor := request.url.params.get("cursor")):
            return _cursor(b',"next_cursor":"%s"' % cursor.encode())(response, self.world.chance)
        if trouble and trouble != AGAIN:
            return (PASSING | LASTING)[trouble](response, self.world.chance)
        if shown:
            self.service.note(shown)
        return response

    def _travel(self) -> None:
        chance = self.world.chance
        stalls = chance.random() < self.weather.stalls
        self.world.sleep(chance.uniform(0, 8.0 if stalls else self.weather.latency))

    def _draw_trouble(self) -> str:
        chance, weather = self.world.chance, self.weather
        if weather.outage[0] <= self.world.now < weather.outage[1]:
            return chance.choice(["maintenance", "no connection", "slow down", "bad gateway"])
        if chance.random() < weather.lasting:
            return chance.choice(list(LASTING))
        return chance.choice(list(PASSING)) if chance.random() < weather.passing else ""
