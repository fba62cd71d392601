"""A stamp is of this text, and outlives its certificate: what openssl and the imprint say of it.

What a reader is told of a sealed statement: its four statuses, and `prove --check` of a line.
"""

import json
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import ConfigError, LakeError, verify_statement
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.proofs import signature, verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, SIGNATURE, STAMP, write_checkpoint
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.proofs.statuses import Trust
from tests.support.packages import PROOFS
from tests.support.rings import sample
from tests.support.signers import StampAuthority, make_key, serving, stamp_status

TEXT = b"a checkpoint\n"


@pytest.fixture
def stamped(authority, tmp_path) -> Path:
    """A folder with a checkpoint that this authority stamped."""
    (tmp_path / FILE).write_bytes(TEXT)
    write(tmp_path, *stamp(authority, TEXT))
    return tmp_path


def stamp(authority: StampAuthority, text: bytes, digest: str = "-sha256") -> tuple[bytes, bytes]:
    """The query of a text, and the reply to it."""
    words = ["openssl", "ts", "-query", "-cert", digest, "-data", "/dev/stdin"]
    query = subprocess.run(words, input=text, check=True, capture_output=True).stdout
    return query, authority.reply(query)


def write(folder: Path, query: bytes, reply: bytes) -> None:
    (folder / QUERY).write_bytes(query)
    (folder / STAMP).write_bytes(reply)


def der(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    size = len(content).to_bytes(2, "big")
    return bytes([tag, 0x82]) + size + content


def with_status(reply: bytes, text: bytes) -> bytes:
    """The same reply, with a text in its status, which nobody signs."""
    said = der(0x30, b"\2\1\0", der(0x30, der(0x0C, text)))
    return der(0x30, said, reply[9:])


HASH = sha256(TEXT).digest()
KNOWN = b"\4\x20" + HASH  # as an imprint has it
Forgery = Callable[[StampAuthority], tuple[bytes, bytes]]


def of_other(change: Callable[[bytes, bytes], tuple[bytes, bytes]]) -> Forgery:
    """A genuine stamp of another text, which is older, and what is made of it."""
    return lambda authority: change(*stamp(authority, b"hello"))


def of_this(change: Callable[[bytes, bytes], tuple[bytes, bytes]]) -> Forgery:
    return lambda authority: change(*stamp(authority, TEXT))


def of_both(change: Callable[[bytes, bytes, bytes, bytes], tuple[bytes, bytes]]) -> Forgery:
    """Query and reply of this text, then those of the other one, and what is made of them."""
    return lambda authority: change(*stamp(authority, TEXT), *stamp(authority, b"hello"))


FORGERIES: dict[str, Forgery] = {
    "of another text": of_other(lambda query, reply: (query, reply)),
    "of another text, the hash behind both": of_other(lambda q, r: (q + KNOWN, r + KNOWN)),
    "of another text, the hash behind the reply": of_both(
        lambda q, r, _, other: (q, other + KNOWN)
    ),
    "of another text, the hash in its status": of_both(
        lambda q, r, _, other: (q, with_status(other, KNOWN))
    ),
    "of another text, behind a query of this one": of_both(lambda q, r, asked, o: (q + asked, o)),
    "behind a stamp of another text": of_both(lambda q, r, _, other: (q, other + r)),
    "with bytes behind the query": of_this(lambda q, r: (q + b"\0", r)),
    "with bytes behind the reply": of_this(lambda q, r: (q, r + b"\0")),
    "with a length that has no end": of_this(lambda q, r: (q, b"\x30\x80" + r[4:] + b"\0\0")),
    "by another hash": lambda authority: stamp(authority, TEXT, "-sha1"),
    "by a longer hash": lambda authority: stamp(authority, TEXT, "-sha512"),
    "as its own query": of_this(lambda q, r: (r, r)),
    "as a query": of_this(lambda q, r: (q, q)),
    "rejected": lambda authority: (stamp(authority, TEXT)[0], authority.reply(b"no query")),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_only_a_stamp_of_this_text_is_one(stamped, authority, what):
    """Whoever is trusted, and nobody: by verify.py, statement-verify, and what looks for stamps."""
    assert stamp_status(stamped, authority)[0] == "held" and has_stamp(stamped)
    assert stamp_status(stamped, None)[0] == "not checked"
    write(stamped, *FORGERIES[what](authority))
    assert stamp_status(stamped, authority)[0] == "FAILED"
    assert stamp_status(stamped, None)[0] == "FAILED" and not has_stamp(stamped)
    trust = Trust(authority=str(authority.certificate))
    assert [each.outcome for each in trust.statuses_of(stamped)][-1] == "FAILED"


def test_a_status_that_says_nothing_of_the_text_is_harmless(stamped, authority):
    """What stands in the status is signed by nobody, and is not asked."""
    query, reply = stamp(authority, TEXT)
    write(stamped, query, with_status(reply, b"granted, and stamped 1999"))
    outcome, text = stamp_status(stamped, authority)
    assert outcome == "held" and "1999" not in text


def test_a_stamp_that_is_cut_off_anywhere_is_none(stamped):
    """At each byte of the query and of the reply; it is said, whatever is left."""
    for name in (QUERY, STAMP):
        content = (stamped / name).read_bytes()
        for size in range(len(content)):
            (stamped / name).write_bytes(content[:size])
            assert stamp_status(stamped, None)[0] == "FAILED", (name, size)
        (stamped / name).write_bytes(content)


def test_a_stamp_outlives_the_certificate_of_its_authority(tmp_path):
    """It is judged at its own time; of what was revoked since, nothing is known, and it says so."""
    until = datetime.now(UTC) + timedelta(seconds=4)
    brief = StampAuthority(tmp_path, "brief", until)
    (tmp_path / FILE).write_bytes(TEXT)
    write(tmp_path, *stamp(brief, TEXT))
    time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()) + 1.1)
    words = ("ts", "-verify", "-in", str(tmp_path / STAMP), "-queryfile", str(tmp_path / QUERY))
    done = verify.run("openssl", *words, "-CAfile", str(brief.certificate))
    assert done.returncode and b"certificate has expired" in done.stderr
    outcome, text = stamp_status(tmp_path, brief)
    assert outcome == "held"
    assert text.endswith("UTC; whether a certificate was revoked is not checked")


