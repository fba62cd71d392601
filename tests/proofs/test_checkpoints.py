"""Checkpoints: the chain of a lake, which forgets none, and the tree of lines below each."""

import csv
import hmac
import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics import LakeError, StoreError, verify_statement
from svc_analytics.closing import chain as seal_chain
from svc_analytics.closing.chain import chain_faults, keep_chain
from svc_analytics.closing.handover.sign import Signer
from svc_analytics.closing.seals import read_manifest, register_seal, seal_of
from svc_analytics.lake.lake import Lake
from svc_analytics.proofs import tree, verify
from svc_analytics.proofs.checkpoint import (
    CHAIN as FILE,
    CHAIN_SIGNATURE as SIGNATURE,
    write_checkpoint,
)
from svc_analytics.proofs.statuses import Trust
from svc_analytics.proofs.verify import read_chain
from svc_analytics.storage import LocalStorage, open_storage
from tests.support.sealed_months import COMMITS, unpack
from tests.support.signers import is_signed_by, make_key


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """The tree hash as the RFC writes it: split behind the largest power of two."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + plain_root(leaves[:split]) + plain_root(leaves[split:])).digest()


def chain_of(lake: Path) -> dict[str, Any]:
    return read_chain((lake / "statements" / FILE).read_bytes())


def root_by_hand(chain: dict[str, Any], size: int) -> str:
    """The root over the first entries, each as JSON without blanks, its names sorted."""
    texts = [
        json.dumps(each, sort_keys=True).replace('": ', '":').replace(", ", ",")
        for each in chain["checkpoints"][:size]
    ]
    return plain_root([sha256(b"\0" + text.encode()).digest() for text in texts]).hex()


def old_root(chain: dict[str, Any], size: int) -> str:
    """That of an earlier release: of the hashes of the checkpoints, or of "none" and a seal."""
    contents = [
        bytes.fromhex(each["checkpoint"]) if each["checkpoint"] else f"none {each['seal']}".encode()
        for each in chain["checkpoints"][:size]
    ]
    return plain_root([sha256(b"\0" + content).digest() for content in contents]).hex()


def rewrite_chain(statements: Path, **facts: Any) -> dict[str, Any]:
    """Let the chain of a lake say something else, with a root that fits unless it is given."""
    chain = chain_of(statements.parent) | facts
    chain["root"] = facts.get("root") or root_by_hand(chain, chain["size"])
    (statements / FILE).write_text(json.dumps(chain, sort_keys=True, indent=2) + "\n")
    return chain


def as_earlier_release(statements: Path) -> dict[str, Any]:
    """Write the chain of a lake as an earlier release did."""
    chain = chain_of(statements.parent)
    return rewrite_chain(statements, root=old_root(chain, chain["size"]), earlier=None)


def sealed_status(folder: Path, earlier: Path) -> tuple[str, str]:
    """What statement-verify says of a sealed folder to a reader who kept a chain."""
    sealed, *_ = Trust.read(None, None, earlier).statuses_of(folder)
    return sealed.outcome, sealed.text


def seal_next(lake: Lake, folder: Path) -> Path:
    """Seal a copy of a folder as the next version, as a close does."""
    new = shutil.copytree(folder, folder.with_name(f"{folder.name}-v2"), dirs_exist_ok=True)
    manifest = read_manifest(folder) | {"version": 2, "seal": None, "supersedes": "it"}
    try:
        manifest["seal"] = seal_chain.seal_folder(lake, new, manifest)
        (new / "manifest.json").write_text(json.dumps(manifest))
    finally:
        if manifest["seal"] is None:
            shutil.rmtree(new)
    return new


def bare(path: Path) -> dict[str, Any]:
    """The size and the root of a chain, which is all that its reader kept."""
    chain = json.loads(path.read_text())
    return {name: chain[name] for name in ("origin", "size", "root")}


def test_each_seal_lengthens_the_chain_which_begins_with_every_earlier_one(closer, tmp_path):
    """A reader who kept the first one finds it in the second, by all of it and by its root."""
    folders = [closed.folder for closed in closer.closed("2026-09", "2026-10")]
    chain, earlier = chain_of(closer.desk.lake.path), tmp_path / "earlier.json"
    shutil.copy(closer.desk.lake.path / "statements" / FILE, earlier)
    assert [each["label"] for each in chain["checkpoints"]] == ["2026-09", "2026-10"]
    hashes = [sha256((folder / "checkpoint").read_bytes()).hexdigest() for folder in folders]
    assert [each["checkpoint"] for each in chain["checkpoints"]] == hashes
    assert chain["root"] == root_by_hand(chain, 2)
    before, later = ((one["size"], bytes.fromhex(one["root"])) for one in (chain["earlier"], chain))
    assert before == (1, bytes.fromhex(root_by_hand(chain, 1)))
    assert tree.is_consistent(before, later, [*map(bytes.fromhex, chain["earlier"]["proof"])])
    closer.desk.lake.storage.remove(closer.desk.lake.path / "statements" / FILE)
    keep_chain(closer.desk.lake)
    assert chain_of(closer.desk.lake.path) == chain | {"earlier": None}
    assert sealed_status(folders[1], earlier)[0] == "held"
    first = {"size": 1, "root": root_by_hand(chain, 1)}
    for size, outcome in ((1, "held"), (2, "FAILED"), (-1, "FAILED")):
        earlier.write_text(json.dumps(bare(earlier) | first | {"size": size}))
        assert sealed_status(folders[1], earlier)[0] == outcome


def test_months_of_an_earlier_release_are_listed_by_their_seals(tmp_path):
    """They have no checkpoint; nothing is written where nothing is new."""
    old_lake = Lake(unpack(COMMITS[0], tmp_path))
    keep_chain(old_lake)
    chain, path = chain_of(old_lake.path), old_lake.path / "statements" / FILE
    assert [each["checkpoint"] for each in chain["checkpoints"]] == [None] * 3
    assert chain["root"] == root_by_hand(chain, 3) and chain["earlier"] is None
    kept = path.stat().st_mtime_ns
    keep_chain(old_lake)
    assert path.stat().st_mtime_ns == kept and chain_faults(old_lake) == []


def test_the_chain_of_an_earlier_release_is_read_as_it_is_and_gets_another_tree_when_it_grows(
    closer, tmp_path
):
    """Whoever kept it, all of it or its root, finds it in the later one; it says what is bound."""
    folder, lake = closer.closed("2026-09")[0].folder, closer.desk.lake
    kept, known = as_earlier_release(folder.parent), (tmp_path / "all", tmp_path / "root")
    keep_chain(lake)
    assert chain_of(lake.path) == kept and chain_faults(lake) == []
    said = "chain: 1 checkpoint; their labels and seals are not under the root"
    assert verify_chain(folder) == said
    known[0].write_text(json.dumps(kept))
    known[1].write_text(json.dumps({name: kept[name] for name in ("origin", "size", "root")}))
    [closed] = closer.closed("2026-10")
    chain = chain_of(lake.path)
    assert chain["root"] == root_by_hand(chain, 2)
    assert chain["earlier"]["root"] == root_by_hand(chain, 1) and chain_faults(lake) == []
    (whole, all_said), (bare_root, said) = (sealed_status(closed.folder, path) for path in known)
    assert whole == bare_root == "held" and all_said.endswith("the earlier ones first")
    assert said.endswith("the earlier ones first; their labels and seals are not under the root")


@pytest.mark.parametrize("fact", ["label", "seal", "version", "calendar", "zone", "checkpoint"])
def test_a_root_that_was_kept_fixes_all_that_the_chain_says_of_other_months(closer, tmp_path, fact):
    """The key's owner rewrites one, with a root that fits; the reader kept size and root alone."""
    folder, earlier = closer.closed("2026-09", "2026-10")[1].folder, tmp_path / "root.json"
    earlier.write_text(json.dumps(bare(folder.parent / FILE)))
    assert sealed_status(folder, earlier)[0] == "held"
    first, second = chain_of(closer.desk.lake.path)["checkpoints"]
    first[fact] = 7 if fact == "version" else "0" * 64
    rewrite_chain(folder.parent, checkpoints=[first, second], earlier=None)
    outcome, text = sealed_status(folder, earlier)
    assert outcome == "FAILED" and "chain: the earlier one was cut or rewritten" in text


