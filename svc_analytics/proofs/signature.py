"""Signatures by an SSH key: `ssh-keygen` makes them, and gets no more than the path of the key.

It lies in a file, in an agent or on a hardware key.
"""

import base64
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from svc_analytics.errors import ConfigError
from svc_analytics.messages import Message
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE
from svc_analytics.proofs.verify import OURS as NAMESPACE, Result, signing_key

_SILENT = {"SSH_ASKPASS_REQUIRE": "never"}  # no window, where nobody is at a terminal
_PATIENCE = 60  # seconds for an agent or a hardware key, where nobody is at a terminal
# How each key in a file begins: a private one, or the public half of one in an agent.
_KEYS = re.compile(rb"^(?:-----BEGIN [A-Z ]*PRIVATE KEY-----|(?:sk-)?(?:ssh|ecdsa)-\S+ AAAA)", re.M)
_PRIVATE = b"-----BEGIN"  # how the file of a private key begins


def sign(content: bytes, key: Path) -> bytes:
    """Sign with a key: the path of a private one, or of the public half of one in an agent.

    Raises `ConfigError`, with what to do, where the key does not sign.
    """
    if not key.is_file():
        raise ConfigError(Message("sign.no_file", path=key))
    if (count := len(_KEYS.findall(key.read_bytes()))) > 1:  # ssh-keygen would take the first
        raise ConfigError(Message("sign.many_keys", path=key, count=count))
    with TemporaryDirectory() as place:
        path = Path(place) / "content"
        path.write_bytes(content)
        words = ("-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key), str(path))
        done = _ssh_keygen(*words, may_ask=True)
        if done.returncode:
            raise ConfigError(_refusal(key, done.stderr))
        return path.with_name(f"{path.name}.sig").read_bytes()


def signer_of(content: bytes, signature: bytes) -> str | None:
    """Tell the fingerprint of the key that signed a content; None where no key did."""
    try:
        digest = sha256(signing_key(signature, content)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
    except (Result, ValueError):
        return None


def signer_in(folder: Path) -> str | None:
    """Tell the fingerprint of the key that signed a folder's checkpoint; None where none did."""
    names = (folder / FILE, folder / SIGNATURE)
    if not all(path.is_file() for path in names):
        return None
    content, signature = (path.read_bytes() for path in names)
    return signer_of(content, signature)


def fingerprint_of(key: Path) -> str | None:
    """Tell the fingerprint of a key in a file; None where the file does not tell it."""
    words = _ssh_keygen("-l", "-f", str(key)).stdout.decode(errors="replace").split()
    return words[1] if len(words) > 1 else None


def _ssh_keygen(*words: str, may_ask: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen; a person at a terminal sees what it asks, and nobody else is asked."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise ConfigError(Message("sign.no_program"))
    is_asking = may_ask and os.isatty(0) and os.isatty(2)
    try:
        return subprocess.run(  # noqa: S603  (the words are ours, and no shell reads them)
            [program, *words],
            check=False,
            stdin=None if is_asking else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if is_asking else subprocess.PIPE,
            env=None if is_asking else {**os.environ, **_SILENT},
            start_new_session=not is_asking,
            timeout=None if is_asking else _PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(Message("sign.late", seconds=_PATIENCE)) from error


def _refusal(key: Path, reason: bytes | None) -> Message:
    """Say why a key did not sign, and what to do."""
    with key.open("rb") as file:
        is_private = file.read(len(_PRIVATE)) == _PRIVATE
    if is_private:  # the passphrase that nobody gave would begin the line of the reason
        reason = _ssh_keygen("-y", "-P", "", "-f", str(key)).stderr or reason
    lines = (reason or b"").decode(errors="replace").strip().splitlines() or ["it says why above"]
    return Message("sign.refused", path=key, reason=lines[-1].strip())
