"""Answers: what a status and its codes mean, and what is not an answer at all."""

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from svc_analytics.api.responses import (
    Response,
    RetryableError,
    raise_api_error,
    read_object,
    read_profile,
    require_json,
)
from svc_analytics.errors import ApiError, KeyRefused, NotFound, ProtocolError, WrongKeyClass
from svc_analytics.instants import to_micros
from svc_analytics.records.raw_json import InvalidJson
from tests.support.unit_material import examples, raised_by


def envelope(*codes: Any) -> bytes:
    return json.dumps({"statusCode": 0, "errors": {"error": list(codes)}}).encode()


def meaning(status: int, body: bytes, **headers: str) -> Any:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return raised_by(lambda: raise_api_error(status, names, body, "/payments"))


FINAL = {
    "key refused": (401, ["UNAUTHORIZED"], KeyRefused),
    "wrong class": (403, ["PAY_WRONG_KEY_KIND"], WrongKeyClass),
    "forbidden": (403, ["FORBIDDEN"], ApiError),
    "disabled": (403, ["MERCHANT_DISABLED"], ApiError),
    "disabled, with a 503": (503, ["MERCHANT_DISABLED"], ApiError),
    "no business": (404, ["MERCHANT_NOT_FOUND"], ApiError),
    "not found": (404, ["PAY_SESSION_NOT_FOUND"], NotFound),
    "no such route": (404, ["NOT_FOUND"], NotFound),
    "bad cursor": (422, ["VALIDATION_FAILED"], ApiError),
    "several codes": (422, ["NEW_CODE", "VALIDATION_FAILED"], ApiError),
    "a refusal beside a pause": (429, ["RATE_LIMITED", "UNAUTHORIZED"], KeyRefused),
    "a wrong class with another status": (422, ["PAY_WRONG_KEY_KIND"], WrongKeyClass),
    "unknown code, 401": (401, ["KEY_EXPIRED"], KeyRefused),
    "unknown code, 404": (404, ["NEW_CODE"], NotFound),
    "unknown code, 422": (422, ["NEW_CODE"], ApiError),
}


@pytest.mark.parametrize(("status", "codes", "kind"), FINAL.values(), ids=FINAL.keys())
def test_refusal_is_told_by_code_then_by_status(status, codes, kind):
    """A8, A9: codes decide first, the status for those not known; attributes carry both."""
    error = meaning(status, envelope(*codes))
    assert type(error) is kind
    assert (error.status, error.codes, error.path) == (status, tuple(codes), "/payments")
    assert "/payments" in str(error) and str(status) in str(error)


PASSING = {
    "throttled": (429, ["RATE_LIMITED"], True),
    "throttled, with a 403": (403, ["RATE_LIMITED"], True),
    "unknown code, 429": (429, ["NEW_CODE"], True),
    "maintenance, with a 403": (403, ["MAINTENANCE_MODE"], False),
    "bad gateway": (502, [], False),
    "gateway timeout": (504, [], False),
    "unknown code, 500": (500, ["NEW_CODE"], False),
    "a proxy's own": (599, [], False),
}


@pytest.mark.parametrize(("status", "codes", "is_throttle"), PASSING.values(), ids=PASSING.keys())
def test_failure_that_may_pass_is_tried_again(status, codes, is_throttle):
    """A5: 429, 5xx and their codes may pass; only a throttle slows the pace down."""
    again = meaning(status, envelope(*codes))
    assert type(again) is RetryableError
    assert (again.status, again.codes, again.is_throttle) == (status, tuple(codes), is_throttle)


NO_ENVELOPE = {
    "empty": b"",
    "a list": b"[]",
    "null": b"null",
    "errors is null": b'{"errors":null}',
    "no errors": b'{"statusCode":401}',
    "error is a text": b'{"errors":{"error":"UNAUTHORIZED"}}',
    "codes are no texts": b'{"errors":{"error":[1,null,{}]}}',
    "not UTF-8": b"\xff",
    "deep": b"[" * 10_000,
}


@pytest.mark.parametrize("body", NO_ENVELOPE.values(), ids=NO_ENVELOPE.keys())
def test_without_an_envelope_the_status_decides(body):
    """A9: an answer of a proxy, without codes, is told by its status alone."""
    kinds = {
        400: ApiError,
        401: KeyRefused,
        403: ApiError,
        404: NotFound,
        429: RetryableError,
        502: RetryableError,
    }
    for status, kind in kinds.items():
        error = meaning(status, body)
        assert (type(error), error.codes) == (kind, ())


def test_401_and_404_claim_no_more_than_the_service_says():
    """The service hides revoked, unknown and blocked keys behind one code; so does the message."""
    assert "does not say which" in str(meaning(401, envelope("UNAUTHORIZED")))
    assert "will not help" in str(meaning(403, envelope("MERCHANT_DISABLED")))
    assert "a key is never sent there" in str(meaning(302, b""))


KEY_HINT, REFUSAL_HINT, REDIRECT_HINT = "the key is missing", "was not accepted", "SVC_BASE_URL"
HINTS = {299: REFUSAL_HINT, 300: REDIRECT_HINT, 302: REDIRECT_HINT, 399: REDIRECT_HINT}
HINTS |= {400: REFUSAL_HINT, 401: KEY_HINT, 402: REFUSAL_HINT, 409: REFUSAL_HINT}
HINTS |= {499: REFUSAL_HINT}