@pytest.mark.parametrize("kept", ["all", "root", "root of an earlier release", "nothing"])
def test_a_second_seal_of_a_month_is_refused_by_who_kept_the_first(closer, tmp_path, kept):
    """It is appended, so the chain begins as it did. Without an earlier one, two are told of."""
    folder, earlier = closer.closed("2026-09", "2026-10")[1].folder, tmp_path / "kept.json"
    lake = closer.desk.lake
    chain = as_earlier_release(folder.parent) if "release" in kept else chain_of(lake.path)
    earlier.write_text(json.dumps(chain if kept == "all" else bare(folder.parent / FILE)))
    again = read_manifest(folder) | {"as_of": "2026-12-01T00:00:00Z"}
    again["seal"] = seal_of(again)
    register_seal(lake.storage, again, again["seal"])
    (folder / "manifest.json").write_text(json.dumps(again))
    write_checkpoint(folder, again)
    keep_chain(lake)
    reader = None if kept == "nothing" else earlier.read_bytes()
    facts = (folder, folder.parent, read_manifest(folder), reader)
    outcome, text, code = verify.outcome(verify.check_chain, *facts)
    if kept == "nothing":
        assert (outcome, code, text) == ("not checked", 3, "a version of 2026-10 has two seals")
        assert f"not checked: chain: {text}" in Trust().statuses_of(folder)[0].text
    else:
        assert (outcome, text) == ("FAILED", "the earlier one has another seal of 2026-10")
        assert sealed_status(folder, earlier)[0] == "FAILED"


