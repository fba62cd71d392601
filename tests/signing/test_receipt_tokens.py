"""Receipt tokens: their form and their MAC, against vectors made without our own code."""

import base64
import hashlib
import hmac
import json
import string
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from svc_analytics.signing.receipt_tokens import (
    FACTS,
    MalformedToken,
    has_token_form,
    parse_receipt,
    sign_receipt,
    split_token,
    verify_receipt,
)
from svc_analytics.signing.secrets import Secret
from tests.support.receipt_material import (
    FACTS as RECORD,
    RING,
    SECRET,
    encoded,
    signed,
    token_of,
    verdicts,
)
from tests.support.unit_material import examples


def verdict(token: str, record: dict[str, Any] | None = RECORD) -> str:
    return verify_receipt(token, RING, record).verdict


def test_signing_is_the_contracts_formula():
    """Our own signing equals plain hmac, base64 and json, in the canonical order of the facts."""
    compact = json.dumps(RECORD, separators=(",", ":")).encode()
    assert tuple(RECORD) == FACTS
    assert sign_receipt(dict(reversed(RECORD.items())), Secret(SECRET)) == token_of(compact)


PAYLOADS = {
    "spaced": json.dumps(RECORD, indent=2).encode(),
    "reversed order": json.dumps(dict(reversed(RECORD.items()))).encode(),
    "more facts": json.dumps(RECORD | {"tier": 3, "deep": {"a": [1, 2]}}).encode(),
    "escaped": json.dumps(RECORD).replace("order-42", "\\u006frder-42").encode(),
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_mac_is_over_the_bytes_received(payload):
    """However the service writes its JSON, the text as received is what is verified."""
    assert verdict(token_of(payload)) == "valid"


def test_more_facts_are_named_not_compared():
    """Unknown facts are tolerated (contract, Versioning 2), and can be told."""
    receipt = parse_receipt(token_of(RECORD | {"tier": 3, "area": "x"}))
    assert receipt.more_facts == ("area", "tier")
    assert receipt.facts == RECORD


ways = pytest.mark.parametrize(
    "verdicts_of", [lambda tokens: [*map(verdict, tokens)], verdicts], ids=["alone", "in bulk"]
)


@ways
def test_no_flipped_bit_is_ever_valid(verdicts_of):
    """H4: flipping any single bit of a token makes it anything but valid."""
    token = signed(RECORD).encode()
    flipped = [
        bytes([*token[:place], token[place] ^ 1 << bit, *token[place + 1 :]]).decode("latin-1")
        for place in range(len(token))
        for bit in range(8)
    ]
    assert verdicts_of([token.decode()]) == ["valid"]
    assert set(verdicts_of(flipped)) == {"malformed", "bad_signature"}


@ways
def test_no_other_last_character_is_valid(verdicts_of):
    """H4: of the four that decode to the same signature one is accepted, and nothing behind it."""
    token = signed(RECORD)
    others = [token[:-1] + last for last in f"{string.printable}\0" if last != token[-1]]
    others += [f"{token}==", f"{token}\n", f" {token}"]
    assert set(verdicts_of(others)) == {"malformed", "bad_signature"}


def test_other_last_character_of_the_payload_is_not_valid():
    """A payload segment that decodes alike but reads differently was not signed."""
    head, payload, mac = token_of(json.dumps(RECORD).encode() + b" ").split(".")
    variants = [f"{head}.{payload[:-1]}{last}.{mac}" for last in string.ascii_letters]
    assert [
        text for text in variants if verdict(text) == "valid" and text.split(".")[1] != payload
    ] == []


@pytest.mark.parametrize("blanks", [0, 1, 2])
def test_padding_that_was_not_signed_is_refused(blanks):
    """Of the texts that decode alike, the one that was signed is accepted."""
    token = token_of(json.dumps(RECORD).encode() + b" " * blanks)
    head, payload, mac = token.split(".")
    padding = "=" * (-len(payload) % 4)
    texts = [f"{head}.{payload}{more}.{mac}" for more in ("=", "==")]
    texts += [f"{token}=", f"{head}.{payload}{padding}.{mac}="] if padding else []
    assert {verdict(text) for text in texts} <= {"malformed", "bad_signature"}
    assert verdict(token) == "valid"


@pytest.mark.parametrize("blanks", [0, 1, 2])
def test_a_service_may_pad_its_base64url(blanks):
    """RFC 4648 pads unless told otherwise, and the contract tells nothing: MAC as received.

    A payload of a third of all lengths needs no padding; its signature always does.
    """
    payload = json.dumps(RECORD).encode() + b" " * blanks
    signed = "v1." + base64.urlsafe_b64encode(payload).decode()
    mac = hmac.new(SECRET.encode(), signed.encode(), hashlib.sha256).digest()
    assert verdict(f"{signed}.{base64.urlsafe_b64encode(mac).decode()}") == "valid"
    assert verdict(f"{signed}.{encoded(mac)}") == "valid"


TOKEN = token_of(RECORD)


def token_with(member: bytes) -> str:
    """Make a rightly signed token with one member more than the ten facts."""
    return token_of(json.dumps(RECORD).encode()[:-1] + b"," + member + b"}")


MALFORMED = {
    "empty": "",
    "a word": "receipt",
    "two parts": TOKEN.rpartition(".")[0],
    "four parts": TOKEN + ".x",
    "no payload": "v1.." + TOKEN.rpartition(".")[2],
    "version 2": token_of(RECORD, version="v2"),
    "version 1.0": token_of(RECORD, version="v1.0"),
    "no version": token_of(RECORD, version=""),
    "capital version": token_of(RECORD, version="V1"),
    "line end": TOKEN + "\n",
    "blank before": " " + TOKEN,
    "junk in the signature": TOKEN[:-20] + "!" + TOKEN[-19:],
    "blank in the signature": TOKEN[:-20] + " " + TOKEN[-20:],
    "short signature": TOKEN[:-1],
    "long signature": TOKEN + "A",
    "too much padding": TOKEN + "==",
    "alphabet of plain base64": TOKEN[:-2] + "+/",
    "a million characters": TOKEN + "A" * 1_000_000,
    "not JSON": token_of(b"{"),
    "not UTF-8": token_of(b"\xff\xfe"),
    "a list": token_of([RECORD]),
    "a text": token_of("RECORD"),
    "null": token_of(None),
    "two documents": token_of(json.dumps(RECORD).encode() * 2),
    "with a BOM": token_of(b"\xef\xbb\xbf" + json.dumps(RECORD).encode()),
    "a key twice": token_with(b'"amount":"12.50"'),
    "a key twice, escaped": token_with(b'"\\u0061mount":"1"'),
    "a key twice, deep": token_with(b'"x":{"a":1,"a":1}'),
    "nested too deep": token_with(b'"x":' + b"[" * 6000 + b"]" * 6000),
    "a number of 5000 digits": token_with(b'"x":' + b"1" * 5000),
    "half a surrogate pair": token_of(json.dumps(RECORD).replace("order-42", "\\ud800").encode()),
}


@pytest.mark.parametrize("token", MALFORMED.values(), ids=MALFORMED.keys())
def test_other_forms_are_malformed(token):
    """H4: what is not a token of the contract's form is malformed, never worse and never valid."""
    assert verdict(token) == "malformed"
    with pytest.raises(MalformedToken):
        parse_receipt(token)


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize(
    "value", [..., None, 12.5, ["x"]], ids=["missing", "null", "number", "list"]
)
def test_every_fact_must_be_a_text(fact, value):
    """A rightly signed token that lacks one of the ten facts is malformed, and says which."""
    payload = {name: text for name, text in RECORD.items() if name != fact}
    token = token_of(payload if value is ... else payload | {fact: value})
    found = verify_receipt(token, RING, RECORD)
    assert found.verdict == "malformed"
    assert fact in found.reason


@pytest.mark.parametrize("fact", ["amount", "charged_amount", "net_amount", "paid_at"])
@pytest.mark.parametrize("text", ["", "1e3", " 1", "2026-10-05T09:30:00", "NaN"])
def test_amounts_and_instant_must_be_of_the_contracts_form(fact, text):
    """A fact that is no plain amount or no instant makes the token malformed."""
    found = verify_receipt(token_of(RECORD | {fact: text}), RING, RECORD)
    assert found.verdict == "malformed" and "a fact of the payload cannot be read: " in found.reason


@pytest.mark.parametrize("value", [None, 1, b"v1.a.b", ["v1"]], ids=repr)
def test_token_must_be_a_text(value):
    """Whatever a column of tokens holds, the answer is a verdict."""
    assert verify_receipt(value, RING, RECORD).verdict == "malformed"  # type: ignore[arg-type]


@examples
@given(
    st.text(max_size=200)
    | st.from_regex(r"v1\.[A-Za-z0-9_-]{1,80}\.[A-Za-z0-9_-]{43}=?", fullmatch=True)
)
def test_any_text_gives_a_verdict(text):
    """Arbitrary text is never an exception and never valid."""
    assert verdict(text) in ("malformed", "bad_signature")


@examples
@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(
        lambda v: json.dumps(v).encode()
    )
)
def test_any_signed_payload_gives_a_verdict(payload):
    """Arbitrary bytes under a right signature are malformed, never an exception."""
    assert verdict(token_of(payload)) == "malformed"


