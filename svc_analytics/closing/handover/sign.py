"""Sign the checkpoint of a sealed statement; no sealed file changes."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from svc_analytics.closing import seals
from svc_analytics.closing.handover.package import newest_sealed_folder
from svc_analytics.closing.handover.stamps import Stamper
from svc_analytics.closing.register import lake_around
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.sealing import chain_faults, keep_chain
from svc_analytics.closing.verification.derived_forms import write_again
from svc_analytics.closing.verification.proof import prove
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError, text_of
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.messages import Message
from svc_analytics.proofs import chain, signature, verify
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE, checkpoint_text
from svc_analytics.proofs.statuses import FAILED
from svc_analytics.storage import LocalStorage, Storage, add_file, merge_into

_LEFT_OVER = (
    "{signature} is not of {chain}: a bucket that refuses DELETE keeps that of a shorter chain; "
    "run svc-analytics sign"
)
_NOT_SIGNED = (
    "not signed: {ERROR}; mend that, and close with --sign again, or run svc-analytics sign"
)


@dataclass(frozen=True)
class Signature:
    """A signed statement: the file of its signature, its folder and seal, and the key.

    `key` is the fingerprint, as `ssh-keygen -l` prints it. `is_new` is False where the same key
    had signed it before.

    Examples:
        >>> svc.sign(lake, "2026-10").key  # doctest: +SKIP
        'SHA256:nFQT5eOJ…'
    """

    file: Path
    folder: Path
    seal: str
    key: str
    is_new: bool
    unproven: tuple[Message, ...] = ()  # what of the folder could not be compared with anything
    is_stamped: bool = False  # by the authority that the settings name
    note: Message | None = None  # why it is not stamped, though an authority is named


def sign(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    key: str | os.PathLike[str] | None = None,
) -> Signature:
    """Sign the newest sealed version of a month, and the chain, as `ssh-keygen -Y sign` does.

    `key` is the path of an SSH key, by default that of SVC_SIGNING_KEY: a private one, or the
    public half of one that is in an agent or on a hardware key. What the key had signed before
    stays; the signature of another key is replaced. Where SVC_TSA_URL names an authority, it
    stamps the month too, and `note` says why not where it cannot.

    Returns:
        The signature: its file, `checkpoint.sig`, and the fingerprint of the key.

    Raises:
        LakeError: where the month is not sealed, was altered since, or has no checkpoint.
        ConfigError: for a month that does not exist, and where the key does not sign.

    Examples:
        >>> svc.sign(lake, "2026-10", key="~/.ssh/id_ed25519")  # doctest: +SKIP
    """
    check_lake(lake)
    lake.require()
    return sign_folder(newest_sealed_folder(lake, month, zone, calendar), key, lake)


def sign_folder(
    folder: Path, key: str | os.PathLike[str] | None = None, lake: Lake | None = None
) -> Signature:
    """Sign a sealed folder; refuse one that does not fit its seal, its tables or its lake."""
    path = _require_key(key)
    manifest = seals.read_manifest(folder)
    content = _content(folder, manifest)
    lake = lake or lake_around(folder.absolute())
    proof = prove(folder, manifest, lake)
    _require(folder, proof.broken)
    storage = lake.storage if lake else LocalStorage(folder.parent)
    file = folder / SIGNATURE
    by, is_new = _signed(storage, file, content, path)
    if lake and folder.absolute().parent == (lake.path / seals.STATEMENTS).absolute():
        keep_chain(lake)
        _sign_chain(lake, path)
    is_stamped, note = Stamper(storage).stamp_folder(folder)
    if proof.sealed:
        write_again(proof.sealed, storage)
    done = Signature(file, folder, manifest["seal"], by, is_new, tuple(proof.unproven))
    return replace(done, is_stamped=is_stamped, note=note)


@dataclass
class Signer:
    """Signs the months of a run of `close`; where it cannot, it says so once, and seals on."""

    lake: Lake
    is_wanted: bool
    is_stopped: bool = False
    is_told: bool = False  # what is left over

    def sign(self, closed: CloseResult) -> CloseResult:
        """Sign a month that was closed; what comes back names the key, or notes why none signed."""
        return self._sign(closed).with_notes(self._left_over() if closed.seal else [])

    def _sign(self, closed: CloseResult) -> CloseResult:
        if not self.is_wanted or self.is_stopped or closed.seal is None:
            return closed
        try:
            return replace(closed, signed_by=self._key(closed.folder))
        except (ConfigError, LakeError, OSError) as error:
            self.is_stopped = True
            return closed.with_notes([Message(_NOT_SIGNED, ERROR=text_of(error))])

    def _left_over(self) -> list[Message]:
        """Say once that the signature of a shorter chain is still there."""
        statements = self.lake.path / seals.STATEMENTS
        outcome, *_ = verify.outcome(verify.check_signed, statements, chain.FILE, None)
        if self.is_told or outcome != FAILED:
            return []
        self.is_told = True
        return [Message(_LEFT_OVER, signature=chain.SIGNATURE, chain=chain.FILE)]

    def _key(self, folder: Path) -> str | None:
        """Sign a folder that this run has proven, unless somebody did; tell whose key it is."""
        manifest = seals.read_manifest(folder)
        if checkpoint_text(manifest) is None:  # an earlier release sealed it
            return None
        content, file = _content(folder, manifest), folder / SIGNATURE
        by = _signer(file, content)
        if by is None:
            by, _ = _signed(self.lake.storage, file, content, _require_key())
        if not _is_chain_signed(self.lake):
            _sign_chain(self.lake, _require_key())
        return by


def _require_key(key: str | os.PathLike[str] | None = None) -> Path:
    path = read_signing_key(key)
    if path is None:
        raise ConfigError(Message("sign.no_key"))
    return path


def _content(folder: Path, manifest: seals.Manifest) -> bytes:
    """Return the checkpoint of a folder that fits its seal."""
    _require(folder, seals.seal_violations(folder, manifest))
    if checkpoint_text(manifest) is None:
        raise LakeError(Message("sign.no_checkpoint", folder=folder, file=FILE))
    return (folder / FILE).read_bytes()


def _require(folder: Path, broken: list[Message]) -> None:
    if broken:
        raise LakeError(Message("seal.not_signed", folder=folder, FAULT=broken[0]))


def _signer(file: Path, content: bytes) -> str | None:
    """Tell which key signed a content; None where nobody did, or signed another text."""
    return signature.signer_of(content, file.read_bytes()) if file.is_file() else None


def _signed(
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


def _is_chain_signed(lake: Lake) -> bool:
    statements = lake.path / seals.STATEMENTS
    if not (statements / chain.FILE).is_file():
        return True
    content = (statements / chain.FILE).read_bytes()
    return _signer(statements / chain.SIGNATURE, content) is not None


def _sign_chain(lake: Lake, key: Path) -> None:
    """Sign the chain of a lake, if it is that of its register and its folders."""
    statements = lake.path / seals.STATEMENTS
    _require(statements / chain.FILE, chain_faults(lake))
    content, file = (statements / chain.FILE).read_bytes(), statements / chain.SIGNATURE
    _signed(lake.storage, file, content, key, _replace)


def _replace(storage: Storage, file: Path, content: bytes) -> None:
    with storage.write(file) as temporary:
        temporary.write_bytes(content)