def test_a_month_of_which_a_later_version_was_sealed_says_so(closer):
    """verify.py ends with 3; statement-verify says it too, and the version itself holds."""
    folder = closer.sealed("2026-10")
    new = seal_next(closer.desk.lake, folder)
    facts = (folder.parent, read_manifest(folder), None)
    told = ("not checked", "version 2 of it was sealed: ask for that", 3)
    assert verify.outcome(verify.check_chain, folder, *facts) == told
    assert f"not checked: chain: {told[1]}" in Trust().statuses_of(folder)[0].text
    assert verify_chain(new) == "chain: 2 checkpoints"


def test_a_lake_that_was_cut_or_rewritten_does_not_begin_as_the_kept_chain(closer, tmp_path):
    """The register and the chain may fit each other: the reader's copy tells."""
    closer.closed("2026-09", "2026-10")
    statements, earlier = closer.desk.lake.path / "statements", tmp_path / "earlier.json"
    shutil.copy(statements / FILE, earlier)
    shutil.rmtree(statements / "2026-10")
    rows = (statements / "seals.csv").read_text().splitlines(keepends=True)
    (statements / "seals.csv").write_text("".join(rows[:2]))
    [fault] = chain_faults(closer.desk.lake)
    assert "chain.json and the register of seals beside it differ" in fault
    with pytest.raises(LakeError, match="the register of seals beside it differ"):
        keep_chain(closer.desk.lake)
    (statements / FILE).unlink()
    keep_chain(closer.desk.lake)
    assert chain_faults(closer.desk.lake) == []
    for kept in (earlier.read_text(), json.dumps(bare(earlier))):
        earlier.write_text(kept)
        outcome, text = sealed_status(statements / "2026-09", earlier)
        assert outcome == "FAILED" and "chain: the earlier one was cut or rewritten" in text


def test_a_chain_that_names_another_checkpoint_than_a_folder_is_told(closer):
    """It fits its own root; the month beside it is not forged, and the chain is named."""
    statements = closer.sealed("2026-10").parent
    [entry] = chain_of(closer.desk.lake.path)["checkpoints"]
    rewrite_chain(statements, checkpoints=[entry | {"checkpoint": "0" * 64}])
    told = "chain.json has another checkpoint of 2026-10 than its folder"
    assert chain_faults(closer.desk.lake) == [told]
    (statements / FILE).write_text("{")
    [fault] = chain_faults(closer.desk.lake)
    assert "chain.json is torn or altered: restore" in fault


