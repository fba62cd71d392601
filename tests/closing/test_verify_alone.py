"""verify.py, which a stranger has and nothing else of ours: what it is, and what it sees."""

import ast
import json
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import LakeError, verify_statement
from svc_analytics.closing.verification import verify as verification
from svc_analytics.closing.verification.proof import Proof
from svc_analytics.proofs import verify
from svc_analytics.proofs.statuses import Trust
from tests.support.packages import FORGERIES, PROOFS, Strange, packed_month, without_header
from tests.support.rings import rings, sample
from tests.support.signers import make_key

SOURCE = Path(verify.__file__)
GROUPS = {"signature": "signed", "chain's signature": "signed", "stamp": "stamped"}
Outcome = tuple[str, str]  # of which status, and a text


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Strange:
    return packed_month(tmp_path_factory)


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    """What is not altered is not reckoned again: a signature takes 20 milliseconds."""
    with pytest.MonkeyPatch.context() as patch:
        known: dict[Any, Any] = {}
        run = verify.run

        def run_once(*words: str, content: bytes = b"") -> Any:
            key = content, *(_content(word) or word for word in words)
            if key not in known:
                known[key] = run(*words, content=content)
            return known[key]

        patch.setattr(verify, "is_ed25519", cache(verify.is_ed25519))
        patch.setattr(verify, "run", run_once)
        yield


def _content(word: str) -> bytes | None:
    return Path(word).read_bytes() if Path(word).is_file() else None


def found(folder: Path, *words: str, capture: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = verify.main([str(folder), *words])
    return code, capture.readouterr().out.splitlines()


def test_it_is_a_short_program_of_the_standard_library_alone():
    """At most 400 lines of code, in the grammar of Python 3.6; nothing reaches a network."""
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 6))
    names = {
        each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names
    }
    assert names <= set(sys.stdlib_module_names) - {"socket", "ssl", "urllib", "http"}
    lines = SOURCE.read_text().splitlines()
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    texts = [each for each in texts if isinstance(each.value, ast.Constant)]
    said = sum((each.end_lineno or 0) - each.lineno + 1 for each in texts)
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert len(code) - said <= 400


def test_it_says_what_held_and_what_it_lacks(original, capsys):
    """A line for each status; without a key of the reader's own, the signature is not checked."""
    code, lines = found(original.folder, capture=capsys)
    assert code == 3 and [line.split(":")[0] for line in lines] == [
        *("held  seal of manifest.json", "held  files", "held  lines", "held  checkpoint"),
        *("not checked  signature", "not checked  stamp", "held  chain"),
        "not checked  chain's signature",
        "not checked  EVIDENCE.txt, README.txt, SHA256SUMS, verify.py",
    ]
    trusted = ("--signers", str(original.signers))
    assert found(original.folder, *trusted, capture=capsys)[0] == 3  # nobody's stamps are trusted
    trusted += ("--authority", str(original.authority.certificate))
    code, lines = found(original.folder, *trusted, capture=capsys)
    assert code == 0 and all(line.startswith("held  ") for line in lines[:-1])


@pytest.mark.parametrize("name", ["nowhere", "manifest.json"])
def test_what_is_no_folder_is_a_mistake_of_usage(name, original, capsys):
    """One line, and 2: nothing was checked, so nothing failed."""
    with pytest.raises(SystemExit, match="2"):
        verify.main([str(original.folder / name)])
    assert f"{name} is no folder: unpack the zip" in capsys.readouterr().err


def refused(strange: Strange) -> list[Outcome]:
    """Return what verify.py says is wrong with a folder, to a reader who trusts its own."""
    words = [word for name, path in strange.trust.items() for word in (f"--{name}", str(path))]
    lines = verify.check_all(verify.arguments([str(strange.folder), *words]))
    failed = [(name, text) for name, status, text, _ in lines if status == "FAILED"]
    return [(GROUPS.get(name, "sealed"), f"{name}: {text}") for name, text in failed]


def refused_by_statement_verify(strange: Strange) -> set[str]:
    """Return the statuses that failed of those that statement-verify prints."""
    found = Trust.read(**strange.trust).statuses_of(strange.folder)
    return {each.name for each in found if each.outcome == "FAILED"}


@pytest.mark.parametrize("what", FORGERIES)
def test_each_forgery_is_refused(original, tmp_path, what):
    """By a reader who brings the key, and the chain of before, whatever sums and seals fit."""
    strange = original.copied(tmp_path)
    assert not refused(strange)
    FORGERIES[what](strange)
    strange.sums()
    failed = refused(strange)
    assert failed
    assert {name for name, _ in failed} == refused_by_statement_verify(strange)


