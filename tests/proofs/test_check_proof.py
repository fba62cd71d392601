"""`prove --check`: the words and the exit codes of verify.py, and one line for what is no proof."""

import json
import shutil
from os import environ
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.proofs import verify
from tests.support.forged_packages import PROOFS
from tests.support.rings import sample
from tests.support.strange_folders import Strange


@pytest.fixture(scope="module")
def strange(tmp_path_factory) -> Strange:
    if not shutil.which("ssh-keygen") and environ.get("SVC_REQUIRE_SSH") != "1":
        pytest.skip("ssh-keygen is not installed")
    return Strange(tmp_path_factory.mktemp("strange"))


def written(facts: dict[str, Any]) -> str:
    Path("p.json").write_text(json.dumps(facts), encoding="utf-8")
    return "p.json"


@pytest.mark.parametrize("what", ["nothing", *sample(PROOFS, 10)])
def test_it_says_what_verify_py_says(what, strange, run, capsys):
    """Word for word, with its exit code; what is not of the form is refused before."""
    file = written(PROOFS[what](strange) if what != "nothing" else strange.proof)
    code = verify.main(["--proof", file, "--signers", str(strange.signers)])
    said = capsys.readouterr().out
    done = run("prove", "--check", file, "--signers", str(strange.signers))
    assert done.code == code == (what != "nothing")
    assert done.out == said or "is no proof of a line" in done.err


def test_a_signature_of_nobodys_key_is_3_and_no_signature_is_told(strange, run):
    """The proof itself held both times; a program reads the same in JSON."""
    file = written(strange.proof)
    assert run("prove", "--check", file).code == 3
    first, second = json.loads(run("prove", "--check", file, "--json").out)["checks"]
    assert (first["name"], first["status"], second["status"]) == ("proof", "held", "not checked")
    assert "whom do you trust? (--signers)" in second["text"]
    unsigned = run("prove", "--check", written({**strange.proof, "signature": None}))
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
def test_what_is_no_proof_is_refused_in_one_line(what, strange, run):
    content, said = BAD.get(what, (b"", ""))
    if what in WRONG:
        facts, said = WRONG[what]
        content = json.dumps({**strange.proof, **facts}).encode()
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
