"""The table of calls: eight, of which none can move money."""

import re
from urllib.parse import unquote

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


def test_id_with_half_a_surrogate_pair_is_refused() -> None:
    """A text that has no bytes cannot be an id; it is bad usage, not a crash."""
    with pytest.raises(ConfigError):
        quote_id("a\ud800")


ODD = st.text(st.sampled_from("/.%?#&;:@+\\ \r\n\0x2Fش😀"), min_size=1, max_size=12)


@examples
@given(ODD | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=128))
def test_an_id_of_any_characters_is_one_segment_of_its_path(text: str) -> None:
    """Whatever it holds, the path fits its own route and no other, and says the id exactly."""
    if set(text) == {"."}:  # is refused
        return
    quoted = quote_id(text)
    path = f"{PREFIX}/payments/{quoted}"
    fitting = [name for name, route in ROUTES.items() if route.pattern.fullmatch(path)]
    assert fitting == ["payment"]
    assert re.fullmatch(r"([A-Za-z0-9_.~-]|%[0-9A-F]{2})+", quoted) and unquote(quoted) == text