def test_a_chain_of_other_months_lists_no_statement_of_this_one(closer):
    """It fits its root and is of the same merchant: that the month is not in it, is told so."""
    closer.closed("2026-09", "2026-10")
    statements = closer.desk.lake.path / "statements"
    first, _ = chain_of(closer.desk.lake.path)["checkpoints"]
    rewrite_chain(statements, checkpoints=[first], size=1, earlier=None)
    manifest = read_manifest(statements / "2026-10")
    facts = verify.check_chain, statements / "2026-10", statements, manifest, None
    outcome, text, _ = verify.outcome(*facts)
    assert (outcome, text) == ("FAILED", "it does not list this statement once")


def test_an_altered_proof_that_the_chain_begins_with_the_one_before_is_told(closer):
    """Its checkpoints and roots are right; whoever has the roots alone would be misled."""
    folder = closer.closed("2026-09", "2026-10")[1].folder
    earlier = chain_of(closer.desk.lake.path)["earlier"]
    assert chain_faults(closer.desk.lake) == [] and len(earlier["proof"]) == 1
    rewrite_chain(folder.parent, earlier=earlier | {"proof": ["0" * 64]})
    [fault] = chain_faults(closer.desk.lake)
    assert "chain.json is torn or altered: restore" in fault


@pytest.mark.thorough
def test_a_bucket_where_nothing_may_be_deleted_hinders_no_seal(closer, tmp_path, monkeypatch):
    """The signature of the shorter chain is left over, and counts as none."""
    closer.closed("2026-09")
    lake, key = closer.desk.lake, make_key(tmp_path, "own")
    svc.sign(lake, "2026-09", key=key)

    def refuse(storage: LocalStorage, path: Path) -> None:
        raise StoreError("the store refuses these credentials (403)")

    monkeypatch.setattr(LocalStorage, "remove", refuse)
    closed = closer.close("2026-10")
    assert closed.state == "sealed" and chain_of(lake.path)["size"] == 2
    monkeypatch.setenv("SVC_SIGNING_KEY", str(key))
    assert "nobody signed chain.json" in (closer.close("2026-10", sign=True).note or "")
    svc.sign(lake, "2026-10", key=key)
    assert "chain.json" not in (closer.close("2026-10", sign=True).note or "")


@pytest.mark.parametrize("step", ["before the register", "behind the register", "at its end"])
def test_a_run_that_was_killed_while_it_sealed_is_made_good_by_the_next(step, closer, monkeypatch):
    """At worst the chain lists a seal too many, as the register does; no month is called forged."""
    calls: list[object] = []
    folder, lake = closer.sealed("2026-10"), closer.desk.lake

    def keep(*given: Any) -> None:
        calls.append(given)
        if len(calls) == {"before the register": 1}.get(step, 2):
            if step == "at its end":
                keep_chain(*given)
            raise KeyboardInterrupt
        keep_chain(*given)

    monkeypatch.setattr(seal_chain, "keep_chain", keep)
    with pytest.raises(KeyboardInterrupt):
        seal_next(lake, folder)
    monkeypatch.undo()
    assert chain_faults(lake) == []
    new = seal_next(lake, folder)
    rows = (folder.parent / "seals.csv").read_text().splitlines()[1:]
    assert [each["seal"] for each in chain_of(lake.path)["checkpoints"]] == [x[:64] for x in rows]
    assert chain_faults(lake) == []
    assert verify_chain(new) == f"chain: {len(rows)} checkpoints"


def verify_chain(folder: Path) -> str:
    """What verify.py says of a folder beside the chain of its lake."""
    return f"chain: {verify.check_chain(folder, folder.parent, read_manifest(folder), None)}"


