"""A stamp is of this text, and outlives its certificate: what openssl and the imprint say of it."""

import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, STAMP
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.proofs.statuses import Trust, statuses_of
from tests.support.signers import StampAuthority, serving

TEXT = b"a checkpoint\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> StampAuthority:
    return StampAuthority(tmp_path_factory.mktemp("authority"), "authority")


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


def status(folder: Path, authority: StampAuthority | None) -> tuple[str, str]:
    trusted = None if authority is None else str(authority.certificate)
    outcome, text, _ = verify.outcome(verify.check_stamp, folder, trusted)
    return outcome, text


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


FORGERIES: dict[str, Forgery] = {
    "of another text": of_other(lambda query, reply: (query, reply)),
    "of another text, the hash behind both": of_other(lambda q, r: (q + KNOWN, r + KNOWN)),
    "of another text, the hash behind the reply": lambda authority: (
        stamp(authority, TEXT)[0],
        stamp(authority, b"hello")[1] + KNOWN,
    ),
    "of another text, the hash in its status": lambda authority: (
        stamp(authority, TEXT)[0],
        with_status(stamp(authority, b"hello")[1], KNOWN),
    ),
    "of another text, behind a query of this one": lambda authority: (
        stamp(authority, TEXT)[0] + stamp(authority, b"hello")[0],
        stamp(authority, b"hello")[1],
    ),
    "behind a stamp of another text": lambda authority: (
        stamp(authority, TEXT)[0],
        stamp(authority, b"hello")[1] + stamp(authority, TEXT)[1],
    ),
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
    assert status(stamped, authority)[0] == "held" and status(stamped, None)[0] == "not checked"
    assert has_stamp(stamped)
    write(stamped, *FORGERIES[what](authority))
    assert status(stamped, authority)[0] == "FAILED"
    assert status(stamped, None)[0] == "FAILED" and not has_stamp(stamped)
    trust = Trust(authority=str(authority.certificate))
    assert [each.outcome for each in statuses_of(stamped, trust)][-1] == "FAILED"


def test_a_status_that_says_nothing_of_the_text_is_harmless(stamped, authority):
    """What stands in the status is signed by nobody, and is not asked."""
    query, reply = stamp(authority, TEXT)
    write(stamped, query, with_status(reply, b"granted, and stamped 1999"))
    outcome, text = status(stamped, authority)
    assert outcome == "held" and "1999" not in text


def test_a_stamp_that_is_cut_off_anywhere_is_none(stamped):
    """At each byte of the query and of the reply; it is said, whatever is left."""
    for name in (QUERY, STAMP):
        content = (stamped / name).read_bytes()
        for size in range(len(content)):
            (stamped / name).write_bytes(content[:size])
            assert status(stamped, None)[0] == "FAILED", (name, size)
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
    outcome, text = status(tmp_path, brief)
    assert outcome == "held"
    assert text.endswith("UTC; whether a certificate was revoked is not checked")


def test_an_openssl_that_does_not_know_the_question_says_nothing_of_a_stamp(
    stamped, authority, tmp_path, monkeypatch
):
    """Such as one of a release that knows no other time than now: it is not checked."""
    (tmp_path / "openssl").write_text("#!/bin/sh\necho 'unknown option -attime' >&2\nexit 1\n")
    (tmp_path / "openssl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome, text = status(stamped, authority)
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
