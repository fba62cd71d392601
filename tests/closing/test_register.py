"""The register of seals: what a lake has sealed, in which order."""

import hashlib
import json
from pathlib import Path

import pytest

from svc_analytics import verify_statement
from svc_analytics.closing.register import read_register
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import read_manifest
from svc_analytics.errors import LakeError
from tests.support.closings import Closer


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
        assert late.note is not None and late.note.startswith("2026-10 was sealed first")
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
    note = closer.close(formats=("csv",)).note
    assert note == f"2026-10 was sealed before as {manifest['seal']}: find out what became of it"


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
