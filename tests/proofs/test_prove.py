"""A line that is proven to a stranger: what the proof holds, and when there is none.

Trees and proofs, against a plain recursive reckoning of RFC 9162.
"""

import csv
import json
import random
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.closing.handover.evidence import prove_in_folder
from svc_analytics.closing.seals import seal_of
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FOLDER, tree_of
from svc_analytics.proofs.line_proof import prove_line
from svc_analytics.proofs.tree import (
    Tree,
    consistency,
    is_consistent,
    leaf_hash,
    read_lines,
    read_secret,
    root_of,
)
from svc_analytics.proofs.verify import Result, root_by
from svc_analytics.storage import Storage, open_storage
from tests.proofs.test_checkpoints import plain_root, seal_next
from tests.support.altered import flip
from tests.support.closings import table
from tests.support.packages import SECRET, Sealed, row, seal_rows
from tests.support.rings import rings


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
    lines = read_lines(folder, manifest, secret)
    [(_, texts)] = lines.texts()
    rows = table(folder, "lines")
    proof = prove_in_folder(closer.desk.lake, folder, rows[0]["record_id"], out=tmp_path / "p")
    text = proof.file.read_text(encoding="utf-8")
    names = ("entry_id", "record_id", "session_id", "reference_id", "payer_ref", "net")
    for number, other in enumerate(rows[1:], start=2):
        line = lines.line(number, texts[number - 1])
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


def lose(name: str) -> Callable[[Path, Path], None]:
    """Remove a file of the lake."""
    return lambda folder, lake: (lake / name).unlink()


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


REFUSED = {
    "did not seal": lose("statements/seals.csv"),
    "secret is missing: restore it from a copy": lose("secret"),
    "are not those that were sealed: restore both": replace_the_secret,
    "2026-10, or the secret of its lake, are not": alter_a_line,
    "manifest.json differs from the seal: restore it": alter_the_manifest,
    "was sealed before there were trees": forget_the_tree,
    "checkpoint is missing: restore it": lose("statements/2026-10/checkpoint"),
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


# ---------- kept roots of parts: a proof by them is that of all lines, whatever became of them


SIZE = 2100  # two whole parts, and the beginning of a third


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Sealed:
    return seal_rows(tmp_path_factory.mktemp("made") / "2026-10", map(row, range(1, SIZE + 1)))


@pytest.fixture
def storage(tmp_path) -> Storage:
    """A lake's storage that keeps nothing yet."""
    (tmp_path / "lake").mkdir()
    return open_storage(tmp_path / "lake")


def sealed_in(storage: Storage, made: Sealed) -> Path:
    """Make the tree as a close does; tell the file of its parts."""
    assert tree_of(made.folder, made.manifest, SECRET, storage) == made.manifest["tree"]
    return storage.folder / FOLDER / str(made.manifest["tree"]["root"])


def altered(made: Sealed, folder: Path, old: str, new: str) -> Sealed:
    """A copy of a statement with another text in a line."""
    folder = shutil.copytree(made.folder, folder / "altered")
    path = folder / "lines.csv"
    path.write_text(path.read_text().replace(f"{old},", f"{new},"))
    return Sealed(folder, made.manifest)


@pytest.mark.parametrize("seed", rings([1], range(100)))
def test_a_proof_by_kept_parts_is_that_of_all_lines(seed, storage, tmp_path):
    """Of statements of 1 to 3,000 lines; a file is kept where there is a whole part."""
    chance = random.Random(seed)
    for size in (chance.choice((1023, 1024, 1025, 2048)), chance.randint(1, 3000)):
        comments = {0: 'a\n"b"'}
        rows = (row(at, comment=comments.get(at % 7, "")) for at in range(1, size + 1))
        made = seal_rows(tmp_path / f"{size}", rows)
        kept = sealed_in(storage, made)
        assert (kept.stat().st_size if kept.exists() else 0) == size // 1024 * 32
        for number in {1, size, chance.randint(1, size)}:
            of = (made.folder, made.manifest, SECRET, f"record-{number}", None)
            assert prove_line(*of, storage) == prove_line(*of)


SPOILT: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "a bit flipped": lambda kept: flip(kept, 9),
    "torn": lambda kept: kept.write_bytes(kept.read_bytes()[:33]),
    "one root less": lambda kept: kept.write_bytes(kept.read_bytes()[:32]),
    "empty": lambda kept: kept.write_bytes(b""),
    "of another version": lambda kept: kept.write_bytes(bytes(range(64))),  # and other salts
}


