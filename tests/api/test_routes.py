"""The table of calls: eight, of which none can move money."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.api.routes import MAX_LIMIT, PREFIX, ROUTES, quote_id
from svc_analytics.errors import ConfigError
from tests.support.unit_material import examples

# Contract, Endpoints: what this package may call, and with which class (Authentication 4).
TABLE = {
    ("GET", "/me", ("checkout", "payout")),
    ("GET", "/payments", ("checkout", "payout")),
    ("GET", "/payments/{id}", ("checkout", "payout")),
    ("GET", "/payouts", ("payout",)),
    ("GET", "/payouts/{id}", ("payout",)),
    ("GET", "/sessions/{id}", ("checkout",)),
    ("GET", "/customers/{id}/binding", ("checkout", "payout")),
    ("POST", "/receipts/verify", ("checkout",)),
}


def test_table_is_exactly_the_eight_calls() -> None:
    """No call is added to the table by chance: a ninth one needs this test changed."""
    assert {(route.method, route.path, route.key_classes) for route in ROUTES.values()} == TABLE
    assert len(ROUTES) == 8
    assert (PREFIX, MAX_LIMIT) == ("/api/pay/v1", 100)


QUOTED = {
    "order-42": "order-42",
    "SVC-000042": "SVC-000042",
    "a/b": "a%2Fb",
    "../payouts": "..%2Fpayouts",
    "a?b=c&d": "a%3Fb%3Dc%26d",
    "a#b": "a%23b",
    "100%": "100%25",
    "a%2Fb": "a%252Fb",
    "a b+c": "a%20b%2Bc",
    "a\\b": "a%5Cb",
    "a;b:c@d": "a%3Bb%3Ac%40d",
    "line\r\nend": "line%0D%0Aend",
    "\0": "%00",
    "...x": "...x",
    "سفارش": "%D8%B3%D9%81%D8%A7%D8%B1%D8%B4",
    "😀": "%F0%9F%98%80",
}


@pytest.mark.parametrize(("text", "quoted"), QUOTED.items())
def test_id_is_one_segment_of_a_path(text: str, quoted: str) -> None:
    """A merchant's own id of any characters is one segment and nothing more."""
    assert quote_id(text) == quoted


def test_id_with_half_a_surrogate_pair_is_refused() -> None:
    """A text that has no bytes cannot be an id; it is bad usage, not a crash."""
    with pytest.raises(ConfigError):
        quote_id("a\ud800")


@examples
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=128))
def test_quoted_id_leaves_its_segment_never(text: str) -> None:
    """Whatever an id holds, the path it makes fits the pattern of its route and no other."""
    if set(text) == {"."}:
        return
    path = PREFIX + f"/payments/{quote_id(text)}"
    fitting = [name for name, route in ROUTES.items() if route.pattern.fullmatch(path)]
    assert fitting == ["payment"]
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]+", quote_id(text))