def test_depth_of_a_payload_does_not_depend_on_the_callers_stack():
    """However little stack is left, a deep payload is a verdict, not a RecursionError."""
    depths = (900, 990, sys.getrecursionlimit())
    tokens = [token_with(b'"x":' + b"[" * n + b"]" * n) for n in depths]
    assert {verdict(token) for token in tokens} <= {"valid", "malformed"}


# ---------- texts that were tokens once: what is missing is said, and is true at every length


COMPACT = token_of(json.dumps(RECORD, separators=(",", ":")).encode())
TOKENS = {
    "compact": COMPACT,
    "spaced": token_of(json.dumps(RECORD, indent=1).encode()),
    "more facts": token_of(json.dumps({"tier": "3"} | RECORD | {"area": [1]}).encode()),
    "Persian": token_of(
        json.dumps(RECORD | {"reference_id": "سفارش"}, ensure_ascii=False).encode()
    ),
}


def reason(text: str) -> str:
    found = verify_receipt(text, RING, RECORD)
    assert found.verdict == "malformed"
    return found.reason


def whole_facts(payload: str) -> int:
    """Count the facts that a cut payload still holds, by hand: each ends with its quote."""
    usable = payload[: len(payload) - (len(payload) % 4 == 1)]
    text = base64.urlsafe_b64decode(usable + "=" * (-len(usable) % 4)).decode(errors="ignore")
    ends = []
    for fact in FACTS:
        start = text.find(f'"{fact}"')
        value = text.find('"', start + len(fact) + 2) if start >= 0 else -1
        ends.append(value >= 0 and text.find('"', value + 1) >= 0)
    return sum(ends)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