@pytest.mark.parametrize("what", SPOILT)
def test_spoilt_parts_change_no_proof_and_are_written_anew(what, made, storage):
    """All lines are hashed again."""
    kept = sealed_in(storage, made)
    content, of = kept.read_bytes(), (made.folder, made.manifest, SECRET, "record-1500", None)
    SPOILT[what](kept)
    assert prove_line(*of, storage) == prove_line(*of)
    assert kept.read_bytes() == content and len(content) == 64


def test_a_lake_that_cannot_keep_parts_proves_as_before(made, storage):
    """A file is in the way of their folder."""
    (storage.folder / FOLDER).write_text("in the way")
    of = (made.folder, made.manifest, SECRET, "record-1500", None)
    assert prove_line(*of, storage) == prove_line(*of)


def test_a_line_of_another_part_is_not_looked_at(made, storage, tmp_path):
    """So it may have been altered since; one of the same part, or the line itself, may not."""
    sealed_in(storage, made)
    other = altered(made, tmp_path, "SVC-7", "SVC-8")
    of = (made.manifest, SECRET, "record-1500", None)
    assert prove_line(other.folder, *of, storage) == prove_line(made.folder, *of)
    for record in ("record-6", "record-7"):
        with pytest.raises(LakeError, match="not those that were sealed"):
            prove_line(other.folder, made.manifest, SECRET, record, None, storage)


def test_of_a_record_that_is_gone_nobody_says_that_it_never_was(made, storage, tmp_path):
    """All lines tell; where they are whole, what to give instead is said."""
    sealed_in(storage, made)
    gone = altered(made, tmp_path, "record-7", "record-x")
    with pytest.raises(LakeError, match="not those that were sealed"):
        prove_line(gone.folder, made.manifest, SECRET, "record-7", None, storage)
    for record, said in {
        "record-x": "give an id",
        "SVC-7": "receipt_no of record record-7,",
    }.items():
        with pytest.raises(ConfigError, match=said):
            prove_line(made.folder, made.manifest, SECRET, record, None, storage)


def test_a_seal_keeps_the_parts_in_the_lake(closer, tmp_path, monkeypatch):
    """For the lake's owner alone, and `prove` takes them: a line of another part is not read."""
    before = closer.sealed("2026-10")
    for module in ("tree", "checkpoint", "line_proof"):
        monkeypatch.setattr(f"svc_analytics.proofs.{module}.PART", 2)
    folder = seal_next(closer.desk.lake, before)
    [kept] = (closer.desk.lake.path / FOLDER).iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and kept.stat().st_size == 32
    first, _, last = table(folder, "lines")
    path = folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(first["record_id"].encode(), b"another"))
    done = svc.prove(closer.desk.lake, "2026-10", last["record_id"], out=tmp_path / "p.json")
    assert done.line_number == 3


# ---------- proofs of seeded statements, and each alteration of them


Facts = dict[str, Any]


def sealed(folder: Path, size: int) -> Sealed:
    """Seal lines; every second of five has a comment of two lines."""
    comments = {2: 'second\n"رسید", é'}
    rows = (row(number, comment=comments.get(number % 5, "")) for number in range(1, size + 1))
    return seal_rows(folder, rows)


def status(facts: Facts) -> str:
    return str(verify.outcome(verify.check_proof, json.dumps(facts).encode())[0])


