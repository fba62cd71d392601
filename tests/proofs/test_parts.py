"""Kept roots of parts: a proof by them is that of all lines, whatever became of them."""

import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.proofs.checkpoint import tree_of
from svc_analytics.proofs.parts import FOLDER
from svc_analytics.proofs.single import prove_line
from svc_analytics.storage import Storage, open_storage
from tests.proofs.test_chain import seal_next
from tests.support.closings import table
from tests.support.hand_made_lines import SECRET, Sealed, row, seal_rows
from tests.support.rings import rings

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


def flip(kept: Path) -> None:
    content = kept.read_bytes()
    kept.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])


def exchange(kept: Path) -> None:
    """The parts of another version: of the same lines with other salts."""
    kept.write_bytes(bytes(range(64)))


SPOILT: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "a bit flipped": flip,
    "torn": lambda kept: kept.write_bytes(kept.read_bytes()[:33]),
    "one root less": lambda kept: kept.write_bytes(kept.read_bytes()[:32]),
    "empty": lambda kept: kept.write_bytes(b""),
    "of another version": exchange,
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
    for module in ("lines", "merkle", "parts", "single"):
        monkeypatch.setattr(f"svc_analytics.proofs.{module}.PART", 2)
    folder = seal_next(closer.desk.lake, before)
    [kept] = (closer.desk.lake.path / FOLDER).iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and kept.stat().st_size == 32
    first, _, last = table(folder, "lines")
    path = folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(first["record_id"].encode(), b"another"))
    done = svc.prove(closer.desk.lake, "2026-10", last["record_id"], out=tmp_path / "p.json")
    assert done.line_number == 3
