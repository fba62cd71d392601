"""A line that is proven to a stranger: what the proof holds, and when there is none."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.closing.handover.prove import prove_in_folder
from svc_analytics.closing.seals import seal_of
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.proofs import verify
from svc_analytics.proofs.lines import read_lines
from svc_analytics.proofs.secret import Salts, Scope, read_secret
from svc_analytics.proofs.single import prove_line
from tests.support.closings import table
from tests.support.hand_made_lines import SECRET, row, seal_rows


def facts_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_each_line_of_a_month_is_proven_to_who_has_python_alone(closer, tmp_path):
    """Payment, refund and payout: verify.py holds each proof, of at most 4 kB."""
    folder = closer.sealed("2026-10")
    for number, line in enumerate(table(folder, "lines"), start=1):
        done = svc.prove(closer.desk.lake, "2026-10", line["record_id"], out=tmp_path / "p.json")
        assert (done.line_number, done.folder) == (number, folder)
        content = done.file.read_bytes()
        assert len(content) <= 4096 and line["record_id"] in verify.check_proof(content)
        assert facts_of(done.file)["signature"] is None and not done.is_signed


def test_a_proof_holds_nothing_of_another_line(closer, tmp_path):
    """No text, salt or id of one: the hashes beside its way are all."""
    folder = closer.sealed("2026-10")
    manifest = facts_of(folder / "manifest.json")
    secret = read_secret(closer.desk.lake.path)
    assert secret
    lines = read_lines(folder, manifest, Salts(secret, Scope.of(manifest)))
    [part] = lines.parts()
    rows = table(folder, "lines")
    proof = prove_in_folder(closer.desk.lake, folder, rows[0]["record_id"], out=tmp_path / "p")
    text = proof.file.read_text(encoding="utf-8")
    names = ("entry_id", "record_id", "session_id", "reference_id", "payer_ref", "net")
    for number, other in enumerate(rows[1:], start=2):
        line = lines.line(number, part.texts[number - 1])
        assert line.text.decode() not in text and line.salt.hex() not in text
        assert line.receipt.hex() not in text or not other["receipt_sha256"]
        shared = [name for name in names if other[name] and other[name] in text]
        assert {rows[0][name] == other[name] for name in shared} <= {True}


def test_the_signature_of_the_checkpoint_goes_along(closer, tmp_path):
    folder = closer.sealed("2026-10")
    (folder / "checkpoint.sig").write_text("armoured\n")
    record = table(folder, "lines")[0]["record_id"]
    done = prove_in_folder(closer.desk.lake, folder, record, out=tmp_path / "p.json")
    assert done.is_signed and facts_of(done.file)["signature"] == "armoured\n"


def lose_the_lake(folder: Path, lake: Path) -> None:
    (lake / "statements" / "seals.csv").unlink()


def lose_the_secret(folder: Path, lake: Path) -> None:
    (lake / "secret").unlink()


def replace_the_secret(folder: Path, lake: Path) -> None:
    (lake / "secret").unlink()
    (lake / "secret").write_bytes(bytes(32))


def alter_a_line(folder: Path, lake: Path) -> None:
    path = folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(b"100", b"900", 1))


def alter_the_manifest(folder: Path, lake: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"size": 3', '"size": 4'))


def forget_the_tree(folder: Path, lake: Path) -> None:
    facts = facts_of(folder / "manifest.json")
    del facts["tree"]
    facts["seal"] = seal_of(facts)
    (folder / "manifest.json").write_text(json.dumps(facts))
    (folder / "checkpoint").unlink()


def lose_the_checkpoint(folder: Path, lake: Path) -> None:
    (folder / "checkpoint").unlink()


REFUSED = {
    "did not seal": lose_the_lake,
    "secret is missing: restore it from a copy": lose_the_secret,
    "are not those that were sealed: restore both": replace_the_secret,
    "2026-10, or the secret of its lake, are not": alter_a_line,
    "manifest.json differs from the seal: restore it": alter_the_manifest,
    "was sealed before there were trees": forget_the_tree,
    "checkpoint is missing: restore it": lose_the_checkpoint,
}


@pytest.mark.parametrize("said", REFUSED)
def test_a_folder_that_proves_nothing_is_refused_with_what_to_do(said, closer, tmp_path):
    """One line, and no file."""
    folder = closer.sealed("2026-10")
    record = table(folder, "lines")[0]["record_id"]
    REFUSED[said](folder, closer.desk.lake.path)
    with pytest.raises(LakeError) as refused:
        prove_in_folder(closer.desk.lake, folder, record, out=tmp_path / "p.json")
    assert said in str(refused.value) and not (tmp_path / "p.json").exists()


def test_a_folder_away_from_its_lake_needs_the_name_of_the_lake(closer, tmp_path):
    """Its secret is there alone; with it, the copy is proven as the folder was."""
    folder = closer.sealed("2026-10")
    record = table(folder, "lines")[0]["record_id"]
    away = Path(shutil.copytree(folder, tmp_path / "away"))
    with pytest.raises(LakeError, match=r"did not seal .*away: name the lake that did"):
        prove_in_folder(Lake(tmp_path / "none"), away, record)
    done = prove_in_folder(closer.desk.lake, away, record, out=tmp_path / "p.json")
    assert "line 1 of 3" in verify.check_proof(done.file.read_bytes())


def test_what_is_no_record_of_the_month_is_said_with_what_to_give(closer):
    """Another id of the same line leads to the record's; nothing is proven of a near text."""
    folder = closer.sealed("2026-10")
    [line, *_] = table(folder, "lines")
    given = {
        line["receipt_no"]: f"it is the receipt_no of record {line['record_id']}, so give that id",
        line["record_id"][:-1]: "give an id of the column record_id of its lines",
        "usdt": "give an id of the column record_id of its lines",
        "": "record_id is empty",
    }
    for record, said in given.items():
        with pytest.raises(ConfigError, match=said):
            prove_in_folder(closer.desk.lake, folder, record)


def test_of_a_record_with_two_lines_one_is_chosen(tmp_path):
    """A payment and a payout may share an id: neither is taken for the other."""
    rows = [row(1), row(2, record="twice"), row(3, kind="payout", record="twice")]
    sealed = seal_rows(tmp_path / "2026-10", rows)
    with pytest.raises(ConfigError, match=r"2 \(payment\), 3 \(payout\): choose one with --line"):
        prove_line(sealed.folder, sealed.manifest, SECRET, "twice")
    with pytest.raises(ConfigError, match="choose one"):
        prove_line(sealed.folder, sealed.manifest, SECRET, "twice", 1)
    proof = prove_line(sealed.folder, sealed.manifest, SECRET, "twice", 3)
    assert proof.line.startswith("3,payout:twice,payout")
    assert prove_line(sealed.folder, sealed.manifest, SECRET, "record-1", 1).line_number == 1


def test_a_quoted_field_with_newlines_and_quotes_is_one_line(tmp_path):
    """Its text is proven as it stands, byte for byte."""
    comment = 'two\nlines, "quoted"\n\nand é'
    sealed = seal_rows(tmp_path / "2026-10", [row(1), row(2, comment=comment), row(3)])
    proof = prove_line(sealed.folder, sealed.manifest, SECRET, "record-2")
    assert next(csv.reader([proof.line]))[5] == comment
    assert proof.line.encode() in (sealed.folder / "lines.csv").read_bytes()
