"""Sealed statements held to account: by their own hashes, their chain, the lake, its register."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from svc_analytics import CloseResult, LakeError, Lakehouse, verify_statement
from svc_analytics.closing.seals import parse_manifest, read_manifest, read_register, seal_of
from svc_analytics.closing.table_diff import as_texts, compare, read_tables
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import write_description
from svc_analytics.lake.layout import LAYOUT
from svc_analytics.unattended.notices import states_of_close
from svc_analytics.warehouse.figures import definitions_table
from tests.support.altered import fact, forge
from tests.support.closings import Closer
from tests.support.fake_service import payment, refund


@pytest.fixture
def sealed(closer) -> Path:
    return closer.sealed()


def test_a_sealed_statement_holds(sealed, tmp_path, monkeypatch):
    """Its files, its seal, and the lake agree; the lake is found by where the folder lies.

    It is not that of the settings, wherever the command is given.
    """
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = verify_statement(sealed)
    assert found.holds and found.unproven == () and found.seal == read_manifest(sealed)["seal"]


@pytest.mark.thorough
def test_a_statement_sealed_in_persian_holds(closer):
    """Its pages are rendered again in the language that its manifest names, and in no other."""
    folder = closer.sealed(formats=("csv", "html", "xlsx"), lang="fa", digits="fa")
    assert 'dir="rtl"' in (folder / "statement.html").read_text("utf-8")
    assert verify_statement(folder).holds
    other = {"code": "en+fa", "digits": "latin"}
    assert not forge(folder, fact(language=other), register="kept").holds


@pytest.mark.thorough
def test_it_still_holds_after_later_extractions(closer, sealed):
    """What is sold in November, or refunded then of October's sales, moves no seal."""
    sold, service = closer.desk.service.payments[2], closer.desk.service
    service.now = datetime(2026, 11, 25, tzinfo=UTC)
    service.payments.append(payment(96, "2026-11-15T10:00:00Z"))
    service.payouts.append(refund(95, sold, "2026-11-22T08:00:00Z", "25"))
    closer.desk.extract()
    assert verify_statement(sealed).holds and closer.close().state == "unchanged"


def test_a_lake_read_anew_yields_the_same_figures(closer, sealed, tmp_path):
    """When a record was first read is no part of what it says.

    Nor is another name of the merchant: the lake keeps the profiles that it read before, so each
    seal names one of them.
    """
    lake = closer.desk.lake = Lakehouse(tmp_path / "anew")
    for name in ("Shop", "Store", "Bazaar"):
        closer.desk.service.merchant["display_name"] = name
        closer.desk.extract()
    assert [each["display_name"] for each in lake.earlier_profiles] == ["Shop", "Store"]
    assert verify_statement(sealed, lake).holds


def test_other_words_for_a_figure_make_no_restatement(sealed):
    """A later build may say better what a figure means; what it comes to is the same."""
    tables = read_tables(sealed, ["figures.csv"])
    words = ["in other words"] * len(tables["figures"])
    other = tables["figures"].drop_columns(["note"]).append_column("note", pa.array(words))
    assert other != tables["figures"] and compare(tables, {"figures": other}, set()).num_rows == 0


def test_definitions_are_sealed_with_the_figures_and_are_no_content(sealed):
    """Their file is hashed as any other; no table, no digest and no difference knows it."""
    manifest = read_manifest(sealed)
    assert manifest["files"]["definitions.csv"]["rows"] == len(definitions_table())
    assert "definitions" not in manifest["control"]
    assert "definitions" not in read_tables(sealed, manifest["files"])
    (sealed / "definitions.csv").write_text("name\n")
    assert verify_statement(sealed).broken == ("definitions.csv differs from the seal",)


def test_a_manifest_changed_by_hand_is_found(sealed):
    """The seal is over every word of it."""
    path = sealed / "manifest.json"
    path.write_text(path.read_text().replace('"as_of": "2026', '"as_of": "2027'))
    assert verify_statement(sealed).broken == ("manifest.json differs from the seal",)


def test_a_manifest_whose_version_is_no_number_is_none(sealed):
    """In JSON `true` is no 1, though Python would count with it."""
    manifest = read_manifest(sealed)
    assert parse_manifest(json.dumps(manifest).encode(), sealed) == manifest
    assert parse_manifest(json.dumps(manifest | {"version": True}).encode(), sealed) is None


def test_files_that_were_added_or_lost_are_found(sealed):
    """The seal names what there is; what a file manager of this machine leaves is no matter.

    A link is no file of the folder: what it points at may be exchanged without a trace.
    """
    (sealed / ".DS_Store").touch()
    (sealed / ".note").touch()
    (sealed / "daily.csv").rename(sealed / "days.csv")
    moved = (sealed / "lines.csv").rename(sealed.parent / "lines.csv")
    (sealed / "lines.csv").symlink_to(moved)
    assert verify_statement(sealed).broken == (
        "daily.csv is missing",
        "lines.csv is a link, and no file of the statement",
        ".note does not belong to the statement",
        "days.csv does not belong to the statement",
    )


