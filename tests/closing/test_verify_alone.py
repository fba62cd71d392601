"""verify.py, which a stranger has and nothing else of ours: what it is, and what it sees."""

import ast
import json
import random
import shutil
import sys
from functools import cache
from os import environ
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.proofs import verify
from tests.support.forged_packages import FORGERIES, PROOFS
from tests.support.rings import rings
from tests.support.strange_folders import Strange

SOURCE = Path(verify.__file__)
REMEMBERED = cache(verify.is_ed25519)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    if not shutil.which("ssh-keygen") and environ.get("SVC_REQUIRE_SSH") != "1":
        pytest.skip("ssh-keygen is not installed")
    return Strange(tmp_path_factory.mktemp("strange"))


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not altered is not reckoned again: a signature takes 20 milliseconds."""
    monkeypatch.setattr(verify, "is_ed25519", REMEMBERED)


def found(folder: Path, *words: str, capture: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = verify.main([str(folder), *words])
    return code, capture.readouterr().out.splitlines()


def test_it_is_a_short_program_of_the_standard_library_alone() -> None:
    """At most 300 lines of code, in the grammar of Python 3.9; nothing reaches a network."""
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 9))
    names = {
        each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names
    }
    assert names <= set(sys.stdlib_module_names) - {"socket", "ssl", "urllib", "http"}
    lines = SOURCE.read_text().splitlines()
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    said = sum(
        (each.end_lineno or 0) - each.lineno + 1
        for each in texts
        if isinstance(each.value, ast.Constant)
    )
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert len(code) - said <= 300


def test_it_says_what_held_and_what_it_lacks(
    original: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each status; without a key of the reader's own, the signature is not checked."""
    code, lines = found(original.folder, capture=capsys)
    assert code == 3 and [line.split(":")[0] for line in lines] == [
        "held  seal of manifest.json",
        "held  files",
        "held  lines",
        "held  checkpoint",
        "not checked  signature",
        "not checked  stamp",
        "held  chain",
        "not checked  chain's signature",
    ]
    code, lines = found(original.folder, "--signers", str(original.signers), capture=capsys)
    assert code == 0 and sum("held" in line for line in lines) == 7


def refused(strange: Strange, *words: str) -> list[str]:
    """Return what verify.py says is wrong with a folder."""
    given = [
        "--signers",
        str(strange.signers),
        "--earlier",
        str(strange.kept / "chain.json"),
        *words,
    ]
    parsed = verify.arguments([str(strange.folder), *given])
    lines = [(status, f"{name}: {text}") for name, status, text, _ in verify.check_all(parsed)]
    return [text for status, text in lines if status == "FAILED"]


@pytest.mark.parametrize("what", FORGERIES)
def test_each_forgery_is_refused(original: Strange, tmp_path: Path, what: str) -> None:
    """By a reader who brings the key, and the chain of before, whatever sums and seals fit."""
    strange = original.copied(tmp_path)
    assert not refused(strange)
    FORGERIES[what](strange)
    strange.sums()
    assert refused(strange)


@pytest.mark.parametrize("what", PROOFS)
def test_each_forged_proof_is_refused(original: Strange, what: str) -> None:
    """Of one line alone, without its folder."""
    good, forged = (json.dumps(each).encode() for each in (original.proof, PROOFS[what](original)))
    assert [status for status, *_ in proven(original, good)] == ["held", "held"]
    assert "FAILED" in [status for status, *_ in proven(original, forged)]


def proven(strange: Strange, content: bytes) -> list[tuple[Any, ...]]:
    signers = strange.signers.read_bytes()
    checks = (verify.check_proof, content), (verify.check_proof_signature, content, signers)
    return [verify.outcome(*check) for check in checks]


def flipped(content: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@pytest.mark.parametrize("seeds", rings([range(100)], [range(100, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_a_package_is_named(
    original: Strange, tmp_path: Path, seeds: range
) -> None:
    """Of any file, with the file's name, and the whole is never said to hold."""
    strange = original.copied(tmp_path)
    names = sorted(path.name for path in strange.folder.iterdir())
    for seed in seeds:
        name = names[seed % len(names)]
        content = (strange.folder / name).read_bytes()
        (strange.folder / name).write_bytes(flipped(content, seed))
        said = refused(strange)
        assert any(name in text or name == "SHA256SUMS" for text in said), (name, seed, said)
        (strange.folder / name).write_bytes(content)


@pytest.mark.parametrize("seeds", rings([range(100)], [range(100, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_what_was_sealed_and_signed_is_refused(
    original: Strange, tmp_path: Path, seeds: range
) -> None:
    """Without the sums of a package too: seal and signature alone are strict."""
    strange = original.copied(tmp_path)
    names = ["manifest.json", "checkpoint", "lines.csv", "checkpoint.sig"]
    for name in ("README.txt", "SHA256SUMS", "chain.json", "chain.json.sig"):
        (strange.folder / name).unlink()
    for seed in seeds:
        name = names[seed % len(names)]
        content = (strange.folder / name).read_bytes()
        (strange.folder / name).write_bytes(flipped(content, seed))
        assert refused_without_chain(strange), (name, seed)
        (strange.folder / name).write_bytes(content)


def refused_without_chain(strange: Strange) -> list[str]:
    parsed = verify.arguments([str(strange.folder), "--signers", str(strange.signers)])
    return [name for name, status, *_ in verify.check_all(parsed) if status == "FAILED"]


@pytest.mark.parametrize("seeds", rings([range(100)], [range(100, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_a_proof_is_refused(original: Strange, seeds: range) -> None:
    """Each byte is of the line, its headings, its place, or what was signed."""
    content = json.dumps(original.proof, ensure_ascii=False, indent=2).encode()
    for seed in seeds:
        forged = flipped(content, seed)
        found = [status for status, *_ in proven(original, forged)]
        assert "FAILED" in found, (seed, forged)


@pytest.mark.parametrize(
    ("options", "is_trusted"),
    [
        ("", True),
        ('namespaces="git,svc-*" ', True),
        ('namespaces="git" ', False),
        ('namespaces="!svc-analytics-seal,*" ', False),
        ('valid-after="20260101Z" ', True),
        ('valid-before="20260101Z" ', False),
        ('valid-after="20990101",namespaces="*" ', False),
        ("cert-authority ", False),
    ],
)
def test_a_key_signs_statements_only_as_far_as_its_owner_allows(
    options: str, is_trusted: bool
) -> None:
    """As ssh-keygen reads the options of allowed signers; a pattern with ! forbids."""
    line = f"# a comment\nmina@shop.example {options}ssh-ed25519 AAAA mina\n"
    assert [*verify.trusted(line.encode())] == [("mina@shop.example", "AAAA")] * is_trusted


def test_the_checkpoint_covers_the_headings_of_a_proof(original: Strange, tmp_path: Path) -> None:
    """Those of chosen metadata too; of a month sealed before it did, only our own are known."""
    old = Strange(tmp_path, is_old=True)
    for strange, outcomes in ((original, ("FAILED", "FAILED")), (old, ("held", "FAILED"))):
        content = json.dumps(strange.proof, ensure_ascii=False, indent=2)
        for name, status in zip(("metadata.cars", "cars"), outcomes, strict=True):
            forged = content.replace("metadata.cart", name).encode()
            assert proven(strange, content.encode())[0][0] == "held"
            assert proven(strange, forged)[0][0] == status