def test_a_token_cut_at_any_length_is_told_so(token):
    """How many characters of the signature, or how many facts of the payload, are there."""
    _, payload, signature = token.split(".")
    for length in range(1, len(token)):
        text = reason(token[:length])
        missing = len(token) - length
        if missing <= len(signature):
            kept = len(signature) - missing
            assert text == f"the signature is cut short: {kept} of 43 characters"
        elif missing == len(signature) + 1:
            assert text == "cut short: the payload is whole, the signature is missing"
        elif length > len("v1."):
            after = f"{whole_facts(payload[: length - len('v1.')])} of its 10 facts"
            assert text == f"cut short within the payload, after {after}; no signature"
        else:
            assert text == "cut short: the text ends before the payload"


@examples
@given(st.integers(1, len(COMPACT) - 1), st.sampled_from(["...", "…", ".."]))
def test_marks_of_a_cut_are_no_part_of_the_token(length, mark):
    """Programs write dots where they cut; the reason is that of the text before them."""
    assert "cut short" in reason(COMPACT[:length] + mark)


@pytest.mark.parametrize("gone", range(1, 40, 3))
def test_a_token_without_its_beginning_is_told_so(gone):
    """Wherever the copying began too late."""
    assert reason(COMPACT[gone:]) == "cut short at its beginning: a token begins with v1."


@examples
@given(st.integers(1, len(COMPACT) - 1), st.sampled_from(["\n", " ", "\r\n  "]))
def test_a_token_broken_by_blanks_is_told_where(place, blank):
    """It is not joined by itself: nobody knows whose pieces they are."""
    text = reason(COMPACT[:place] + blank + COMPACT[place:])
    assert text == f"a blank or line break after {place} characters; without it the form is right"


FAULTS = {
    "empty": ("", "the text is empty"),
    "a word": ("a word", "not of the form v1.<payload>.<signature>"),
    "no payload": ("v1.hello", "not of the form v1.<payload>.<signature>: there is no signature"),
    "too long": (COMPACT + "AA", "the signature is too long: 45 characters instead of 43"),
    "plain base64": (
        COMPACT[:-2] + "+/",
        f"character {len(COMPACT) - 1} is '+', which no token holds",
    ),
    "hidden character": (
        COMPACT[:-1] + "\u202e",
        f"character {len(COMPACT)} is '\\u202e', which no token holds",
    ),
}


@pytest.mark.parametrize(("text", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_other_faults_are_named(text, said):
    """What was no token is not called a cut one."""
    assert reason(text) == said


@examples
@given(st.text(alphabet="v1.=eyJ-_ …\n", max_size=90))
def test_any_text_has_a_reason_of_one_line(text):
    """However odd the text, the reason is short and shows none of it that could do harm."""
    with pytest.raises(MalformedToken) as caught:
        split_token(text)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 100


def test_the_longest_token_is_of_16384_characters():
    """One more is refused before anything is done with it."""
    rest = len("v1..") + 43
    longest, longer = (f"v1.{'A' * (length - rest)}.{'A' * 43}" for length in (16_384, 16_385))
    assert has_token_form(longest) and split_token(longest)[2] == "A" * 43
    assert not has_token_form(longer)
    with pytest.raises(MalformedToken, match="longer than a receipt can be"):
        split_token(longer)
