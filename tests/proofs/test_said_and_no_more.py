"""verify.py says what it did, and nothing more: of what the owner of the key forged, too.

Each forgery here is sealed, signed and chained again by that key, and the sums fit. It is refused,
or the sentence that would accept it says that this was not checked.
"""

import csv
import io
import json
from collections.abc import Callable

import pytest

from svc_analytics.closing.seals import read_manifest
from svc_analytics.proofs import verify
from tests.support.strange_folders import Strange, packed_month

Rows = list[list[str]]
Change = Callable[[Rows], object]
# Of the summary: what no sum of lines gives.
OTHERS = [
    "payers_count",
    "fee_leakage",
    "opening_position",
    "effective_fee_rate",
    "refund_ratio_period",
    "refund_ratio_cohort",
    "refunded_payments_ratio",
    "open_refundable",
    "usd_net_sales",
    "usd_fees",
    "implied_rate",
    "implied_rate_at",
    "usd_exposure",
    "attested_ratio",
]


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Strange:
    return packed_month(tmp_path_factory)


@pytest.fixture
def strange(original, tmp_path) -> Strange:
    return original.copied(tmp_path)


def said(strange: Strange, *words: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """What verify.py ends with, and its lines by their names, for a reader who knows the key."""
    options = verify.arguments([str(strange.folder), "--signers", str(strange.signers), *words])
    outcomes = list(verify.check_all(options))
    lines = {name: (status, text) for name, status, text, _ in outcomes}
    return min((code for *_, code in outcomes if code), default=0), lines


def changed(strange: Strange, name: str, change: Change) -> None:
    """Change the cells of a table, of which the first row has the headings; sign it again."""
    path = strange.folder / name
    rows = [*csv.reader(io.StringIO(path.read_text("utf-8")))]
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    manifest = read_manifest(strange.folder)
    manifest["tree"]["header"] = verify.header_of(strange.folder)
    manifest["tree"]["size"] = len(rows) - 1 if name == "lines.csv" else manifest["tree"]["size"]
    strange.write("manifest.json", json.dumps(manifest))
    strange.signed_again()


def cell(heading: str, value: str, row: int = 1) -> Change:
    return lambda rows: rows[row].__setitem__(rows[0].index(heading), value)


def failed(strange: Strange) -> dict[str, str]:
    return {name: text for name, (status, text) in said(strange)[1].items() if status == "FAILED"}


def test_what_its_owner_signed_again_holds(strange):
    """So what is refused below is refused for what was changed."""
    changed(strange, "lines.csv", cell("comment", "a note"))
    code, lines = said(strange)
    assert code == 0 and not failed(strange)
    assert lines["lines"][1].startswith("5 add up to the summary of 1 coin; ")


# ---------- figures of the summary


def headings(strange: Strange, name: str) -> list[str]:
    return (strange.folder / name).read_text("utf-8").split("\n")[0].split(",")


def test_each_figure_is_added_up_again_or_named_as_not_checked(strange):
    """All 38 of them: a figure that is 1 more than it was is never among what held."""
    names = headings(strange, "summary.csv")[2:]
    assert len(names) == 38
    before = (strange.folder / "summary.csv").read_text()
    for name in names:
        strange.write("summary.csv", before)
        changed(
            strange, "summary.csv", cell(name, "2026-10-05T08:00:01Z" if "_at" in name else "77")
        )
        status, text = said(strange)[1]["lines"]
        if name in OTHERS:
            assert status == "held" and name in text.partition("not checked")[2], name
        else:
            assert status == "FAILED" and f"{name} of btc" in text, name
