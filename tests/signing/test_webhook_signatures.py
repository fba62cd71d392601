"""Webhook signatures: raw body, any of several `v1`, five minutes both ways."""

import hashlib
import hmac
import json

import pytest
from hypothesis import given, strategies as st

from svc_analytics.instants import SECOND
from svc_analytics.signing.secrets import parse_secrets
from svc_analytics.signing.webhooks import sign_webhook, verify_webhook
from tests.support.unit_material import examples

BODY = b'{"event_id":"e-1","type":"test.ping"}'
AT = 1_760_000_000
NOW = AT * SECOND
RING = parse_secrets("new secret,old secret")

# printf '1760000000.{"event_id":"e-1","type":"test.ping"}' | openssl dgst -sha256 -hmac …
OPENSSL_MAC = "ebc8ebd56ed35b4b30eeb8959d7d8348814ea6245d98f0928d6f221af6b8c6be"


def mac(secret: str, body: bytes = BODY, at: str = str(AT)) -> str:
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


NEW, OLD, FORGED = mac("new secret"), mac("old secret"), mac("another secret")


def test_signature_of_openssl_is_authentic():
    """A signature made with nothing but the openssl command line verifies."""
    ring = parse_secrets("webhook secret of the vector")
    header = f"t={AT},v1={OPENSSL_MAC}"
    assert verify_webhook(BODY, header, ring, NOW) is None
    assert sign_webhook(BODY, [ring[0].secret], AT) == header


AUTHENTIC = {
    "one, the newest": f"t={AT},v1={NEW}",
    "one, the previous": f"t={AT},v1={OLD}",
    "two": f"t={AT},v1={NEW},v1={OLD}",
    "two, the other order": f"t={AT},v1={OLD},v1={NEW}",
    "an unknown one first": f"t={AT},v1={FORGED},v1={NEW}",
    "an unknown one last": f"t={AT},v1={NEW},v1={FORGED}",
    "t last": f"v1={NEW},t={AT}",
    "blanks behind the commas": f"t={AT}, v1={FORGED}, v1={OLD}",
    "another scheme beside it": f"t={AT},v0=x,v1={NEW},v2=abc",
}


@pytest.mark.parametrize("header", AUTHENTIC.values(), ids=AUTHENTIC.keys())
def test_any_matching_signature_is_enough(header):
    """H3: a delivery is accepted if any `v1` matches any secret, in whatever order."""
    assert verify_webhook(BODY, header, RING, NOW) is None


def test_every_pair_is_compared_in_constant_time(monkeypatch):
    """Contract, Signature 5: no early end, so that time tells neither secret nor signature."""
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def watch(want: bytes, have: bytes) -> bool:
        compared.append((want, have))
        return compare(want, have)

    monkeypatch.setattr("svc_analytics.signing.webhooks.hmac.compare_digest", watch)
    assert verify_webhook(BODY, f"t={AT},v1={NEW},v1={FORGED}", RING, NOW) is None
    pairs = [(want, have) for want in (NEW, OLD) for have in (NEW, FORGED)]
    assert compared == [(want.encode(), have.encode()) for want, have in pairs]


REFUSED = {
    "missing": None,
    "empty": "",
    "a word": "signature",
    "no v1": f"t={AT}",
    "no t": f"v1={NEW}",
    "two t": f"t={AT},t={AT},v1={NEW}",
    "two t, one right": f"t={AT},t=1,v1={NEW}",
    "uppercase hex": f"t={AT},v1={NEW.upper()}",
    "capital name": f"t={AT},V1={NEW}",
    "only an unknown secret": f"t={AT},v1={FORGED}",
    "empty signature": f"t={AT},v1=",
    "half a signature": f"t={AT},v1={NEW[:32]}",
    "blank before the signature": f"t={AT},v1= {NEW}",
    "a signature under v0": f"t={AT},v0={NEW}",
    "t with a fraction": f"t={AT}.0,v1={NEW}",
    "t in words": f"t=now,v1={NEW}",
    "t below zero": f"t=-{AT},v1={NEW}",
    "t of a thousand digits": f"t={'1' * 1000},v1={NEW}",
    "t with a leading zero": f"t=0{AT},v1={NEW}",
    "t in full-width digits": f"t=\uff11,v1={NEW}",
    "not ASCII": f"t={AT},v1=é{NEW}",
    "half a surrogate pair": f"t={AT},v1=\ud800{NEW}",
    "semicolons": f"t={AT};v1={NEW}",
    "t swapped": f"t={AT + 1},v1={NEW}",
    "empty or guessed": f"t={AT},v1={mac('')},v1={mac('new')},v1={mac('new secret ')}",
}


NO_MATCH = {
    *("uppercase hex", "only an unknown secret", "empty signature", "half a signature"),
    *("blank before the signature", "t with a leading zero", "not ASCII", "half a surrogate pair"),
    *("t swapped", "empty or guessed"),
}  # all others have no time, or no signature


@pytest.mark.parametrize("what", REFUSED)
def test_other_header_is_refused_with_its_reason(what):
    """H3: a header that is missing, malformed or signed by no secret of ours is refused."""
    header = REFUSED[what]
    reason = verify_webhook(BODY, header, RING, NOW)
    assert reason and reason.code == f"webhook.no_{'match' if what in NO_MATCH else 'header'}"
    assert "secret" not in (header or "") and NEW not in reason


TOLERATED = [
    *((0, True), (300, True), (-300, True), (299.999999, True), (-299.999999, True)),
    *((300.000001, False), (-300.000001, False), (301, False), (-301, False)),
]


@pytest.mark.parametrize(("seconds", "is_accepted"), TOLERATED)
def test_five_minutes_are_tolerated_both_ways(seconds, is_accepted):
    """H3: signed 300 s before or after our clock is accepted, a microsecond more is not."""
    reason = verify_webhook(BODY, f"t={AT},v1={NEW}", RING, NOW + round(seconds * SECOND))
    assert reason is None if is_accepted else "5 minutes" in (reason or "")


BODIES = {
    "re-serialised": json.dumps(json.loads(BODY)).encode(),
    "a line end more": BODY + b"\n",
    "empty": b"",
    "with a BOM": b"\xef\xbb\xbf" + BODY,
    "one byte changed": BODY.replace(b"e-1", b"e-2"),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_only_the_raw_body_was_signed(body):
    """H3: the same event in other bytes is refused."""
    assert verify_webhook(body, f"t={AT},v1={NEW}", RING, NOW)


@pytest.mark.parametrize(
    "body", [b"", b"\xff\x00.", b"x" * 10_000_000], ids=["empty", "bytes", "10 MB"]
)
def test_any_body_can_be_signed(body):
    """H3: a body need not be JSON or text, and may be large."""
    header = f"t={AT},v1={mac('old secret', body)}"
    assert verify_webhook(body, header, RING, NOW) is None


def test_signing_in_a_rotation_carries_both_secrets():
    """Our own signing makes the header of the contract, one `v1` for each secret."""
    header = sign_webhook(BODY, [entry.secret for entry in RING], AT)
    assert header == f"t={AT},v1={NEW},v1={OLD}"


def test_no_secret_accepts_nothing():
    """Without a webhook secret no delivery is authentic."""
    assert verify_webhook(BODY, f"t={AT},v1={NEW}", (), NOW)


@examples
@given(st.text(max_size=80) | st.text("tv10=,abcdef ", max_size=80), st.binary(max_size=20))
def test_any_header_gives_an_answer(header, body):
    """Arbitrary headers are refused with a reason and never raise."""
    assert verify_webhook(body, header, RING, NOW)