@pytest.mark.parametrize("what", ["cut from", "rewritten in"])
def test_the_root_of_an_earlier_chain_alone_shows_that_a_later_one_does_not_begin_with_it(
    original, tmp_path, what
):
    """The forged chain fits its own root, and the reader kept nothing but a root and a size."""
    strange = original.copied(tmp_path)
    assert not refused(strange) and "checkpoints" not in strange.trust["earlier"].read_text()
    FORGERIES[f"a month {what} the chain"](strange)
    strange.sums()
    assert ("sealed", "chain: the earlier one was cut or rewritten") in refused(strange)
    assert "sealed" in refused_by_statement_verify(strange)


@pytest.mark.parametrize("what", ["nothing", *sample(FORGERIES, 30)])
def test_statement_verify_refuses_each_forgery(original, tmp_path, what):
    """With the lake that sealed it; a manifest that is none ends it with a line."""
    strange = original.copied(tmp_path)
    if what == "nothing":
        assert verify_statement(strange.folder, strange.lake).holds  # whoever signed or stamped it
        return
    FORGERIES[what](strange)
    strange.sums()
    assert broken_of(strange)


def broken_of(strange: Strange) -> tuple[str, ...]:
    """Return what statement-verify finds broken, or the line that it ends with."""
    try:
        checked = verify_statement(strange.folder, strange.lake, **strange.trust)
    except LakeError as error:
        return (str(error),)
    assert not (checked.holds and checked.broken)
    return checked.broken


OF_SIGNATURE = {
    "another label",
    "no signature",
    "a signature with a blank",
    "a checkpoint of another size",  # of the same height: the path leads to its root
}


@pytest.mark.parametrize("what", PROOFS)
def test_each_forged_proof_is_refused(original, what):
    """Of one line alone, without its folder; by its signature alone where all else fits."""
    good, forged = (json.dumps(each).encode() for each in (original.proof, PROOFS[what](original)))
    assert [status for status, *_ in proven(original, good)] == ["held", "held"]
    proof, signature = (status for status, *_ in proven(original, forged))
    assert (signature if what in OF_SIGNATURE else proof) == "FAILED"


def proven(strange: Strange, content: bytes) -> list[tuple[Any, ...]]:
    signers = strange.signers.read_bytes()
    checks = (verify.check_proof, content), (verify.check_proof_signature, content, signers)
    return [verify.outcome(*check) for check in checks]