@pytest.mark.parametrize("name", ["2026-08", "2026-10-v2", "2026-10@Asia-Tehran", "2026-Q3"])
def test_a_folder_called_as_another_month_or_version_is_found(sealed, name):
    """Commands take a month by its folder's name; a copy elsewhere may be called as one likes."""
    sealed = sealed.rename(sealed.with_name(name))
    named = f"the folder is called {name} and holds 2026-10: give it its name again"
    assert named in map(str, verify_statement(sealed).broken)
    sealed = sealed.rename(sealed.with_name("october"))
    assert verify_statement(sealed).broken == ()


def test_a_manifest_that_names_a_path_as_its_month_is_found(sealed):
    manifest = read_manifest(sealed) | {"label": "../../2026-10"}
    (sealed / "manifest.json").write_text(json.dumps(manifest | {"seal": seal_of(manifest)}))
    assert "give it its name again" in str(verify_statement(sealed).broken)


def test_what_is_nested_without_end_is_named(sealed):
    """Of a folder, or a package, that a stranger gives."""
    (sealed.parent / "chain.json").write_text("[" * 99_999)
    assert not verify_statement(sealed).holds
    (sealed / "manifest.json").write_text("[" * 99_999)
    with pytest.raises(LakeError, match=r"manifest\.json is missing or cannot be read"):
        verify_statement(sealed)


@pytest.mark.thorough
def test_a_restated_month_does_not_break_the_chain(closer):
    """The seal that the next month names stands on version 1 still."""
    _, october = closer.closed("2026-09", "2026-10")
    closer.desk.service.payments[1]["metadata"] = {"cart": "other"}
    assert closer.close("2026-09").version == 2
    assert verify_statement(october.folder).holds


def test_a_figure_forged_in_the_csv_is_not_taken_for_the_lakes_fault(sealed):
    """Altered files are named and left out of the comparison with the lake."""
    (sealed / "summary.csv").write_text("forged\n")
    (sealed / "summary.parquet").unlink()
    found = verify_statement(sealed)
    assert len(found.broken) == 2 and found.table.num_rows == 0


@pytest.mark.thorough
def test_a_later_blocking_finding_is_told(closer, sealed):
    """Figures that lack a record are unknown now, and the month would not be final today."""
    closer.desk.service.payments.append(payment(95, "2026-10-20T10:00:00Z", "1e3", net_amount="1"))
    closer.desk.extract(rereads=True)
    found = verify_statement(sealed)
    assert "could not be read exactly" in found.reasons[0].text
    changed = {row["new_value"] for row in found.table.to_pylist() if row["subject"] == "figure"}
    assert changed == {None}
    assert closer.close().needs_attention


def test_another_merchants_lake_proves_nothing(sealed, closer):
    """Its figures would be compared with somebody else's; the folder is compared with itself."""
    other = closer.desk.lake.merchant | {"id": "9"}
    write_description(closer.desk.lake.storage, {"layout": LAYOUT, "merchant": other})
    found = verify_statement(sealed)
    [text] = found.unproven
    assert text.startswith("it is of merchant 1") and "is the lake of 9" in text
    assert not found.holds and found.broken == ()


def test_a_folder_that_is_no_statement_is_named(tmp_path):
    """One clear line."""
    with pytest.raises(LakeError, match=r"is not a statement: manifest\.json"):
        verify_statement(tmp_path)


def test_a_lake_that_was_read_less_far_cannot_yield_it(closer, sealed, tmp_path):
    """It does not know what passed up to the seal's bound."""
    lake = closer.desk.lake = Lakehouse(tmp_path / "short")
    closer.desk.extract(end=parse_bound(read_manifest(sealed)["start"]))
    found = verify_statement(sealed, lake)
    assert "was read only up to 2026-10-01" in found.unproven[0] and not found.holds


def test_csv_and_parquet_read_back_alike(closer, tmp_path):
    """Quotes, line ends and a lone carriage return included."""
    closer.desk.service.payments[2]["reference_id"] = 'a "b", c\rd\ne'
    folder = closer.sealed()
    names = read_manifest(folder)["files"]
    csvs = read_tables(folder, [name for name in names if name.endswith(".csv")])
    assert csvs == read_tables(folder, [name for name in names if name.endswith(".parquet")])
    assert csvs["lines"]["reference_id"][0].as_py() == 'a "b", c\rd\ne'


