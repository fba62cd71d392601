"""Texts that were tokens once: what is missing is said, and is true at every length."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.signing.receipts import verify_receipt
from svc_analytics.signing.token_form import FACTS, MalformedToken, has_token_form, split_token
from tests.support.receipt_material import FACTS as RECORD
from tests.support.receipt_material import RING, token_of
from tests.support.unit_material import examples

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
            assert (
                text == f"the signature is cut short: {len(signature) - missing} of 43 characters"
            )
        elif missing == len(signature) + 1:
            assert text == "cut short: the payload is whole, the signature is missing"
        elif length > len("v1."):
            facts = whole_facts(payload[: length - len("v1.")])
            assert (
                text == f"cut short within the payload, after {facts} of its 10 facts; no signature"
            )
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text is empty"),
        ("a word", "not of the form v1.<payload>.<signature>"),
        ("v1.hello", "not of the form v1.<payload>.<signature>: there is no signature"),
        (COMPACT + "AA", "the signature is too long: 45 characters instead of 43"),
        (COMPACT[:-2] + "+/", f"character {len(COMPACT) - 1} is '+', which no token holds"),
        (COMPACT[:-1] + "\u202e", f"character {len(COMPACT)} is '\\u202e', which no token holds"),
    ],
    ids=["empty", "a word", "no payload", "too long", "plain base64", "hidden character"],
)
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