def altered_digit(chance: random.Random, facts: Facts) -> Facts:
    """Change one digit of the line or of a hash."""
    name = chance.choice([name for name in ("line", "salt", "receipt", "hashes") if facts[name]])
    text = json.dumps(facts[name])
    at = chance.choice([found.start() for found in re.finditer(r"\d", text)])
    return facts | {name: json.loads(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")}


def prove_one(chance: random.Random, made: Sealed, size: int) -> None:
    """Prove a line of a statement: it is held, and each alteration of the proof is refused."""
    number = chance.randint(1, size)
    proof = prove_line(made.folder, made.manifest, SECRET, f"record-{number}")
    facts = json.loads(proof.to_json())
    assert status(facts) == "held" and facts["line_number"] == number
    for _ in range(4):
        forged = altered_digit(chance, facts)
        assert status(forged) == "FAILED", (size, number, forged)


@pytest.mark.parametrize("seed", rings([1], range(60)))
def test_each_proof_is_held_and_no_altered_one(seed, tmp_path):
    """50 lines of each of 60 seeds, of statements of 1 to 1,025 lines; four alterations of each."""
    chance = random.Random(seed)
    for turn in range(10):
        size = chance.choice((1, 2, 1023, 1024, 1025, chance.randint(1, 1025)))
        made = sealed(tmp_path / f"{turn}", size)
        for _ in range(5):
            prove_one(chance, made, size)


@pytest.mark.thorough
def test_a_line_of_a_million_is_proven(tmp_path):
    """The same of a tree of twenty levels."""
    chance = random.Random(20)
    made = sealed(tmp_path / "large", 1_000_000)
    for _ in range(3):
        prove_one(chance, made, 1_000_000)


LEAVES = [leaf_hash(str(number).encode()) for number in range(1025)]
SIZES = [1, 2, 3, 5, 8, 31, 32, 33, 1000, 1024, 1025]


def plain_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*plain_path(index, leaves[:split]), plain_root(leaves[split:])]
    return [*plain_path(index - split, leaves[split:]), plain_root(leaves[:split])]


def leads(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Whether a path leads from a leaf to a root, as verify.py reckons it."""
    try:
        return root_by(path, leaf, index, size) == root
    except Result:
        return False


def followed(size: int, *indices: int) -> Tree:
    tree = Tree()
    for index, leaf in enumerate(LEAVES[:size]):
        tree.add(leaf, is_followed=index in indices)
    return tree


def test_a_root_over_nothing_and_over_three_leaves():
    """Three leaves: two below the left node, and the third at the right."""
    a, b, c = LEAVES[:3]
    assert root_of([]) == sha256(b"").digest()
    left = sha256(b"\x01" + a + b).digest()
    assert root_of([a, b, c]) == sha256(b"\x01" + left + c).digest()


@pytest.mark.parametrize("size", SIZES)
def test_a_root_is_that_of_the_plain_reckoning(size):
    assert root_of(LEAVES[:size]) == plain_root(LEAVES[:size])


@pytest.mark.parametrize("count", rings([100], [3000]))
def test_each_path_leads_to_the_root_and_no_altered_one_does(count):
    """Of seeded leaves in trees of 1 to 1,025: the path is the plain one; a flipped bit is seen."""
    chance = random.Random(count)
    for _ in range(count):
        size = chance.randint(1, len(LEAVES))
        index = chance.randrange(size)
        tree = followed(size, index)
        root, path = tree.root(), tree.paths[index]
        assert path == plain_path(index, LEAVES[:size])
        assert leads(LEAVES[index], index, size, path, root)
        for forged in alterations(chance, index, size, path):
            assert not leads(LEAVES[index], *forged, root)


def alterations(
    chance: random.Random, index: int, size: int, path: list[bytes]
) -> list[tuple[int, int, list[bytes]]]:
    """A path with a bit flipped, one shorter, one longer, and of another place."""
    found = [(index, size, [*path, LEAVES[0]]), (size, size, path), (-1, size, path)]
    if path:
        place, bit = chance.randrange(len(path)), chance.randrange(256)
        other = int.from_bytes(path[place]) ^ 1 << bit
        flipped = [*path[:place], other.to_bytes(32), *path[place + 1 :]]
        found += [(index, size, flipped), (index, size, path[:-1]), (index ^ 1, size, path)]
    return found


def test_two_leaves_are_followed_at_once():
    """A record with several lines has a path for each."""
    tree = followed(1000, 3, 998)
    root = tree.root()
    for index in (3, 998):
        assert leads(LEAVES[index], index, 1000, tree.paths[index], root)


def test_a_longer_tree_is_proven_to_begin_with_the_shorter_one():
    """Every pair of sizes to 40; with another root, size or hash it is not."""
    for size in range(1, 41):
        later = size, root_of(LEAVES[:size])
        for before in range(size + 1):
            proof = consistency(LEAVES[:size], before)
            earlier = before, root_of(LEAVES[:before])
            assert is_consistent(earlier, later, proof)
            assert not is_consistent((before, LEAVES[0][::-1]), later, proof)
            assert not is_consistent(earlier, (size, LEAVES[0][::-1]), proof) or before == 0
            assert not is_consistent(earlier, later, [*proof, LEAVES[0]])
