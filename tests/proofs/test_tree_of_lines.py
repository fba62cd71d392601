"""The tree and the checkpoint of a sealed month, reckoned again as the format says."""

import csv
import hmac
import json
import stat
from hashlib import sha256
from pathlib import Path

from svc_analytics import verify_statement
from svc_analytics.closing.register import register_seal
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.proofs.checkpoint import Checkpoint, write_checkpoint
from svc_analytics.proofs.lines import split_records
from svc_analytics.proofs.secret import FILE, netstring, read_secret
from tests.proofs.test_merkle import plain_root


def root_by_hand(folder: Path, secret: bytes) -> str:
    """The root over the lines of a folder, by Python's csv, hmac and a plain recursion."""
    manifest = json.loads((folder / "manifest.json").read_text())
    scope = ["svc-analytics/salt/1", manifest["merchant"]["id"]]
    scope += [str(manifest[name]) for name in ("calendar", "zone", "label", "version")]
    with (folder / "lines.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    _, *texts = (folder / "lines.csv").read_bytes().removesuffix(b"\n").split(b"\n")
    leaves = []
    for number, (row, text) in enumerate(zip(rows, texts, strict=True), start=1):
        named = [*scope, row["record_id"], str(number)]
        salted = b"".join(f"{len(each.encode())}:{each},".encode() for each in named)
        salt = hmac.digest(secret, salted, "sha256")
        receipt = bytes.fromhex(row["receipt_sha256"]) or bytes(32)
        leaves.append(sha256(b"\0" + salt + receipt + text).digest())
    return plain_root(leaves).hex()


def test_the_seal_covers_the_tree_of_the_lines(closer):
    """The same root with and without lines.csv; the secret is for its owner alone."""
    closer.sealed("2026-10")
    secret = read_secret(closer.desk.lake.path)
    assert secret and len(secret) == 32
    assert stat.S_IMODE((closer.desk.lake.path / FILE).stat().st_mode) == 0o600
    out, formats = closer.desk.lake.path.parent / "o", ("parquet",)
    other = closer.close("2026-10", out=out, formats=formats).folder
    sealed = closer.desk.lake.path / "statements" / "2026-10"
    assert read_manifest(other)["tree"] == read_manifest(sealed)["tree"]
    assert read_manifest(sealed)["tree"] == {
        "size": 3,
        "root": root_by_hand(sealed, secret),
        "salt": "hmac-sha256/1",
        "header": sha256((sealed / "lines.csv").read_bytes().split(b"\n")[0]).hexdigest(),
    }


def test_a_checkpoint_is_eight_lines_of_the_manifest(closer):
    """Everything that is signed can be written again from the manifest alone."""
    folder = closer.closed("2026-09", "2026-10")[1].folder
    facts = read_manifest(folder)
    assert (folder / "checkpoint").read_text().splitlines() == [
        f"svc-analytics/{facts['merchant']['id']}/2026-10",
        "3",
        facts["tree"]["root"],
        f"seal {facts['seal']}",
        "version 1",
        f"previous {facts['previous_seal']}",
        "salt hmac-sha256/1",
        f"header {facts['tree']['header']}",
    ]
    assert verify_statement(folder).holds


def test_a_checkpoint_that_is_altered_or_gone_is_named(closer):
    """Without any key, and by a close that would build upon it."""
    folder = closer.sealed("2026-10")
    path = folder / "checkpoint"
    path.write_text(path.read_text().replace("version 1", "version 2"))
    assert "checkpoint is not that of the manifest" in verify_statement(folder).broken
    path.unlink()
    assert "checkpoint is missing" in verify_statement(folder).broken


def test_a_tree_of_other_lines_or_of_another_secret_is_not_proven(closer):
    """It is made again where it was sealed; whoever has no secret of that lake cannot."""
    folder = closer.sealed("2026-10")
    assert verify_statement(folder).unproven == ()
    path = closer.desk.lake.path / FILE
    path.chmod(0o600)
    path.write_bytes(bytes(32))
    [text] = verify_statement(folder).unproven
    assert text.startswith("its tree is not that of its lines and the lake's secret")
    path.unlink()
    assert verify_statement(folder).unproven == ()


def test_a_month_that_was_sealed_before_its_headings_were_covered_still_holds(
    closer,
):
    """Its tree and its checkpoint are made again as they were, with seven lines."""
    folder = closer.sealed("2026-10")
    manifest = read_manifest(folder)
    del manifest["tree"]["header"]
    seal = manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_checkpoint(folder, manifest)
    for name in ("seals.csv", "chain.json"):
        (folder.parent / name).unlink()
    register_seal(closer.desk.lake.storage, manifest, seal)
    assert len((folder / "checkpoint").read_text().splitlines()) == 7
    assert verify_statement(folder).holds
    assert Checkpoint.parse((folder / "checkpoint").read_text()).header is None


def test_records_are_split_where_no_quoted_field_is_open():
    """A merchant's note may hold newlines, quotes and commas."""
    text = 'a,b\n1,"x\n""y"",\nz"\n2,\n'
    records = [*split_records(text.encode().splitlines(keepends=True))]
    assert records == [b"a,b", b'1,"x\n""y"",\nz"', b"2,"]


def test_no_two_lists_of_netstrings_are_alike():
    """What a field holds cannot move a border between two of them."""
    assert netstring(b"1:a,") + netstring(b"") != netstring(b"1") + netstring(b"a,")
