"""Signatures of a lake: whose there are on its months and its chain, and how one is put there."""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

from svc_analytics.closing import memory, seals
from svc_analytics.closing.sealing import chain_faults
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, NotProven
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.proofs import chain, signature
from svc_analytics.proofs.checkpoint import SIGNATURE, checkpoint_text
from svc_analytics.storage import Storage, add_file, merge_into


def require_key(key: str | os.PathLike[str] | None = None) -> Path:
    path = read_signing_key(key)
    if path is None:
        raise ConfigError(Message("sign.no_key"))
    return path


def newest_versions(lake: Lake) -> list[seals.Sealed]:
    """Return the newest sealed version of each period of a lake."""
    every = sorted(
        seals.all_sealed(lake.path / seals.STATEMENTS), key=lambda one: one[1]["version"]
    )
    newest = {seals.period_key(manifest): (folder, manifest) for folder, manifest in every}
    return sorted(newest.values(), key=lambda one: one[0])


def not_signed(folder: Path, fault: str) -> NotProven:
    return NotProven(Message("seal.not_signed", folder=folder, fault=translated(fault)))


def content_of(folder: Path, manifest: seals.Manifest, seal: str | None) -> bytes:
    """Return the checkpoint of a folder that still is what was sealed, or proven."""
    for fault in seals.seal_violations(folder, manifest):
        raise not_signed(folder, fault)
    if manifest["seal"] != seal:
        raise not_signed(folder, Message("seal.differs", name="manifest.json"))
    return (checkpoint_text(manifest) or "").encode()


def signer_of(folder: Path, manifest: seals.Manifest) -> str | None:
    """Tell which key signed the checkpoint of a manifest; None where nobody did."""
    return _signer(folder / SIGNATURE, (checkpoint_text(manifest) or "").encode())


def _signer(file: Path, content: bytes) -> str | None:
    """Tell which key signed a content; None where nobody did, or signed another text."""
    return signature.signer_of(content, file.read_bytes()) if file.is_file() else None


def unsigned_months(lake: Lake) -> list[str]:
    """Return the labels of sealed months that nobody signed; [] where no month is signed at all.

    Where SVC_SIGNING_KEY names a key, months are to be signed.
    """
    signers = {
        manifest["label"]: signer_of(folder, manifest)
        for folder, manifest in newest_versions(lake)
        if checkpoint_text(manifest)
    }
    is_used = any(signers.values())
    with suppress(ConfigError):
        is_used = is_used or read_signing_key() is not None
    return [label for label, signer in signers.items() if signer is None] if is_used else []


def put_signature(
    storage: Storage,
    file: Path,
    content: bytes,
    key: Path,
    put: Callable[[Storage, Path, bytes], None] = add_file,
) -> tuple[str, bool]:
    """Return the key that signed a content, and whether it did so now, and not before."""
    by = _signer(file, content)
    if by is not None and by == signature.fingerprint_of(key):
        return by, False
    signed = signature.sign(content, key)
    merge_into(storage, partial(put, storage, file, signed))
    return str(signature.signer_of(content, signed)), True


def is_vouched(lake: Lake, own: Collection[str], known: memory.Remembered | None, key: str) -> bool:
    """Whether each month of a chain was sealed or proven by this run, or signed by its key.

    What this machine remembers to have signed is so.
    """
    entries = memory.chain_of(lake)["checkpoints"][known.signed if known else 0 :]
    sealed = seals.all_sealed(lake.path / seals.STATEMENTS)
    signed = {manifest["seal"] for folder, manifest in sealed if signer_of(folder, manifest) == key}
    return all(each["seal"] in signed.union(own) for each in entries)


def is_chain_signed(lake: Lake) -> bool:
    statements = lake.path / seals.STATEMENTS
    if not (statements / chain.FILE).is_file():
        return True
    content = (statements / chain.FILE).read_bytes()
    return _signer(statements / chain.SIGNATURE, content) is not None


def sign_chain(lake: Lake, key: Path) -> None:
    """Sign the chain of a lake, if it is that of its register and its folders."""
    statements = lake.path / seals.STATEMENTS
    for fault in chain_faults(lake):
        raise not_signed(statements / chain.FILE, fault)
    if (statements / chain.FILE).is_file():
        content, file = (statements / chain.FILE).read_bytes(), statements / chain.SIGNATURE
        put_signature(lake.storage, file, content, key, _replace)


def _replace(storage: Storage, file: Path, content: bytes) -> None:
    with storage.write(file) as temporary:
        temporary.write_bytes(content)
