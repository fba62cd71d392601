"""Who signs and stamps for tests: SSH keys, and an authority by RFC 3161, made by openssl.

Offline, and trusted by tests alone. Where a program is missing, its tests are skipped.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.proofs import verify
from svc_analytics.proofs.signature import NAMESPACE
from tests.support import loopback
from tests.support.loopback import Web


def make_key(folder: Path, name: str, passphrase: str = "", *, key_type: str = "ed25519") -> Path:
    """Make a key; return the path of its private half."""
    if not shutil.which("ssh-keygen") and os.environ.get("SVC_REQUIRE_SSH") != "1":
        pytest.skip("ssh-keygen is not installed")
    key = folder / name
    words = ["ssh-keygen", "-q", "-t", key_type, "-N", passphrase, "-C", name, "-f", str(key)]
    subprocess.run(words, check=True)
    return key


def is_signed_by(key: Path, signature: Path, content: Path) -> bool:
    """Whether ssh-keygen finds a signature good, for a reader who knows this key alone."""
    signers = key.with_name("signers")
    signers.write_text(f"mina@shop.example {key.with_suffix('.pub').read_text()}")
    words = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "mina@shop.example"]
    words += ["-n", NAMESPACE, "-s", str(signature)]
    with content.open("rb") as file:
        return subprocess.run(words, stdin=file, check=False).returncode == 0


_CONFIG = """
[req]
distinguished_name = dn
x509_extensions = certificate
prompt = no
[dn]
CN = {name}
[certificate]
extendedKeyUsage = critical,timeStamping
keyUsage = critical,digitalSignature
[ca]
default_ca = briefly
[briefly]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = anybody
x509_extensions = certificate
[anybody]
commonName = supplied
[stamps]
serial = {place}/serial
default_policy = 1.2.3.4
digests = sha256
signer_digest = sha256
ess_cert_id_alg = sha256
"""


class StampAuthority:
    """Replies to queries; `certificate` is what a reader who trusts it brings.

    It is good for ten years, or until an instant. Where openssl is missing, its tests are skipped.
    """

    def __init__(self, place: Path, name: str, until: datetime | None = None) -> None:
        if not shutil.which("openssl"):
            pytest.skip("openssl is not installed")
        self.place, self.certificate = place / name, place / name / "certificate.pem"
        self.place.mkdir()
        (self.place / "serial").write_text("01")
        config = _CONFIG.format(name=name, place=self.place)
        (self.place / "openssl.cnf").write_text(config)
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        files = ("-keyout", "key.pem", "-out", "certificate.pem")
        config_file = ("-config", "openssl.cnf")
        self._run("req", "-x509", *curve, *files, "-days", "3650", *config_file)
        if until:
            self._run("req", "-new", "-key", "key.pem", "-out", "request", *config_file)
            (self.place / "index.txt").write_text("")
            end = ("-enddate", f"{until:%Y%m%d%H%M%SZ}", "-in", "request", "-keyfile", "key.pem")
            words = ("-selfsign", "-batch", "-notext", "-out", "certificate.pem")
            self._run("ca", *words, *end, *config_file)

    def reply(self, query: bytes) -> bytes:
        (self.place / "query").write_bytes(query)
        signed = ("-inkey", "key.pem", "-signer", "certificate.pem")
        config = ("-config", "openssl.cnf", "-section", "stamps")
        self._run("ts", "-reply", "-queryfile", "query", *signed, *config, "-out", "reply")
        return (self.place / "reply").read_bytes()

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.place, check=True, capture_output=True)


class Counter:
    """What a server answers next: a code, and a reply that may be made of the query."""

    def __init__(self, authority: StampAuthority) -> None:
        self.authority, self.url = authority, ""
        self.answer: tuple[int, bytes | None] = (200, None)
        self.asked: list[dict[str, Any]] = []


@contextmanager
def serving(authority: StampAuthority) -> Iterator[Counter]:
    """Serve an authority on a free port of loopback."""
    counter = Counter(authority)

    class Handler(Web):
        def post(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            counter.asked.append({"type": self.headers["Content-Type"], "query": query})
            code, reply = counter.answer
            content = authority.reply(query) if reply is None else reply
            self.answer(code, content)

    with loopback.serving(Handler) as port:
        counter.url = f"http://127.0.0.1:{port}/tsr"
        yield counter


def stamp_status(folder: Path, authority: StampAuthority | None) -> tuple[str, str]:
    """What verify.py says of the stamp in a folder to who trusts this authority, or none."""
    trusted = None if authority is None else str(authority.certificate)
    outcome, text, _ = verify.outcome(verify.check_stamp, folder, trusted)
    return outcome, text
