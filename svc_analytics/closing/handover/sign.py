"""Sign the checkpoints of sealed statements, and of none that is not proven."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from svc_analytics.arguments import AnyPath
from svc_analytics.closing import chain, seals
from svc_analytics.closing.handover.evidence import newest_sealed_folder
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.verification.derived_forms import Sealed, compare_derived, write_again
from svc_analytics.closing.verification.forms import Findings
from svc_analytics.closing.verification.proof import Proof, prove_folder
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError, NotProven, text_of
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.messages import Message, translated
from svc_analytics.proofs import signature
from svc_analytics.proofs.checkpoint import CHAIN, CHAIN_SIGNATURE, FILE, SIGNATURE, checkpoint_text
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.storage import Storage, add_file, merge_into

_NOT_STAMPED = "not stamped: {ERROR}; mend that, and run {command}, or close again"


@dataclass(frozen=True)
class Signature:
    """A signed statement: the file of its signature, its folder and seal, and the key.

    `key` is the fingerprint, as `ssh-keygen -l` prints it. `is_new` is False where the same key
    had signed it before. `notes` say what else is to be known, as that the chain is not signed.

    Examples:
        >>> svc.sign(lake, "2026-10").key  # doctest: +SKIP
        'SHA256:nFQT5eOJ…'
    """

    file: Path
    folder: Path
    seal: str
    key: str
    is_new: bool
    is_stamped: bool = False  # by the authority that the settings name
    note: Message | None = None  # why it is not stamped, though an authority is named
    notes: tuple[Message, ...] = ()


@dataclass(frozen=True)
class SignedMonths:
    """The months of a lake that were signed, and why others were not.

    Examples:
        >>> svc.sign_all(lake).refused  # doctest: +SKIP
        ()
    """

    signed: tuple[Signature, ...]
    refused: tuple[Message, ...]  # one of each month that is not proven
    notes: tuple[Message, ...]


def sign(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    key: AnyPath | None = None,
    reason: str = "",
) -> Signature:
    """Sign the newest sealed version of a month, and the chain, as `ssh-keygen -Y sign` does.

    First the month is proven against the lake, as `svc.verify_statement` does, and the lake must
    continue the chain of seals that this machine remembers (SVC_STATE_DIR); with a `reason`, which
    is kept there, it goes on all the same. `key` is the path of an SSH key, by default that of
    SVC_SIGNING_KEY: a private one, or the public half of one that is in an agent or on a hardware
    key. What the key had signed before stays; the signature of another key is replaced. The chain
    is signed where this key signed all that it lists. Where SVC_TSA_URL names an authority, it
    stamps the month too, and `note` says why not where it cannot.

    Returns:
        The signature: its file, `checkpoint.sig`, and the fingerprint of the key.

    Raises:
        NotProven: where a file of the month is not proven, the lake gives other figures, or the
            lake does not continue what this machine remembers.
        LakeError: where the month is not sealed, or has no checkpoint.
        ConfigError: for a month that does not exist, and where the key does not sign.

    Examples:
        >>> svc.sign(lake, "2026-10", key="~/.ssh/id_ed25519")  # doctest: +SKIP
    """
    check_lake(lake)
    lake.require()
    return sign_folder(newest_sealed_folder(lake, month, zone, calendar), key, lake, reason)


def sign_folder(
    folder: Path, key: AnyPath | None = None, lake: Lake | None = None, reason: str = ""
) -> Signature:
    """Sign a sealed folder that is proven against a lake, by default the one that it lies in."""
    path, manifest = require_key(key), seals.read_manifest(folder)
    if manifest["seal"] and checkpoint_text(manifest) is None:
        raise LakeError(Message("sign.no_checkpoint", folder=folder, file=FILE))
    lake = lake or seals.lake_around(folder.absolute())
    if lake is None:
        raise not_signed(folder, Message("sign.no_lake"))
    chain.keep_chain(lake)
    notes = chain.require_continued(lake, reason=reason)
    done = _sign_proven(lake, folder, manifest, path)
    sign_vouched(lake, {done.seal}, done.key, path)
    if not is_chain_signed(lake):
        notes.append(Message("sign.no_chain", chain=CHAIN))
    return replace(done, notes=tuple(notes))


def sign_all(lake: Lake, *, key: AnyPath | None = None, reason: str = "") -> SignedMonths:
    """Prove each sealed month of a lake that the key has not signed, and sign what nobody signed.

    Each is proven as `svc.sign` does, in its newest version. Then the chain is signed, unless a
    month is not proven.

    Returns:
        The signatures, and of each month that is not proven why it is not signed.

    Raises:
        NotProven: where the lake does not continue what this machine remembers; a `reason` lets it.
        ConfigError: where the key does not sign.

    Examples:
        >>> svc.sign_all(lake, key="~/.ssh/id_ed25519")  # doctest: +SKIP
    """
    check_lake(lake)
    lake.require()
    chain.keep_chain(lake)
    notes, path = chain.require_continued(lake, reason=reason), require_key(key)
    by, signed, refused = signature.fingerprint_of(path), list[Signature](), list[Message]()
    for folder, manifest in newest_versions(lake):
        signer = signer_of(folder, manifest)
        try:
            if signer is None and checkpoint_text(manifest):
                signed.append(_sign_proven(lake, folder, manifest, path))
            elif signer is None or signer != by:
                _require_proven(lake, folder, manifest)
        except NotProven as error:
            refused.append(Message("text.error", error=translated(text_of(error))))
    if not refused:
        sign_chain(lake, path)
    chain.remember(lake, is_signed=not refused)
    return SignedMonths(tuple(signed), tuple(refused), tuple(notes))


@dataclass
class Signer:
    """Signs what a run of `close` seals, and remembers it; where it cannot, it says so once."""

    lake: Lake
    is_wanted: bool
    own: set[str] = field(default_factory=set)  # the seals that this run made
    is_checked: bool = False  # that the lake continues what is remembered
    is_stopped: bool = False
    is_noted: bool = False  # that the chain is not signed

    def sign(self, closed: CloseResult) -> CloseResult:
        """Sign a month that this run sealed; of any other, say that nobody signed it.

        What comes back names the key, or notes why none signed.
        """
        if self.is_stopped or closed.seal is None:
            return closed
        if closed.is_new:
            self.own.add(closed.seal)
        try:
            return self._sign(closed)
        except (ConfigError, LakeError, OSError) as error:
            self.is_stopped = True
            if isinstance(error, NotProven):
                code = "sign.doubted" if self.is_wanted else "text.error"
                return replace(closed, doubt=Message(code, error=translated(text_of(error))))
            code = "sign.not_signed" if self.is_wanted else "sign.not_remembered"
            return closed.with_notes([Message(code, error=translated(text_of(error)))])

    def _sign(self, closed: CloseResult) -> CloseResult:
        notes = []
        if not self.is_checked:
            notes = chain.require_continued(self.lake, self.own, is_signing=self.is_wanted)
        if closed.is_new or not self.is_checked:
            chain.remember(self.lake)
        self.is_checked = True
        closed = closed.with_notes(notes)
        return self._signed(closed) if self.is_wanted else closed

    def _signed(self, closed: CloseResult) -> CloseResult:
        folder, manifest = closed.folder, seals.read_manifest(closed.folder)
        by, notes = signer_of(folder, manifest), list[Message]()
        if closed.is_new:
            content, key = content_of(folder, manifest, closed.seal), require_key()
            by, _ = put_signature(self.lake.storage, folder / SIGNATURE, content, key)
            sign_vouched(self.lake, self.own, by, key)
        elif by is None and checkpoint_text(manifest):
            notes.append(Message("sign.nobody", name=folder.name))
        if not (self.is_noted or is_chain_signed(self.lake)):
            self.is_noted = True
            notes.append(Message("sign.no_chain", chain=CHAIN))
        return replace(closed, signed_by=by).with_notes(notes)


def _sign_proven(lake: Lake, folder: Path, manifest: seals.Manifest, key: Path) -> Signature:
    """Sign and stamp a folder that is proven; the forms beside it tell of both."""
    sealed = _require_proven(lake, folder, manifest)
    content, file = content_of(folder, manifest, manifest["seal"]), folder / SIGNATURE
    by, is_new = put_signature(lake.storage, file, content, key)
    is_stamped, note = Stamper(lake.storage).stamp_folder(folder)
    if sealed:
        write_again(sealed, lake.storage)
    return Signature(file, folder, manifest["seal"], by, is_new, is_stamped, note)


def _require_proven(lake: Lake, folder: Path, manifest: seals.Manifest) -> Sealed | None:
    """Raise `NotProven` unless all of a sealed folder is proven; return what was sealed."""
    folder = folder.absolute()
    broken = seals.faults(folder, manifest) if manifest["seal"] else [Message("seal.none")]
    if not broken and (merchant := manifest["merchant"].get("id")) != lake.merchant_id:
        names = {"merchant": merchant, "other": lake.merchant_id, "place": lake.place}
        broken = [Message("seal.other_lake", **names)]
    proof = Proof(folder, manifest, lake, Findings(broken))
    if not broken:
        proof = prove_folder(folder, manifest, lake)
    for fault in _faults(proof):
        raise not_signed(folder, fault)
    return proof.sealed


def _faults(proof: Proof) -> Iterator[str]:
    """Yield why not all of a sealed folder is proven."""
    derived = compare_derived(proof.sealed) if proof.sealed else Findings()
    findings = Findings.joined([proof.findings, derived])
    yield from (*chain.chain_faults(proof.lake), *findings.broken)
    if count := proof.table.num_rows:
        yield Message("proof.differs", count=count)
    yield from (*findings.unproven, *(each.text for each in proof.unmet))
    for reason in proof.new.reasons if proof.new else ():
        yield Message("proof.today", reason=translated(reason.text))


@dataclass
class Stamper:
    """Has the months of a run stamped; where that fails it says so once, and nothing waits."""

    storage: Storage
    is_stopped: bool = False

    def stamp(self, closed: CloseResult) -> CloseResult:
        """Have a sealed month stamped; what comes back says so, or notes why it is not."""
        if self.is_stopped or closed.seal is None:
            return closed
        is_stamped, note = self.stamp_folder(closed.folder)
        return replace(closed, is_stamped=is_stamped).with_notes([note] if note else [])

    def stamp_folder(self, folder: Path) -> tuple[bool, Message | None]:
        """Have a sealed folder stamped unless it is; tell whether it is now, or why it is not."""
        try:
            return self._stamp(folder), None
        except (ConfigError, LakeError, OSError) as error:
            self.is_stopped = True
            command = f"svc-analytics sign {folder}"
            return False, Message(_NOT_STAMPED, error=translated(text_of(error)), command=command)

    def _stamp(self, folder: Path) -> bool:
        authority = Authority.read()
        if not authority.url or checkpoint_text(seals.read_manifest(folder)) is None:
            return False
        if not has_stamp(folder):
            files = authority.stamp((folder / FILE).read_bytes())
            merge_into(self.storage, partial(self._add, folder, files))
        return True

    def _add(self, folder: Path, files: dict[str, bytes]) -> None:
        for name, content in files.items():  # the reply last: without its query it is torn
            add_file(self.storage, folder / name, content)


# ---------- The signatures of a lake: whose there are on its months and its chain


def require_key(key: AnyPath | None = None) -> Path:
    path = read_signing_key(key)
    if path is None:
        raise ConfigError(Message("sign.no_key"))
    return path


def newest_versions(lake: Lake) -> list[seals.Sealed]:
    """Return the newest sealed version of each period of a lake."""
    newest = seals.newest_versions(seals.all_sealed(lake.path / seals.STATEMENTS))
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


def sign_vouched(lake: Lake, own: Collection[str], by: str, key: Path) -> None:
    """Sign the chain where each of its months was sealed or proven by this run, or by this key.

    What this machine remembers to have signed is so. The chain is then remembered, signed or not.
    """
    known = chain.remember(lake)
    entries = chain.chain_of(lake)["checkpoints"][known.signed if known else 0 :]
    sealed = seals.all_sealed(lake.path / seals.STATEMENTS)
    signed = {manifest["seal"] for folder, manifest in sealed if signer_of(folder, manifest) == by}
    if all(each["seal"] in signed.union(own) for each in entries):
        sign_chain(lake, key)
        chain.remember(lake, is_signed=True)


def is_chain_signed(lake: Lake) -> bool:
    statements = lake.path / seals.STATEMENTS
    if not (statements / CHAIN).is_file():
        return True
    content = (statements / CHAIN).read_bytes()
    return _signer(statements / CHAIN_SIGNATURE, content) is not None


def sign_chain(lake: Lake, key: Path) -> None:
    """Sign the chain of a lake, if it is that of its register and its folders."""
    statements = lake.path / seals.STATEMENTS
    for fault in chain.chain_faults(lake):
        raise not_signed(statements / CHAIN, fault)
    if (statements / CHAIN).is_file():
        content, file = (statements / CHAIN).read_bytes(), statements / CHAIN_SIGNATURE
        put_signature(lake.storage, file, content, key, _replace)


def _replace(storage: Storage, file: Path, content: bytes) -> None:
    with storage.write(file) as temporary:
        temporary.write_bytes(content)