def test_a_stamp_ahead_of_the_clock_proves_no_time(stamped, authority, monkeypatch):
    """Sixteen minutes ahead it does not, and fourteen are a clock that goes a little wrong."""
    now = time.time()
    for minutes, expected in ((16, "not checked"), (14, "held")):
        monkeypatch.setattr(verify.time, "time", lambda early=minutes * 60: now - early)
        assert stamp_status(stamped, authority)[0] == expected


def test_an_openssl_that_does_not_know_the_question_says_nothing_of_a_stamp(
    stamped, authority, tmp_path, monkeypatch
):
    """Such as one of a release that knows no other time than now: it is not checked."""
    (tmp_path / "openssl").write_text("#!/bin/sh\necho 'unknown option -attime' >&2\nexit 1\n")
    (tmp_path / "openssl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome, text = stamp_status(stamped, authority)
    assert (outcome, text) == ("not checked", "this openssl cannot do it for that time")


def test_a_file_of_an_authority_that_is_not_there_is_no_fault_of_the_stamp(stamped, tmp_path):
    """It cannot be read here, so the stamp is not checked: 4."""
    outcome, text, code = verify.outcome(verify.check_stamp, stamped, str(tmp_path / "none.pem"))
    assert (outcome, code) == ("not checked", 4) and "none.pem" in text


def test_a_reply_with_bytes_behind_it_is_not_kept(authority, tmp_path):
    """An authority that sends such a one is told of, and nothing is written."""
    with serving(authority) as counter:
        reply = authority.reply
        counter.authority.reply = lambda query: reply(query) + b"\0"  # type: ignore[method-assign]
        try:
            with pytest.raises(ConfigError, match="no stamp of this checkpoint"):
                Authority(counter.url).stamp(TEXT)
        finally:
            counter.authority.reply = reply  # type: ignore[method-assign]


def outcomes(folder: Path, trust: Trust) -> dict[str, str]:
    return {each.name: each.outcome for each in trust.statuses_of(folder)}


def trusting(*signers: Path, earlier: Path | None = None) -> Trust:
    return Trust.read(*signers, None, earlier)


def test_a_signature_is_believed_by_none_but_the_reader_s_own_keys(original, tmp_path):
    """One that is there, and fits, is not checked until a reader says whom they trust."""
    key, other = make_key(tmp_path, "other"), tmp_path / "others"
    other.write_text(f"omid@shop.example {key.with_suffix('.pub').read_text()}")
    for trust, signed in (
        (Trust(), "not checked"),
        (trusting(original.signers), "held"),
        (trusting(other), "FAILED"),
    ):
        expected = {"sealed": "held", "signed": signed, "stamped": "not checked"}
        assert outcomes(original.folder, trust) == expected


def test_a_status_says_which_check_failed_in_the_words_of_verify_py(original, tmp_path):
    """The others keep their own outcome: there is no one tick for all."""
    strange = original.copied(tmp_path)
    strange.write("summary.csv", "currency\n")
    sealed, signed, _ = trusting(strange.signers).statuses_of(strange.folder)
    assert sealed.outcome == "FAILED" and "summary.csv is not as sealed; lines:" in sealed.text
    assert signed.outcome == "held" and signed.text.startswith("by mina@shop.example, key SHA256:")


def test_the_chain_of_a_lake_lies_beside_its_months(original, tmp_path):
    """A later chain that nobody signed yet takes no signature from a month."""
    strange = original.copied(tmp_path / "statements")
    for name in verify.ADDED:
        shutil.move(strange.folder / name, tmp_path / "statements" / name)
    chain = tmp_path / "statements" / "chain.json"
    trust = trusting(strange.signers, earlier=original.folder / "chain.json")
    expected = {"sealed": "held", "signed": "held", "stamped": "not checked"}
    assert outcomes(strange.folder, trust) == expected
    chain.with_name("chain.json.sig").write_text("signed")
    assert outcomes(strange.folder, trust) == {**expected, "signed": "FAILED"}
    chain.with_name("chain.json.sig").unlink()
    assert outcomes(strange.folder, trust) == expected
    chain.unlink()
    assert outcomes(strange.folder, trust) == {**expected, "sealed": "FAILED"}


def test_a_file_that_a_reader_names_must_be_there():
    """Nothing is taken for trusted by mistake."""
    with pytest.raises(ConfigError, match="--signers nowhere cannot be read"):
        Trust.read("nowhere", None, None)


def test_a_lake_that_is_rewritten_and_sealed_again_lacks_the_signature(closer, tmp_path):
    """Hashes, seal and register may all fit: the key is nowhere in the lake."""
    folder, key, signers = closer.sealed("2026-10"), make_key(tmp_path, "own"), tmp_path / "signers"
    signers.write_text(f"mina@shop.example {key.with_suffix('.pub').read_text()}")
    (folder / SIGNATURE).write_bytes(signature.sign((folder / FILE).read_bytes(), key))
    seal = read_manifest(folder)["seal"]
    held = verify_statement(folder, signers=signers)
    assert held.holds
    assert [each.outcome for each in held.statuses] == ["held", "held", "not checked", "held"]
    manifest = read_manifest(folder) | {"version": 1, "as_of": "2026-12-01T00:00:00.000000Z"}
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_checkpoint(folder, manifest)
    register = folder.parent / "seals.csv"
    register.write_text(register.read_text().replace(seal, manifest["seal"]))
    for text in ("it is not of this text by this key", "not signed, and you named whose"):
        [signed] = [e for e in trusting(signers).statuses_of(folder) if e.name == "signed"]
        assert signed.outcome == "FAILED" and text in signed.text
        (folder / "checkpoint.sig").unlink(missing_ok=True)


def test_a_package_is_verified_as_it_came(closer, tmp_path):
    """With the lake that made it; a zip file that is none, or that is not whole, is refused."""
    statements, lake = closer.sealed("2026-10").parent, closer.desk.lake
    path = Path(shutil.make_archive(str(tmp_path / "month"), "zip", statements, "2026-10"))
    checked = verify_statement(path, lake)
    assert checked.holds and checked.folder == path and len(checked.statuses) == 4
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("2026-10/summary.csv", "currency\n")
    with pytest.raises(LakeError, match="it names a file twice"):
        verify_statement(path, lake)
    path.write_bytes(b"PK")
    with pytest.raises(LakeError, match=r"unzip it and run python verify\.py in its folder"):
        verify_statement(path, lake)


# ---------- `prove --check`: the words of verify.py, and one line for what is no proof


def written(facts: dict[str, Any]) -> str:
    Path("p.json").write_text(json.dumps(facts), encoding="utf-8")
    return "p.json"


@pytest.mark.parametrize("what", ["nothing", *sample(PROOFS, 10)])
def test_it_says_what_verify_py_says(what, original, run, capsys):
    """Word for word, with its exit code; what is not of the form is refused before."""
    file = written(PROOFS[what](original) if what != "nothing" else original.proof)
    code = verify.main(["--proof", file, "--signers", str(original.signers)])
    said = capsys.readouterr().out
    done = run("prove", "--check", file, "--signers", str(original.signers))
    assert done.code == code == (what != "nothing")
    assert done.out == said or "is no proof of a line" in done.err


def test_a_signature_of_nobodys_key_is_3_and_no_signature_is_told(original, run):
    """The proof itself held both times; a program reads the same in JSON."""
    file = written(original.proof)
    assert run("prove", "--check", file).code == 3
    first, second = json.loads(run("prove", "--check", file, "--json").out)["checks"]
    assert (first["name"], first["status"], second["status"]) == ("proof", "held", "not checked")
    assert "whom do you trust? (--signers)" in second["text"]
    unsigned = run("prove", "--check", written({**original.proof, "signature": None}))
    assert unsigned.code == 0 and "not checked  proof's signature: not signed" in unsigned.out
    assert "nobody signed it: compare its checkpoint" in unsigned.err


BAD = {
    "not JSON": (b"{", "it is not JSON"),
    "not text": (b"\xff\xfe", "it is not JSON"),
    "no object": (b"[1]", "it is no object of JSON"),
    "deep": (b"[" * 60_000, "it is not JSON"),
    "a number without end": (b'{"line_number": ' + b"9" * 5000 + b"}", "it is not JSON"),
    "twice": (b'{"line": "a", "line": "b"}', "it says one thing twice"),
    "large": (b" " * 70_000, "it has more than 65536 bytes"),
    "empty": (b"{}", "it lacks line"),
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": ({"line_number": float("nan")}, "its line_number is no whole number"),
    "a truth": ({"line_number": True}, "its line_number is no whole number"),
    "no text": ({"line": 5}, "its line is no text"),
    "half a letter": ({"header": "\ud800"}, "its header is no text"),
    "no hex": ({"salt": "z" * 64}, "is no hash of 64"),
    "a short hash": ({"hashes": ["00"]}, "'00' is no hash of 64"),
    "a hash that is none": ({"hashes": [None]}, "None is no hash of 64"),
    "hashes that are none": ({"hashes": "00"}, "its hashes are no list"),
    "another checkpoint": ({"checkpoint": "svc"}, "it is no checkpoint of a statement"),
    "a signature that is none": ({"signature": 7}, "its signature is no text"),
}


@pytest.mark.parametrize("what", [*BAD, *WRONG])
def test_what_is_no_proof_is_refused_in_one_line(what, original, run):
    content, said = BAD.get(what, (b"", ""))
    if what in WRONG:
        facts, said = WRONG[what]
        content = json.dumps({**original.proof, **facts}).encode()
    Path("p.json").write_bytes(content)
    done = run("prove", "--check", "p.json")
    assert done.code == 1 and len(done.lines) == 1 and done.out == ""
    assert "p.json is no proof of a line: " in done.err and said in done.err


def test_options_that_do_not_go_together_are_named(run):
    """2, and nothing is read."""
    for words, said in {
        ("2026-10", "x", "--check", "p.json"): "--check FILE goes with --signers alone",
        ("2026-10",): "give a month and the id of a record, or --check FILE",
        ("2026-10", "x", "--signers", "s"): "--signers goes with --check",
        ("--check", "none.json"): "cannot read none.json",
    }.items():
        done = run("prove", *words)
        assert done.code == 2 and said in done.err


@pytest.mark.parametrize("text", [b"", "shop ssh-ed25519 AAAAC3\n".encode("utf-16")])
def test_a_file_of_signers_without_a_key_is_named(text, tmp_path):
    """As some shells write it: it was told as a signature by somebody else."""
    (tmp_path / "signers").write_bytes(text)
    with pytest.raises(ConfigError, match="signers names no key"):
        Trust.read(tmp_path / "signers", None, None)
