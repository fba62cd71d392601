"""SSH keys for tests, made by ssh-keygen: where it is missing, their tests are skipped."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from svc_analytics.proofs.signature import NAMESPACE


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
