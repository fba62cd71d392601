"""Answers of a hostile or a broken service, each made of the one that it should have given.

A spoiler takes the right answer (with its request) and gives another one, or raises what a
transport raises. `ON_THE_WIRE` are those that only a socket can give: bytes, spoiled too.

What cannot be told from the truth is left out: a page that ends too early with a null, a
record that never was. `KEY` in an answer stands for a key that the service echoes.
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx

from tests.support.fake_service import CHECKOUT_KEY, refusal

Spoiler = Callable[[httpx.Response, random.Random], httpx.Response]
Change = Callable[[bytes, random.Random], bytes]

KEY = CHECKOUT_KEY
AROUND = "round-"  # how a cursor begins that leads to the first page again
DEEP = 20_000
BOMB_SIZE = 3_000_000  # bytes that a bomb unfolds to; beyond the cap that the ring sets
JSON = {"content-type": "application/json"}


def answered(
    response: httpx.Response, body: bytes, status: int = 200, **headers: str
) -> httpx.Response:
    """Answer with another body, the rest as it was unless headers are given."""
    kept = {name: response.headers[name] for name in ("date",) if name in response.headers}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=kept | JSON | named, content=body)


def changed(change: Change, **headers: str) -> Spoiler:
    """Make a spoiler of a change of the body."""
    return lambda response, chance: answered(response, change(response.content, chance), **headers)


def said(body: bytes, status: int = 200, **headers: str) -> Spoiler:
    """Make a spoiler that answers the same to everything."""
    return lambda response, chance: answered(response, body, status, **headers)


class Broken(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, body: bytes, error: Exception) -> None:
        self._body, self._error = body, error

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        raise self._error


def raised(error: Exception) -> Spoiler:
    """Make a spoiler that raises what a transport raises."""

    def spoil(response: httpx.Response, chance: random.Random) -> httpx.Response:
        raise error

    return spoil


def refused(status: int, *codes: str) -> Spoiler:
    """Make a spoiler that refuses."""
    return lambda response, chance: refusal(status, *codes)


def _break_off(response: httpx.Response, chance: random.Random) -> httpx.Response:
    part = response.content[: chance.randint(0, len(response.content))]
    error = httpx.RemoteProtocolError("peer closed connection without sending complete message")
    return httpx.Response(200, headers={"date": ""}, stream=Broken(part, error))


def _cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body))]


def _hold_off(response: httpx.Response, chance: random.Random) -> httpx.Response:
    """Ask for patience, in any of the ways that were seen."""
    dates = ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT"]
    asked = chance.choice(["", "0", "7", "-3", "1000000000", "soon", *dates])
    return refusal(429, "RATE_LIMITED", **({"retry_after": asked} if asked else {}))


PASSING: dict[str, Spoiler] = {
    "no connection": raised(httpx.ConnectError("refused")),
    "no answer": raised(httpx.ReadTimeout("timed out")),
    "reset": raised(httpx.ReadError("reset by peer")),
    "broken off": _break_off,
    "cut": changed(_cut),
    "cut and closed with a bracket": changed(lambda body, chance: _cut(body, chance) + b"]}"),
    "empty": said(b""),
    "a page for people": said(b"<html></html>", content_type="text/html"),
    "html said to be json": said(b"<html></html>"),
    "json said to be text": changed(lambda body, chance: body, content_type="text/plain"),
    "two documents": changed(lambda body, chance: body + body),
    "junk behind": changed(lambda body, chance: body + b"\0"),
    "a mark before": changed(lambda body, chance: b"\xef\xbb\xbf" + body),
    "bad gateway": said(b"<h1>Bad Gateway</h1>", 502, content_type="text/html; charset=utf-8"),
    "error": refused(500, "INTERNAL_SERVER_ERROR"),
    "unavailable": refused(503, "SERVICE_UNAVAILABLE"),
    "maintenance": refused(503, "MAINTENANCE_MODE"),
    "gateway timeout": refused(504),
    "slow down": _hold_off,
    "slow down, unsaid": refused(429),
}

# ---------- cursors


def with_cursor(body: bytes, cursor: bytes) -> bytes:
    return body.rpartition(b',"next_cursor":')[0] + b',"next_cursor":' + cursor + b"}"


def cursor(*texts: bytes) -> Spoiler:
    """Make a spoiler of pages: another cursor than the right one."""
    return changed(lambda body, chance: with_cursor(body, chance.choice(texts)))


def _cursor_again(response: httpx.Response, chance: random.Random) -> httpx.Response:
    """Give the cursor that was just asked for, or one of a page before it."""
    asked = response.request.url.params.get("cursor", "0.0")
    place, page = map(int, asked.split(".")) if re.fullmatch(r"\d+\.\d+", asked) else (0, 0)
    back = chance.choice([asked, f"{place // 2}.{page}", "0.0"])
    return answered(response, with_cursor(response.content, json.dumps(back).encode()))


def _circle(response: httpx.Response, chance: random.Random) -> httpx.Response:
    """Give the newest records again, more or fewer of them, under a cursor never given before."""
    document = json.loads(response.content)
    rows = document["data"][: chance.randint(1, 100)]
    text = json.dumps({"data": rows, "next_cursor": f"{AROUND}{chance.random()}"})
    return answered(response, text.encode())


LEFT_OUT = changed(lambda body, chance: body.rpartition(b",")[0] + b"}")
CURSORS: dict[str, Spoiler] = {
    "a cursor that was there": _cursor_again,
    "a cursor left out": LEFT_OUT,
    "a cursor of another type": cursor(b"7", b"true", b"[]", b'["0.0"]', b"{}", b"0.5", b"-1"),
    "an empty cursor": cursor(b'""'),
    "a cursor of blanks": cursor(b'" "', b'"\\t"', b'"\\u0000"', b'"null"', b'"0"'),
    "a cursor of controls": cursor(b'"\\u0000\\r\\nHost: x"', b'"\\u001b[2J"', b'"a\\nb"'),
    "a cursor for another parser": cursor(b'"&limit=1&cursor=#?%00"', b'"../../me"', b'"%"'),
    "a cursor of half a character": cursor(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xff"'),
    "a long cursor": cursor(b'"%s"' % (b"x" * 3_000), '"سلام"'.encode()),
    "a cursor too long for an address": cursor(b'"%s"' % (b"x" * 70_000)),
    "a key as a cursor": cursor(b'"%s"' % KEY.encode()),
    "a circle under ever new cursors": _circle,
}

AGAIN = "the cursor just asked for"
# After these, trying again is of no use.
LASTING: dict[str, Spoiler] = {
    "key refused": refused(401, "UNAUTHORIZED"),
    "disabled": refused(403, "MERCHANT_DISABLED"),
    "code never heard of": refused(418, "PAY_TEAPOT"),
    "forbidden by a proxy": lambda response, chance: httpx.Response(403, html="no"),
    "elsewhere": said(b"", 302, location="https://else.example/"),
    "cursor left out": LEFT_OUT,
    "cursor empty": changed(lambda body, chance: with_cursor(body, b'""')),
    "cursor a number": changed(lambda body, chance: with_cursor(body, b"7")),
    AGAIN: lambda response, chance: response,
    "no list": said(b'{"next_cursor":null}'),
    "a list alone": said(b"[]"),
}

# ---------- shapes of a document


def _member(text: bytes) -> Change:
    return lambda body, chance: b"{" + text + b"," + body[1:] if body[:1] == b"{" else body


def _data(text: bytes) -> Spoiler:
    return said(b'{"data":%s,"next_cursor":null}' % text)


SHAPES: dict[str, Spoiler] = {
    "no document": said(b"null"),
    "a list": said(b"[]"),
    "a text": said(json.dumps(KEY).encode()),
    "a number": said(b"1e999999"),
    "an object of nothing": said(b"{}"),
    "data that is no list": lambda response, chance: _data(
        chance.choice([b"null", b"{}", b'"[]"', b"0", b"true"])
    )(response, chance),
    "two lists, the first empty": changed(_member(b'"data":[]')),
    "two cursors": changed(_member(b'"next_cursor":null')),
    "two cursors, spelt in two ways": changed(_member(b'"next_curs\\u006fr":null')),
    "a list nested in a list": changed(
        lambda body, chance: body.replace(b'"data":[', b'"data":[[', 1).replace(b"]", b"]]", 1)
    ),
    "deep in the page": changed(_member(b'"deep":' + b"[" * DEEP + b"]" * DEEP)),
    "deep and never closed": said(b'{"data":' + b"[" * DEEP),
    "a bare NaN": changed(_member(b'"x":NaN')),
    "a comment": changed(lambda body, chance: b"/* */" + body),
    "a comma too many": changed(lambda body, chance: body[:-1] + b",}"),
    "single quotes": changed(lambda body, chance: body.replace(b'"', b"'")),
    "utf-16": changed(lambda body, chance: body.decode().encode("utf-16")),
    "utf-16 that is said": changed(
        lambda body, chance: body.decode().encode("utf-16-le"),
        content_type="application/json; charset=utf-16le",
    ),
    "latin-1 within": changed(_member(b'"x":"\xe9\xff"')),
    "another charset said": changed(
        lambda body, chance: body, content_type="application/json; charset=shift_jis"
    ),
    "a type for attackers": changed(
        lambda body, chance: body, content_type=f"application/x-{KEY}; boundary=json\x7f"
    ),
    "no type": lambda response, chance: httpx.Response(200, content=response.content),
    "blanks around": changed(lambda body, chance: b" \r\n\t" * 5_000 + body + b"\n" * 5_000),
    "zeros behind": changed(lambda body, chance: body + b"\0" * 100),
    "lines of documents": changed(lambda body, chance: body + b"\n" + body),
    "an unknown member of any kind": changed(_member(b'"x":{"a":[1e400,-0.0,9e99999]}')),
    "an error that is a success": said(b'{"statusCode":500,"errors":{"error":["X"]}}'),
    "a sequence of documents": changed(lambda body, chance: b"\x1e" + body + b"\n"),
}

# ---------- refusals, storms


def _wait(text: str) -> Spoiler:
    return lambda response, chance: refusal(
        chance.choice([429, 503]), "RATE_LIMITED", retry_after=text
    )


WAITS = {
    f"wait {text[:24]!r}": _wait(text)
    for text in (
        *("0", "1", "30", "-1", "1e9", "0x10", "9" * 400, "1.5", "NaN", "+5", " 7 "),
        *("Wed, 21 Oct 2099 07:28:00 GMT", "Wed, 21 Oct 1815 07:28:00 GMT"),
        *("Wed, 99 Oct 2026 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2359", KEY),
    )
}


def envelope(status: int, errors: Any, **headers: str) -> Spoiler:
    """Make a spoiler that refuses with an odd envelope."""
    return said(json.dumps({"statusCode": status, "errors": errors}).encode(), status, **headers)


REFUSALS: dict[str, Spoiler] = {
    "a code that is a key": envelope(400, {"error": [KEY, KEY.upper()]}),
    "a thousand codes": envelope(409, {"error": [f"CODE_{n}" for n in range(1000)]}),
    "codes of no kind": envelope(422, {"error": [None, 7, [], {"a": 1}, ""]}),
    "errors that are a text": envelope(418, f"no, {KEY}"),
    "errors in a list": envelope(451, [{"error": ["X"]}]),
    "a refusal and a storm": envelope(400, {"error": ["PAY_NEW", "RATE_LIMITED"]}),
    "a long code": envelope(400, {"error": ["A" * 100_000]}),
    "a code of lines": envelope(400, {"error": ["OK\r\nX-Key: a", "A\nB"]}),
    "an error that is deep": said(b"[" * DEEP, 500),
    "an error of bytes": said(b"\xff\xfe\0", 400),
    "a success without content": said(b"", 204),
    "accepted for later": said(b"", 202),
    "a part of it": changed(lambda body, chance: body[: len(body) // 2], content_range="bytes 0-9"),
    "not modified": said(b"", 304),
    "gone": envelope(410, {"error": []}),
    "a status of its own": said(b"{}", 599),
    "a status beyond all": said(b"{}", 999),
    "too early": said(b"", 425),
    "a login of the network": said(b"", 511, www_authenticate=f"Basic realm={KEY}"),
    "a proxy that wants a password": said(b"", 407, proxy_authenticate="Basic"),
}


def _redirect(status: int, location: str | None) -> Spoiler:
    headers = {} if location is None else {"location": location}
    return said(b"", status, **headers)


REDIRECTS = {
    f"{status} to {str(location)[:32]}": _redirect(status, location)
    for status, location in (
        (301, "https://else.example/"),
        (302, f"https://else.example/?key={KEY}"),
        (303, "/api/pay/v1/me"),
        (307, "http://pay.example/"),
        (308, ""),
        (301, None),
        (302, "javascript:alert(1)"),
        (300, "//" + "a" * 5000),
    )
}

# ---------- codings


def _zipped(change: Change) -> Spoiler:
    return changed(
        lambda body, chance: change(gzip.compress(body, 1), chance), content_encoding="gzip"
    )


BOMB = gzip.compress(b" " * BOMB_SIZE, 9)
CODINGS: dict[str, Spoiler] = {
    "a bomb": said(BOMB, content_encoding="gzip"),
    "a bomb behind an error": said(BOMB, 400, content_encoding="gzip"),
    "a bomb of a page": changed(
        lambda body, chance: gzip.compress(body + b" " * BOMB_SIZE, 1), content_encoding="gzip"
    ),
    "gzip, cut": _zipped(_cut),
    "gzip, a bit flipped": _zipped(
        lambda body, chance: flip(body, chance.randrange(10, len(body)), chance)
    ),
    "gzip, twice": _zipped(lambda body, chance: gzip.compress(body)),
    "gzip, and junk behind": _zipped(lambda body, chance: body + b"junk"),
    "gzip, and another behind": _zipped(lambda body, chance: body + gzip.compress(b"{}")),
    "gzip that is plain": changed(lambda body, chance: body, content_encoding="gzip"),
    "plain that is gzip": changed(lambda body, chance: gzip.compress(body)),
    "gzip as it should be": _zipped(lambda body, chance: body),
    "an unknown coding": changed(lambda body, chance: body, content_encoding="x-rot13"),
    "a coding that is a key": changed(lambda body, chance: body, content_encoding=KEY),
    "a list of codings": changed(lambda body, chance: body, content_encoding="gzip, gzip, br"),
}


def flip(body: bytes, place: int, chance: random.Random) -> bytes:
    """Turn one bit of a body."""
    return body[:place] + bytes([body[place] ^ (1 << chance.randrange(8))]) + body[place + 1 :]


# ---------- records: what is sent in place of one of them


def _record(change: Callable[[bytes, random.Random], bytes]) -> Spoiler:
    """Make a spoiler that changes the text of one record of a page."""

    def spoil(response: httpx.Response, chance: random.Random) -> httpx.Response:
        document = json.loads(response.content)
        rows = [json.dumps(row, separators=(",", ":")).encode() for row in document["data"]]
        if rows:
            place = chance.randrange(len(rows))
            rows[place] = change(rows[place], chance)
        end = json.dumps(document["next_cursor"]).encode()
        body = b'{"data":[' + b",".join(rows) + b'],"next_cursor":' + end + b"}"
        return answered(response, body)

    return spoil


def member(name: str, *values: bytes) -> Spoiler:
    """Make a spoiler that gives a member of a record one of these values; none leaves it out."""
    pattern = re.compile(rb'"(?:%s)":("[^"]*"|null|\{[^}]*\})' % name.encode())

    def change(raw: bytes, chance: random.Random) -> bytes:
        found = pattern.search(raw)
        if found is None:
            return raw
        value = chance.choice(values)
        text = b'"x":0' if not value else found[0][: found.start(1) - found.start()] + value
        return raw[: found.start()] + text + raw[found.end() :]

    return _record(change)


AMOUNTS = (
    *(b"10", b"1e-7", b"0.1", b"null", b'""', b'" 1"', b'"+1"', b'"1_0"', b'"1."', b'".5"'),
    *(b'"NaN"', b'"Infinity"', b'"1e400"', b'"-0"', b'"0x1"', '"۱۲"'.encode(), b"[]", b"{}"),
    *(b'"0.%s"' % (b"1" * 19), b'"%s"' % (b"9" * 21), b'"%s"' % (b"9" * 5000), b"9" * 5000, b""),
)
TIMES = (
    *(b"null", b'""', b"", b"0", b"1790000000", b'"yesterday"', b'"2026-02-30T00:00:00Z"'),
    *(b'"2026-10-05"', b'"2026-10-05T00:00:00"', b'"0001-01-01T00:00:00Z"', b"[]", b"{}"),
    *(b'"9999-12-31T23:59:60Z"', b'"99999-01-01T00:00:00Z"', b'"2026-10-05T24:00:00Z"'),
    *(b'"2026-10-05T00:00:00+99:99"', b'"2026-10-05T00:00:00.%sZ"' % (b"1" * 400)),
    *(b'"\\u0662026-10-05T00:00:00Z"', b'"-2026-10-05T00:00:00Z"'),
    b'"2026-10-05T00:00:00Z\\u0000"',
)
RECORDS: dict[str, Spoiler] = {
    "an odd amount": member("amount|fee_amount|net_amount|charged_amount|debited_amount", *AMOUNTS),
    "an odd value in dollars": member("usd_value|fee_percent", *AMOUNTS),
    "an odd time": member("paid_at|created_at|settled_at", *TIMES),
    "an odd id": member("id", b"null", b"7", b'""', b"", b"[]", b"{}", b"true", b"-0.0"),
    "an odd coin": member("currency", b"null", b'""', b"7", b"", b"[]"),
    "an odd text": member(
        "reference_id|payer_id", b'"\\ud800"', b'"a\\u0000b"', b'"\xff"', b"7", b'"\\u202e"', b"[]"
    ),
    "huge metadata": member("metadata|comment", b'{"x":"%s"}' % (b"y" * 60_000)),
    "deep metadata": member("metadata|comment", b"[" * DEEP + b"]" * DEEP),
    "metadata of odd values": member(
        "metadata|comment", b"1e400", b"NaN", b'{"a":1,"a":2}', b'"\\ud800"', b"-", b"nul"
    ),
    "a record twice": _record(lambda raw, chance: raw + b"," + raw),
    "a record with a key twice": _record(lambda raw, chance: b'{"amount":"0",' + raw[1:]),
    "a record that is none": _record(
        lambda raw, chance: chance.choice([b"null", b"7", b'"x"', b"[]", b"{}", b"true", b"[[]]"])
    ),
    "a record cut off": _record(lambda raw, chance: raw[: chance.randrange(len(raw))]),
    "more members than anybody has": _record(
        lambda raw, chance: raw[:-1] + b"".join(b',"m%d":%d' % (n, n) for n in range(500)) + b"}"
    ),
}

# ---------- profiles and single objects

CLOCKS: dict[str, Spoiler] = {
    "no clock": lambda response, chance: httpx.Response(
        200, headers=JSON, content=response.content
    ),
    "a garbled clock": changed(lambda body, chance: body, date="Sun, 99 Foo 20266 99:99:99"),
    "a clock a month ahead": changed(
        lambda body, chance: body, date="Sun, 20 Dec 2026 12:00:00 GMT"
    ),
    "a clock years behind": changed(
        lambda body, chance: body, date="Thu, 01 Jan 1970 00:00:00 GMT"
    ),
}
PROFILES: dict[str, Spoiler] = {
    "a profile without an id": said(b'{"display_name":"Shop"}'),
    "an id that is no text": said(b'{"id":7}'),
    "an id of nothing": said(b'{"id":""}'),
    "a profile that is a list": said(b'[{"id":"x"}]'),
    "a profile of odd values": changed(
        _member(b'"display_name":{"a":1e400},"status":null,"logo_url":["\\u0000"]')
    ),
    "a huge profile": changed(_member(b'"display_name_fa":"%s"' % (b"x" * 200_000))),
}
OBJECTS: dict[str, Spoiler] = {
    "another's object": said(b'{"id":"00000000-0000-4000-8000-000000000000"}'),
    "an object with odd members": changed(
        _member(b'"amounts":7,"metadata":1e400,"payment":[],"binding_id":null')
    ),
    "valid, but not a yes": said(b'{"valid":"true","payment":[]}'),
    "valid, of nothing": said(b'{"valid":true,"payment":null}'),
    "valid, of odd values": said(
        b'{"valid":true,"payment":{"id":7,"amount":1e400,"paid_at":"\\u0000"}}'
    ),
    "not found": lambda response, chance: refusal(404, "PAY_SESSION_NOT_FOUND"),
    "a binding that is none": said(b'{"state":7,"binding":[1]}'),
}

ANYWHERE: dict[str, Spoiler] = PASSING | SHAPES | WAITS | REFUSALS | REDIRECTS | CODINGS
SPOILERS: dict[str, Spoiler] = ANYWHERE | CURSORS | RECORDS | PROFILES | CLOCKS | OBJECTS
# These go on until the run ends.
ENDLESS = {"a circle under ever new cursors"}
# After these a row may be set aside, or kept as it was sent, until its time is read again.
CHANGING = {*RECORDS, "a list nested in a list"}


def drawn(kind: str, chance: random.Random) -> str:
    """Draw a spoiler for a route of a kind: the families alike, however large they are."""
    families: list[Iterable[str]] = [PASSING, SHAPES, WAITS, REFUSALS, REDIRECTS, CODINGS]
    families += {"me": [PROFILES, CLOCKS], "list": [CURSORS, CURSORS, RECORDS, RECORDS]}.get(
        kind, [OBJECTS]
    )
    return chance.choice(list(chance.choice(families)))