@pytest.mark.parametrize(("status", "hint"), HINTS.items())
def test_a_refusal_of_no_known_code_gives_one_hint(status, hint):
    """Only what redirects says so, and only 401 is about the key; 499 is no failure to repeat."""
    message = str(meaning(status, envelope("NEW_CODE")))
    assert [each for each in {*HINTS.values()} if each in message] == [hint]


KEY = "svc_payout_" + "2" * 64


@pytest.mark.parametrize("code", [KEY, f"Bearer {KEY}", f"INVALID_KEY_{KEY}"])
@pytest.mark.parametrize("status", [401, 500])
def test_key_echoed_as_a_code_is_not_repeated(status, code):
    """H5: codes are UPPER_SNAKE; whatever else stands in their place reaches no message."""
    error = meaning(status, envelope(code, "NEW_CODE"))
    assert "2222" not in f"{error} {error!r} {error.codes}"
    assert error.codes == ("NEW_CODE",)


def test_flood_of_codes_is_not_all_shown():
    """A refusal of many long codes does not become a message of all of them."""
    error = meaning(422, envelope(*["A" * 10_000] * 100))
    assert len(str(error)) < 1000


RETRY_AFTER = {
    "seconds": ("7", 7.0),
    "blanks": (" 7 ", 7.0),
    "thirty years, which the pace clamps": ("999999999", 999_999_999.0),
    "5000 digits": ("9" * 5000, 999_999_999.0),
    "missing": (None, None),
    "empty": ("", None),
    "below zero": ("-5", None),
    "persian digits": ("\u06f7", None),
    "a date that never was": ("Mon, 31 Feb 2026 00:00:00 GMT", None),
    "a date long past": ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    "a huge offset": ("Wed, 21 Oct 2026 07:28:00 +99999999999999999999", None),
}


@pytest.mark.parametrize(("text", "seconds"), RETRY_AFTER.values(), ids=RETRY_AFTER.keys())
def test_retry_after_is_read_or_ignored(text, seconds):
    """A3: seconds or a date are read; what makes no sense is as if it were not there."""
    headers = {} if text is None else {"retry_after": text}
    assert meaning(429, b"", **headers).retry_after == seconds


@pytest.mark.parametrize(("seconds", "ahead"), [(9, 86_400), (90, None), (-90, None)])
def test_retry_after_may_be_a_date(seconds, ahead):
    """A3, C3: it says how long from now, never a time below zero, by the service's clock if told.

    So a machine whose own clock is a day off waits as long as it was asked to.
    """
    now = datetime.now(UTC) + timedelta(seconds=ahead or 0)
    at = format_datetime(now + timedelta(seconds=seconds), usegmt=True)
    told = {"date": format_datetime(now, usegmt=True)} if ahead else {}
    wait = meaning(503, b"", retry_after=at, **told).retry_after
    assert wait == seconds if ahead else max(0, seconds - 10) <= wait <= max(0, seconds)


@examples
@given(
    st.text(max_size=60) | st.text("0123456789 +-:,GMTJanFeb", max_size=60),
    st.integers(300, 599),
    st.binary(max_size=40),
)
def test_any_refusal_has_a_meaning(text, status, body):
    """Whatever headers and body come with it, a refusal is one of our errors."""
    error = meaning(status, body, retry_after=text, date=text)
    assert isinstance(error, (RetryableError, ApiError))


KINDS = {"APPLICATION/JSON; charset=utf-8": True, "application/problem+json": True}
KINDS |= dict.fromkeys(["text/html", "text/plain", "", "application/octet-stream"], False)


@pytest.mark.parametrize(("kind", "is_ours"), KINDS.items())
def test_other_content_is_tried_again(kind, is_ours):
    """A6: a body that says it is JSON is the service's own; a proxy's is no answer."""
    with nullcontext() if is_ours else pytest.raises(RetryableError):
        assert require_json({"content-type": kind}, b"{}") == Response(b"{}")


CLOCKS = {
    "Fri, 20 Nov 2026 12:00:00 GMT": to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC)),
    "Fri, 20 Nov 2026 15:30:00 +0330": to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC)),
    "Fri, 20 Nov 2026 12:00:00 -0000": to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC)),
    "yesterday": None,
    "": None,
    "Fri, 31 Dec 9999 23:59:59 GMT": None,  # no month of a lake has that
    "Sun, 31 Dec 1899 00:00:00 GMT": None,
}


@pytest.mark.parametrize(("text", "at"), CLOCKS.items())
def test_services_clock_is_read_if_it_makes_sense(text, at):
    """C3: the Date of an answer is the service's clock; a senseless one is none."""
    assert require_json({"date": text}, b"{}").served_at == at


@pytest.mark.parametrize("body", [b"", b"{", b"{}{}", b"\xef\xbb\xbf{}", b"NaN", b"[" * 10_000])
def test_object_that_is_no_json_is_tried_again(body):
    """A6: a damaged object is InvalidJson, which is retried."""
    with pytest.raises(InvalidJson):
        read_object(Response(body))


@pytest.mark.parametrize("body", [b"{}", b'{"id":null}', b'{"id":""}', b'{"id":5}'])
def test_profile_needs_an_id(body):
    """H1: without the merchant's id no lake can be told from another."""
    with pytest.raises(ProtocolError, match="no id"):
        read_profile(Response(body))