def test_tables_of_another_kind_are_compared_too():
    """A table with a name and a value per row speaks by its names; one without keys by rows."""
    old = {"figures": figures("rate_min", "0.1"), "notes": pa.table({"text": ["a", "b", "b"]})}
    new = {"figures": figures("rate_min", "0.2" + "0" * 16 + "3")}
    new |= {"notes": pa.table({"text": ["a", "b"]})}
    first, second = compare(as_texts(old), as_texts(new)).to_pylist()
    assert (first["name"], first["currency"]) == ("rate_min", "btc")
    assert first["delta"] == "0.1" + "0" * 16 + "3"  # exact to the 18th digit
    assert (second["table_name"], second["change"]) == ("notes", "removed")


def figures(name: str, value: str) -> pa.Table:
    return pa.table({"name": [name], "currency": ["btc"], "value": [value]})


# ---------- the register of seals: what a lake has sealed, in which order


def register(closer: Closer) -> Path:
    return closer.desk.lake.path / "statements"


def out_of_order(closer: Closer) -> list[CloseResult]:
    """October, then August across a gap, then September."""
    return closer.closed("2026-10", "2026-08", "2026-09")


def chained(lines: list[str]) -> list[str]:
    """The check of each line: of its own text behind the check of the line before it."""
    checks = ["check"]
    for line in lines:
        text = f"{checks[-1]},{line.rpartition(',')[0]}\n"
        checks.append(hashlib.sha256(text.encode()).hexdigest()[:16])
    return checks[1:]


def test_each_seal_has_a_line_in_the_order_of_sealing(closer):
    """A month that is closed again gets no second line.

    The check of a line covers all before it: one that is altered, check and all, does not fit.
    """
    closed = out_of_order(closer)
    closer.close("2026-09")
    rows = tuple((one.seal, one.label, "gregorian", "UTC", "1") for one in closed)
    assert read_register(register(closer)).rows == rows
    path = register(closer) / "seals.csv"
    header, *lines = path.read_text().splitlines()
    assert header == "seal,label,calendar,zone,version,check"
    assert [line.rpartition(",")[2] for line in lines] == chained(lines)
    first = lines[0].replace("2026-10", "2026-07")
    altered = [f"{first.rpartition(',')[0]},{chained([first])[0]}", *lines[1:]]
    path.write_text("\n".join([header, *altered]) + "\n")
    with pytest.raises(LakeError, match=r"seals\.csv is torn or altered"):
        read_register(register(closer))


def test_a_month_closed_behind_a_later_one_says_that_the_chain_has_a_gap(closer):
    """October's seal was made before the others', so it cannot name September's."""
    october, august, september = out_of_order(closer)
    assert october.note is None and read_manifest(october.folder)["previous_seal"] is None
    for late in (august, september):
        assert late.state == "sealed" and not late.needs_attention
        assert late.note is not None and late.note.startswith("2026-10 was closed before")
    assert verify_statement(october.folder).holds and verify_statement(september.folder).holds


def test_a_statement_beside_the_lake_is_registered_in_it(closer, tmp_path):
    """Wherever its folder lies, the lake made the seal, and has the one of the month before."""
    closer.confirm("2026-09", "2026-10")
    closer.close("2026-09")
    closed = closer.close(out=tmp_path / "elsewhere")
    assert read_register(register(closer)).has(closed.seal)
    assert verify_statement(closed.folder, closer.desk.lake).holds


def test_a_month_whose_seal_was_removed_is_not_forgotten(closer):
    """Without its seal it is closed anew; the register tells that it had one."""
    folder = closer.sealed()
    manifest = read_manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(manifest | {"seal": None}))
    closed = closer.close(formats=("csv",))
    (told,) = states_of_close(closed)
    assert closed.needs_attention and told.event == "attention"
    assert closed.note == (
        f"2026-10 was sealed before as {manifest['seal']}: find out what happened to it"
    )


@pytest.mark.parametrize("text", ["", "seal,label\n", 'seal,"', "\xff"], ids=repr)
def test_a_torn_register_is_one_clear_line(closer, text):
    """Neither closing nor verifying guesses what it said."""
    folder = closer.sealed()
    (folder.parent / "seals.csv").write_text(text, encoding="latin-1")
    with pytest.raises(LakeError, match=r"seals\.csv .*: restore it from a copy, or move it away"):
        closer.close()


def test_without_its_line_a_seal_in_the_lake_is_not_proven(closer):
    """Everything in the folder fits; that this lake sealed it nobody says."""
    folder = closer.sealed()
    seal = read_manifest(folder)["seal"]
    path = folder.parent / "seals.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(seal)))
    found = verify_statement(folder)
    text = "the lake's register of seals, statements/seals.csv, lacks 2026-10 version 1"
    assert found.unproven == (text,) and not found.broken
