"""Properties of the payments' metadata that a statement's lines show, when they are named."""

from typing import Any

import pyarrow as pa
import pytest

from svc_analytics import ConfigError, statement, verify_statement
from svc_analytics.closing.seals import read_manifest
from svc_analytics.statements.reading import name_empty, read_properties
from tests.support.closings import Closer, table
from tests.support.fake_service import payment
from tests.support.prepared import extracted

LEDGER = """
 kind     currency  amount  fee   at                of
 payment  usdt      100     1     2026-10-05T08:00
 payment  usdt      5       0     2026-10-06T08:00
 refund   usdt      10            2026-10-07T08:00  1
 payout   usdt      50      0.5   2026-10-09T08:00
"""


@pytest.fixture
def closer(desk) -> Closer:
    """October's second payment has metadata, and so has its first, which was refunded."""
    closer = Closer(desk)
    closer.serve(LEDGER)
    first, second = desk.service.payments
    first["metadata"] = {"cart": 7, "branch": "تهران"}
    second["metadata"] = {"cart": 12345678901234567890123, "branch": None}
    return closer


def shown(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


WRITTEN = [
    ('{"a": "text \\u00e9 \\n"}', "text é \n"),
    ('{"a": 1.10}', "1.10"),
    ('{"a": 123456789012345678901234567890}', "123456789012345678901234567890"),
    ('{"a": 1e400}', "1e400"),
    ('{"a": {"b": [1, 2.0]}}', '{"b": [1, 2.0]}'),
    ('{"a": true, "b": 2}', "true"),
    ('{"a": ""}', ""),
    ('{"b": 1, "a": ' + "[" * 2000 + "]" * 2000 + "}", "[" * 2000 + "]" * 2000),
]


@pytest.mark.parametrize(("metadata", "found"), WRITTEN)
def test_a_property_is_given_as_it_was_written(metadata, found):
    """Texts as they are, all else as its JSON: no digit goes through a float."""
    assert read_properties(metadata, ["a"]) == {"a": found}


@pytest.mark.parametrize("metadata", [None, "{}", '{"b": 1}', '{"a": null}', "[1]", '"a"', "7"])
def test_what_is_not_said_is_null(metadata):
    assert read_properties(metadata, ["a"]).get("a") is None


def test_named_properties_stand_on_the_lines(closer):
    """A payment's own; a refund's are those of its payment; a payout has none."""
    extracted(closer.desk)
    made = statement(closer.desk.lake, "2026-10", metadata=["cart", "branch"])
    assert shown(made.tables["lines"].to_pylist(), "kind", "metadata.cart", "metadata.branch") == [
        ("payment", "7", "تهران"),
        ("payment", "12345678901234567890123", None),
        ("refund", "7", "تهران"),
        ("payout", None, None),
    ]
    assert made.options == {"metadata": ["cart", "branch"], "assertions": []}


@pytest.mark.parametrize("names", [["cart", "cart"], [""]])
def test_names_that_name_nothing_are_refused(closer, names):
    with pytest.raises(ConfigError, match="name each property of the metadata once"):
        statement(closer.desk.lake, "2026-10", metadata=names)


def test_a_property_that_no_line_says_is_told(closer):
    """It may be misspelt; a month without a movement says nothing of it.

    All that is due shows what is named, too.
    """
    lines = pa.table({"metadata.branch": ["", "تهران"], "metadata.crat": pa.nulls(2, pa.string())})
    told = "metadata.crat is empty in every line: no payment of the month has this metadata"
    assert name_empty(lines, "month") == [told] and name_empty(lines.slice(0, 0), "month") == []
    [closed] = closer.close_all_due(metadata=["branch", "crat"])
    assert told in (closed.note or "")
    assert shown(table(closed.folder, "lines"), "metadata.branch")[:2] == [("تهران",), ("",)]


@pytest.mark.thorough
def test_a_seal_holds_its_properties_and_a_restatement_keeps_them(closer):
    """The manifest names them, so the lake yields them again, and the next version too."""
    first = closer.close(metadata=["cart"])
    assert read_manifest(first.folder)["options"] == {"metadata": ["cart"], "assertions": []}
    assert verify_statement(first.folder).holds
    assert closer.close().state == "unchanged"
    late = payment(99, "2026-10-20T10:00:00Z", "7", "0.5") | {"metadata": {"cart": 8}}
    closer.desk.service.payments.append(late)
    second = closer.close()
    assert second.state == "restated"
    carts = shown(table(second.folder, "lines"), "kind", "metadata.cart")
    assert carts[-1] == ("payment", "8") and verify_statement(second.folder).holds
