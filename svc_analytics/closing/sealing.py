"""Seal a folder that is written: its tree of lines, its seal, its checkpoint, the lake's chain.

In this order, and before the folder is moved into place: a run that is killed in between leaves
a line too many in the register and in the chain, and never a sealed folder that they do not know.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from svc_analytics.closing.seals import (
    STATEMENTS,
    Manifest,
    Register,
    Row,
    all_sealed,
    read_register,
    register_seal,
    seal_of,
)
from svc_analytics.errors import LakeError, StoreError, StoreUnavailable, text_of
from svc_analytics.lake.lake import Lake
from svc_analytics.log import LOG
from svc_analytics.messages import Message, translated
from svc_analytics.proofs import chain
from svc_analytics.proofs.checkpoint import tree_of, write_checkpoint
from svc_analytics.proofs.lines import require_secret
from svc_analytics.proofs.verify import Result, read_chain
from svc_analytics.storage import merge_into

_NAMES = ("seal", "label", "calendar", "zone", "version")  # of an entry, as in the register


def seal_folder(lake: Lake, folder: Path, manifest: Manifest) -> str:
    """Return the seal of a folder, which the lake's register and its chain then know.

    The manifest gains its tree, which the seal covers, and the folder its checkpoint.
    """
    manifest["tree"] = tree_of(folder, manifest, require_secret(lake.storage), lake.storage)
    seal = seal_of(manifest)
    keep_chain(lake)  # refuses one that was altered, before the register has the seal
    register_seal(lake.storage, manifest, seal)
    write_checkpoint(folder, manifest | {"seal": seal})
    keep_chain(lake, manifest | {"seal": seal})
    return seal


def keep_chain(lake: Lake, new: Manifest | None = None) -> None:
    """Write the seals of the register that the chain lacks; `new` is not in its place yet.

    A signature of the shorter chain is removed, where that may be: it is of another text. Raises
    `LakeError` for a chain that is not the register's.
    """
    merge_into(lake.storage, partial(_keep_chain, lake, new))


def _keep_chain(lake: Lake, new: Manifest | None) -> None:
    statements = lake.path / STATEMENTS
    register = read_register(statements)
    known = read_known(statements, register)
    own = {new["seal"]: chain.digest_of(new)} if new else {}
    listed = known["checkpoints"] if known else []
    # Another machine may have listed a month while its folder was not in its place.
    entries = [each | {"checkpoint": own.get(each["seal"], each["checkpoint"])} for each in listed]
    if rows := register.rows[len(listed) :]:
        digests = {each["seal"]: chain.digest_of(each) for _, each in all_sealed(statements)} | own
        entries += [_entry(row, digests) for row in rows]
    if entries == listed:
        return
    try:
        lake.storage.remove(statements / chain.SIGNATURE)
    except StoreUnavailable:
        raise
    except StoreError:  # of a bucket where nothing may be deleted: no reason to stop behind a seal
        LOG.warning("%s could not be removed: it is of a shorter chain", chain.SIGNATURE)
    with lake.storage.write(statements / chain.FILE) as temporary:
        text = chain.chain_text(lake.merchant_id, entries, known)
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _entry(row: Row, digests: Mapping[str, str | None]) -> chain.Entry:
    facts = dict(zip(_NAMES, row, strict=True))
    return facts | {"version": int(facts["version"]), "checkpoint": digests.get(facts["seal"])}


def read_known(statements: Path, register: Register) -> chain.Chain | None:
    """Read the chain of a lake; None where it has none.

    Raises `LakeError` for one that does not begin as the register does.
    """
    path = statements / chain.FILE
    if not path.exists():
        return None
    try:
        known = read_chain(path.read_bytes())
        chain.require_beginning(known)
        rows = [tuple(str(each[name]) for name in _NAMES) for each in known["checkpoints"]]
    except (Result, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise LakeError(Message("seal.chain_altered", path=path)) from error
    if rows != [*register.rows[: len(rows)]]:
        raise LakeError(Message("seal.chain_differs", path=path))
    return known


def chain_faults(lake: Lake | None) -> list[Message]:
    """List where the chain of a lake is not that of its register and its sealed folders.

    One that lacks the newest seals is none: the next close lists them.
    """
    statements = lake.path / STATEMENTS if lake else None
    register = read_register(statements) if statements else Register()
    if statements is None or not register.rows:
        return []
    try:
        known = read_known(statements, register) or {"checkpoints": []}
    except LakeError as error:
        return [Message("text.error", error=translated(text_of(error)))]
    listed = {each["seal"]: each["checkpoint"] for each in known["checkpoints"]}
    return [
        Message("seal.chain_of_other", chain=chain.FILE, label=one["label"])
        for _, one in all_sealed(statements)
        if one["seal"] in listed
        and one["seal"] == seal_of(one)
        and listed[one["seal"]] != chain.digest_of(one)
    ]