def flipped(content: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def flips(folder: Path, names: list[str], seeds: range) -> Iterator[tuple[str, int]]:
    """Flip one bit after the other, each of another file; tell of which, and mend it."""
    for seed in seeds:
        path = folder / names[seed % len(names)]
        content = path.read_bytes()
        path.write_bytes(flipped(content, seed))
        yield path.name, seed
        path.write_bytes(content)


@pytest.mark.parametrize("seeds", rings([range(20)], [range(20, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_a_package_is_named(original, tmp_path, seeds, monkeypatch):
    """Of any file, with the file's name, by both programs; the lake has no part in it."""
    monkeypatch.setattr(verification, "prove_folder", Proof)
    strange = original.copied(tmp_path)
    names = sorted(path.name for path in strange.folder.iterdir())
    for name, seed in flips(strange.folder, names, seeds):
        said = [text for _, text in refused(strange)]
        assert any(name in text or name == "SHA256SUMS" for text in said), (name, seed, said)
        broken = broken_of(strange)
        assert any(name in text or name == "SHA256SUMS" for text in broken), (name, seed, broken)


@pytest.mark.parametrize("seeds", rings([range(20)], [range(20, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_what_was_sealed_and_signed_is_refused(original, tmp_path, seeds):
    """Without the sums of a package too: seal and signature alone are strict."""
    strange = original.copied(tmp_path)
    names = ["manifest.json", "checkpoint", "lines.csv", "checkpoint.sig"]
    for name in verify.ADDED:
        (strange.folder / name).unlink()
    for name, seed in flips(strange.folder, names, seeds):
        assert refused_without_chain(strange), (name, seed)


def refused_without_chain(strange: Strange) -> list[str]:
    parsed = verify.arguments([str(strange.folder), "--signers", str(strange.signers)])
    return [name for name, status, *_ in verify.check_all(parsed) if status == "FAILED"]


@pytest.mark.parametrize("seeds", rings([range(20)], [range(20, 10_000)]), ids=["few", "all"])
def test_each_flipped_bit_of_a_proof_is_refused(original, seeds):
    """Each byte is of the line, its headings, its place, or what was signed."""
    content = json.dumps(original.proof, ensure_ascii=False, indent=2).encode()
    for seed in seeds:
        forged = flipped(content, seed)
        found = [status for status, *_ in proven(original, forged)]
        assert "FAILED" in found, (seed, forged)


ARABIC = "20260101".translate({48 + digit: 0x660 + digit for digit in range(10)})
# Lines of "allowed signers": KEY is the kind and the text of the signer's key, OTHER another's.
LINES = [
    *("mina KEY", "mina KEY a comment", "  mina\tKEY", "\tmina  KEY", "mina KEY\r", "# mina KEY"),
    *(" # mina KEY", "mina#1 KEY", "#mina KEY", "KEY", "mina OTHER", "mina OTHER KEY"),
    *("\0mina KEY", '"mina" KEY', '"mina tehrani" KEY', '"mina"KEY', 'mi"na" KEY', '"mina KEY'),
    *('"" KEY', "mina, KEY", "mina,omid KEY", "!mina KEY", "!mina,* KEY", "*,!mina KEY"),
    *("*,!* KEY", "mina,!mina KEY", "*@shop.example KEY", "m?na KEY", "[mo]ina KEY", "!!mina KEY"),
    *("*,!!mina KEY", ",mina KEY", "مینا KEY", "m\xeena KEY", "mina cert-authority KEY"),
    *("cert-authority KEY", "mina foo KEY", 'mina namespaces="svc-analytics-seal" KEY'),
    *('mina Namespaces="svc-*" KEY', 'mina namespaces="git" KEY'),
    *('mina namespaces="git,svc-*" KEY', 'mina namespaces="" KEY'),
    *('mina namespaces="!svc-analytics-seal,*" KEY', 'mina namespaces="*,!git" KEY'),
    *('mina namespaces="svc-[a]nalytics-seal" KEY', "mina namespaces=svc-analytics-seal KEY"),
    *('mina namespaces="svc-?nalytics-seal" KEY', 'mina namespaces="!*" KEY'),
    *('mina namespaces="!!svc-analytics-seal,*" KEY', 'mina namespaces = "*" KEY'),
    *('mina namespaces="*",namespaces="*" KEY', 'mina namespaces="*", KEY'),
    *('mina ,namespaces="*" KEY', 'mina namespaces="*",,valid-after="20200101Z" KEY'),
    *('mina namespaces="a b,svc-*" KEY', 'mina namespaces="\\"x,svc-*" KEY'),
    *('mina namespaces="*"x KEY', "mina no-cert-authority KEY"),
    *('mina namespaces="*" valid-after="20200101Z" KEY', 'mina namespaces="*" # KEY'),
    *('mina valid-after="20260101Z" KEY', 'mina valid-before="20260101Z" KEY'),
    *('mina valid-after="20260101" KEY', 'mina valid-before="20990101" KEY'),
    *('mina valid-after="202601011200Z" KEY', 'mina valid-after="20260101120000Z" KEY'),
    *('mina valid-after="20990101",namespaces="*" KEY', 'mina valid-before="209901011200" KEY'),
    *('mina valid-after="2026010112Z" KEY', 'mina valid-after="20261301Z" KEY'),
    *('mina valid-after="20260101UTC" KEY', 'mina valid-after="20260101z" KEY'),
    *('mina valid-after="2026-01-01" KEY', 'mina valid-after="" KEY', "mina valid-after KEY"),
    'mina valid-after="20260101Z",valid-before="20250101Z" KEY',
    'mina valid-after="19700101Z" KEY',
    'mina valid-after="20260101Z",valid-after="20260101Z" KEY',
    'mina VALID-AFTER="20260101Z" KEY',
    'mina valid-after="20260101Z",valid-before="20990101Z" KEY',
    *('mina valid-after="' + ARABIC + 'Z" KEY', "mina KIND KIND KEY", "mina ssh-rsa TEXT"),
    *("mina KIND  TEXT", "mina KIND\tTEXT", "mina kind TEXT", "mina KIND TEXT=", "mina KIND TEXTA"),
    *("mina KIND =TEXT", "mina KIND TE XT", "mina KIND,TEXT", "mina OTHER\nmina KEY"),
    *("mina foo\nmina KEY", 'mina namespaces="git" KEY\nomid KEY', '"unclosed\nmina KEY'),
    *("mina KEY\rmina KEY", "mina \\\nKEY", "\ufeffmina KEY", "mina\u00a0KEY", "", "\n\n", "mina"),
    *("mina ", "mina\x0bKEY", "mina KIND \x0bTEXT", "cert-authority,mina KEY"),
]
NAMES = [
    *("mina", "omid", "x", "mina tehrani", "x@shop.example", "mina#1", "مینا", "!mina", "[mo]ina"),
]


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_the_same_lines_allow_a_key_that_ssh_keygen_lets_sign_for_somebody(
    original, tmp_path, line
):
    """Comments, quotes, patterns, options, dates, dirt: a key is trusted so far, no further."""
    kind, text, *_ = original.key.with_suffix(".pub").read_text().split()
    other = make_key(tmp_path, "other").with_suffix(".pub").read_text().rpartition(" ")[0]
    for name, value in {"KEY": "KIND TEXT", "OTHER": other, "KIND": kind, "TEXT": text}.items():
        line = line.replace(name, value)
    signers = tmp_path / "allowed"
    signers.write_bytes(f"{line}\n".encode())
    checked = verify.outcome(verify.check_signed, original.kept, "checkpoint", signers.read_bytes())
    names = [*NAMES, *line.replace("\0", "").split(" ")[0].split(",")]
    assert (checked[0] == "held") is any(lets_sign(original, signers, each) for each in names)


def lets_sign(strange: Strange, signers: Path, name: str) -> bool:
    """Whether ssh-keygen takes the signature of the checkpoint for somebody's."""
    words = ["-f", str(signers), "-I", name, "-n", "svc-analytics-seal"]
    words += ["-s", str(strange.kept / "checkpoint.sig")]
    content = (strange.kept / "checkpoint").read_bytes()
    return verify.run("ssh-keygen", "-Y", "verify", *words, content=content).returncode == 0


def test_what_a_key_may_sign_and_when_is_told_of_the_signature_alone(original):
    """In the words of ssh-keygen; the seal proves what it did."""
    key = original.key.with_suffix(".pub").read_text()
    for options, said in {
        'valid-before="20260101Z"': "key has expired",
        'namespaces="git"': 'not permitted for use in signature namespace "svc-analytics-seal"',
    }.items():
        trust = Trust(f"mina@shop.example {options} {key}".encode())
        sealed, signed, _ = trust.statuses_of(original.kept)
        assert sealed.outcome == "held" and signed.outcome == "FAILED" and said in signed.text


def test_a_plain_line_needs_no_ssh_keygen(original, monkeypatch):
    """Any other is left to it: without it nothing is refused, and nothing trusted."""
    monkeypatch.setenv("PATH", "")
    plain = original.signers.read_bytes()
    for signers, outcome in ((plain, "held"), (plain.replace(b"mina@", b"*@"), "not checked")):
        checked = verify.outcome(verify.check_signed, original.kept, "checkpoint", signers)
        assert checked[0] == outcome


def test_the_checkpoint_covers_the_headings_of_a_proof(original, tmp_path):
    """Those of chosen metadata too; of a month sealed before it did, only our own are known."""
    old = original.copied(tmp_path)
    without_header(old)
    checkpoint = (old.folder / "checkpoint").read_text()
    signature = old.sign("checkpoint").decode()
    old.proof = original.proof | {"checkpoint": checkpoint, "signature": signature}
    for month, outcomes in ((original, ("FAILED", "FAILED")), (old, ("held", "FAILED"))):
        content = json.dumps(month.proof, ensure_ascii=False, indent=2)
        for name, status in zip(("metadata.cars", "cars"), outcomes, strict=True):
            forged = content.replace("metadata.cart", name).encode()
            assert proven(month, content.encode())[0][0] == "held"
            assert proven(month, forged)[0][0] == status


@pytest.mark.parametrize("key_type", ["rsa", "ecdsa"])
def test_ssh_keygen_decides_on_other_keys(original, tmp_path, key_type):
    """One of another person, a flipped bit and another text are refused."""
    signed, key = original.copied(tmp_path), make_key(tmp_path, "key", key_type=key_type)
    signed.sign("checkpoint", key)
    signers = b"mina@shop.example " + key.with_suffix(".pub").read_bytes()

    def status(whose: bytes) -> str:
        return str(verify.outcome(verify.check_signed, signed.folder, "checkpoint", whose)[0])

    assert (status(signers), status(original.signers.read_bytes())) == ("held", "FAILED")
    path, text = signed.folder / "checkpoint.sig", signed.folder / "checkpoint"
    armour, content = path.read_bytes(), text.read_bytes()
    for seed in range(8):
        path.write_bytes(flipped(armour, seed))
        assert status(signers) == "FAILED", seed
    path.write_bytes(armour)
    text.write_bytes(content + b"\n")
    assert status(signers) == "FAILED"