def test_the_chain_is_signed_with_the_month_until_it_grows(closer, tmp_path, monkeypatch):
    """A signature of a shorter chain is of another text, so it goes."""
    [closed], key = closer.closed("2026-10"), make_key(tmp_path, "key")
    chain, signed = closed.folder.parent / FILE, closed.folder.parent / SIGNATURE
    monkeypatch.setenv("SVC_SIGNING_KEY", str(key))
    Signer(closer.desk.lake, is_wanted=True).sign(closed)
    assert is_signed_by(key, signed, chain)
    seal_next(closer.desk.lake, closed.folder)
    assert chain_of(closer.desk.lake.path)["size"] == 2 and not signed.exists()


# ---------- the tree and the checkpoint of a month, reckoned again as the format says


def tree_by_hand(folder: Path, secret: bytes) -> str:
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
    secret = tree.read_secret(closer.desk.lake.path)
    assert secret and len(secret) == 32
    assert stat.S_IMODE((closer.desk.lake.path / tree.FILE).stat().st_mode) == 0o600
    out, formats = closer.desk.lake.path.parent / "o", ("parquet",)
    other = closer.close("2026-10", out=out, formats=formats).folder
    sealed = closer.desk.lake.path / "statements" / "2026-10"
    assert read_manifest(other)["tree"] == read_manifest(sealed)["tree"]
    assert read_manifest(sealed)["tree"] == {
        "size": 3,
        "root": tree_by_hand(sealed, secret),
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
    path = closer.desk.lake.path / tree.FILE
    path.chmod(0o600)
    path.write_bytes(bytes(32))
    [text] = verify_statement(folder).unproven
    assert text.startswith("its tree is not that of its lines and the lake's secret")
    path.unlink()
    assert verify_statement(folder).unproven == ()


def test_a_month_that_was_sealed_before_its_headings_were_covered_still_holds(closer):
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
    assert "\nheader " not in (folder / "checkpoint").read_text()


def test_records_are_split_where_no_quoted_field_is_open():
    """A merchant's note may hold newlines, quotes and commas."""
    text = 'a,b\n1,"x\n""y"",\nz"\n2,\n'
    records = [*tree.split_records(text.encode().splitlines(keepends=True))]
    assert records == [b"a,b", b'1,"x\n""y"",\nz"', b"2,"]


def test_no_two_lists_of_netstrings_are_alike():
    """What a field holds cannot move a border between two of them."""
    assert tree.netstring(b"1:a,") + tree.netstring(b"") != tree.netstring(b"1") + tree.netstring(
        b"a,"
    )


# ---------- a close that dies while it makes the secret of its lake


DYING = """
import os, sys
from pathlib import Path
from svc_analytics.proofs.tree import require_secret
from svc_analytics.storage import open_storage

write, replace, moment = Path.write_bytes, os.replace, sys.argv[2]

def half(path, content):
    write(path, content[:16] if moment == "half written" else content)
    return os._exit(9) if moment in ("half written", "written") else None

def moved(*paths):
    replace(*paths)
    os._exit(9)

Path.write_bytes, os.replace = half, moved
require_secret(open_storage(sys.argv[1]))
"""


@pytest.mark.parametrize("moment", ["half written", "written", "in place"])
def test_a_kill_leaves_no_secret_or_a_whole_one(moment, tmp_path):
    """Never half of one and never two: what later closes find is what is there, or made once."""
    lake = tmp_path / "data"
    lake.mkdir()
    words = [sys.executable, "-c", DYING, str(lake), moment]
    assert subprocess.run(words).returncode == 9
    left = tree.read_secret(lake)
    assert (left is not None) == (moment == "in place")
    found = tree.require_secret(open_storage(lake))
    assert len(found) == 32 and left in (None, found)
    assert tree.require_secret(open_storage(lake)) == tree.read_secret(lake) == found
    assert stat.S_IMODE((lake / tree.FILE).stat().st_mode) == 0o600
    assert [path.name for path in lake.iterdir()] == [tree.FILE]


def test_no_other_secret_is_made_where_months_were_sealed_with_one(closer):
    """The next close made one without a word, and no older line could be proven any more."""
    closer.sealed("2026-10")
    lake = closer.desk.lake
    (lake.path / tree.FILE).unlink()
    with pytest.raises(LakeError, match="secret is gone, and months were sealed with it"):
        tree.require_secret(lake.storage)
