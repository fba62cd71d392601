"""The chain of seals: how a folder joins that of its lake, and what this machine remembers of it.

A folder that is written gets its tree of lines, its seal, its line in the register and in the
chain, and its checkpoint, in this order, and before it is moved into place: a run that is killed in
between leaves a line too many in the register and in the chain, and never a sealed folder that they
do not know.

The chain is one small file that lists all months a lake sealed, in their order. A reader who keeps
it sees later that no month was taken out, put in before, or sealed anew: each later chain begins
with it. Its tree lets them prove that by its root and size alone. A leaf of the tree is all that an
entry says; in earlier releases it was its checkpoint alone, and a chain gets another tree when it
grows.

The memory of this machine lies outside of the lakes: of each the newest chain that it signed or
saw. Whoever may write a lake may put another in its place, in which every proof fits; but its chain
does not begin with the one that is remembered.
"""

import getpass
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics import files
from svc_analytics.closing import seals
from svc_analytics.errors import (
    ConfigError,
    LakeError,
    NotProven,
    StoreError,
    StoreUnavailable,
    text_of,
)
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.log import LOG
from svc_analytics.messages import Message, translated
from svc_analytics.proofs import checkpoint
from svc_analytics.proofs.tree import consistency, is_consistent, require_secret, root_of
from svc_analytics.proofs.verify import Result, begins, chain_leaf, read_chain
from svc_analytics.storage import merge_into

Entry = dict[str, Any]
Chain = dict[str, Any]
MEMORY = "chains.json"
_FORMAT = 1
_EMPTY: Chain = {"size": 0, "root": sha256(b"").hexdigest(), "checkpoints": []}
_MONTH = ("label", "calendar", "zone", "version")


def digest_of(manifest: dict[str, Any]) -> str | None:
    """Hash the checkpoint of a sealed manifest; None where an earlier release sealed it."""
    text = checkpoint.checkpoint_text(manifest)
    return None if text is None else sha256(text.encode()).hexdigest()


def require_beginning(known: Chain) -> None:
    """Raise `ValueError` where a chain does not prove that it begins with the one before."""
    if (earlier := known["earlier"]) is not None:
        before, all_of_it = ((one["size"], bytes.fromhex(one["root"])) for one in (earlier, known))
        if not is_consistent(before, all_of_it, [*map(bytes.fromhex, earlier["proof"])]):
            raise ValueError("its proof of consistency does not hold")


def chain_text(merchant_id: object, entries: Sequence[Entry], before: Chain | None) -> str:
    """Write the chain of these checkpoints, which proves that it begins with the one before."""
    leaves, size = [chain_leaf(each) for each in entries], before["size"] if before else 0
    earlier = None
    if before and list(entries[:size]) == before["checkpoints"]:
        proof = [each.hex() for each in consistency(leaves, size)]
        earlier = {"size": size, "root": root_of(leaves[:size]).hex(), "proof": proof}
    chain = {
        "origin": f"svc-analytics/{merchant_id}/chain",
        "size": len(entries),
        "root": root_of(leaves).hex(),
        "checkpoints": list(entries),
        "earlier": earlier,
    }
    return json.dumps(chain, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def seal_folder(lake: Lake, folder: Path, manifest: seals.Manifest) -> str:
    """Return the seal of a folder, which the lake's register and its chain then know.

    The manifest gains its tree, which the seal covers, and the folder its checkpoint.
    """
    secret = require_secret(lake.storage)
    manifest["tree"] = checkpoint.tree_of(folder, manifest, secret, lake.storage)
    seal = seals.seal_of(manifest)
    keep_chain(lake)  # refuses one that was altered, before the register has the seal
    seals.register_seal(lake.storage, manifest, seal)
    checkpoint.write_checkpoint(folder, manifest | {"seal": seal})
    keep_chain(lake, manifest | {"seal": seal})
    return seal


def keep_chain(lake: Lake, new: seals.Manifest | None = None) -> None:
    """Write the seals of the register that the chain lacks; `new` is not in its place yet.

    A signature of the shorter chain is removed, where that may be: it is of another text. Raises
    `LakeError` for a chain that is not the register's.
    """
    merge_into(lake.storage, partial(_keep_chain, lake, new))


def _keep_chain(lake: Lake, new: seals.Manifest | None) -> None:
    statements = lake.path / seals.STATEMENTS
    register = seals.read_register(statements)
    known = read_known(statements, register)
    own = {new["seal"]: digest_of(new)} if new else {}
    listed = known["checkpoints"] if known else []
    # Another machine may have listed a month while its folder was not in its place.
    entries = [each | {"checkpoint": own.get(each["seal"], each["checkpoint"])} for each in listed]
    if rows := register.rows[len(listed) :]:
        digests = {each["seal"]: digest_of(each) for _, each in seals.all_sealed(statements)} | own
        entries += [_entry(row, digests) for row in rows]
    if entries == listed:
        return
    try:
        lake.storage.remove(statements / checkpoint.CHAIN_SIGNATURE)
    except StoreUnavailable:
        raise
    except StoreError:  # of a bucket where nothing may be deleted: no reason to stop behind a seal
        LOG.warning("%s could not be removed: it is of a shorter chain", checkpoint.CHAIN_SIGNATURE)
    with lake.storage.write(statements / checkpoint.CHAIN) as temporary:
        text = chain_text(lake.merchant_id, entries, known)
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _entry(row: seals.Row, digests: Mapping[str, str | None]) -> Entry:
    facts = dict(zip(seals.COLUMNS, row, strict=True))
    return facts | {"version": int(facts["version"]), "checkpoint": digests.get(facts["seal"])}


def read_known(statements: Path, register: seals.Register) -> Chain | None:
    """Read the chain of a lake; None where it has none.

    Raises `LakeError` for one that does not begin as the register does.
    """
    path = statements / checkpoint.CHAIN
    if not path.exists():
        return None
    try:
        known = read_chain(path.read_bytes())
        require_beginning(known)
        rows = [tuple(str(each[name]) for name in seals.COLUMNS) for each in known["checkpoints"]]
    except (Result, *files.UNREADABLE) as error:
        raise LakeError(Message("seal.chain_altered", path=path)) from error
    if rows != [*register.rows[: len(rows)]]:
        raise LakeError(Message("seal.chain_differs", path=path))
    return known


def chain_faults(lake: Lake | None) -> list[Message]:
    """List where the chain of a lake is not that of its register and its sealed folders.

    One that lacks the newest seals is none: the next close lists them.
    """
    statements = lake.path / seals.STATEMENTS if lake else None
    register = seals.read_register(statements) if statements else seals.Register()
    if statements is None or not register.rows:
        return []
    try:
        known = read_known(statements, register) or {"checkpoints": []}
    except LakeError as error:
        return [Message("text.error", error=translated(text_of(error)))]
    listed = {each["seal"]: each["checkpoint"] for each in known["checkpoints"]}
    return [
        Message("seal.chain_of_other", chain=checkpoint.CHAIN, label=one["label"])
        for _, one in seals.all_sealed(statements)
        if one["seal"] in listed
        and one["seal"] == seals.seal_of(one)
        and listed[one["seal"]] != digest_of(one)
    ]


@dataclass(frozen=True)
class Remembered:
    """A chain of seals that this machine remembers."""

    merchant: str
    places: list[str]  # the addresses of the lakes that it was seen in, of which one may be a copy
    chain: Chain  # its size, its root and its checkpoints
    at: str  # when it was seen
    signed: int = 0  # how many of its checkpoints are under a signature that was made here
    went_on: Sequence[dict[str, Any]] = ()  # where a person went on with another lake, and why

    @property
    def sentence(self) -> Message:
        """The same in words."""
        is_signed = self.signed == self.chain["size"]
        how = Message("memory.signed" if is_signed else "memory.seen")
        return Message(
            "memory.chain", chain=translated(_words(self.chain)), how=translated(how), at=self.at
        )


def require_continued(
    lake: Lake, own: Collection[str] = (), reason: str = "", *, is_signing: bool = True
) -> list[Message]:
    """Refuse a lake that does not continue the chain that is remembered of it.

    `own` are the seals that this run made. Where a person gives a `reason`, it goes on with what is
    there, and the reason is kept. Where nothing is to be signed, and nothing of the merchant ever
    was, a lake at a new address is a lake of its own.

    Returns:
        What is to be told: that this is the first time on this machine, or why it goes on.

    Raises:
        NotProven: where the lake does not continue what is remembered, or that is damaged.
        ConfigError: where the folder of the memory cannot be written.
    """
    with _held(lake) as (file, chains):
        chain = chain_of(lake)
        known = _find(chains, lake, chain)
        if known is None:
            return [
                Message("memory.first", chain=translated(_words(chain)), file=file)
            ] * is_signing
        fault = _fault(lake, chain, known, own)
        if fault is None or not (is_signing or known.signed or lake.place in known.places):
            return []
        if not reason.strip():
            raise NotProven(Message("memory.refused", fault=translated(fault), file=file))
        chains.remove(known)
        elsewhere = [each for each in known.places if each != lake.place]
        by, at = _person(), format_instant(now())
        step = {"reason": reason, "by": by, "at": at, "instead_of": known.sentence}
        steps = (*known.went_on, step)
        new = Remembered(lake.merchant_id, [lake.place], _facts(chain), at, 0, steps)
        chains += [replace(known, places=elsewhere), new]
        return [Message("memory.went_on", fault=translated(fault), reason=reason, by=by)]


def remember(lake: Lake, *, is_signed: bool = False) -> Remembered | None:
    """Remember the chain of a lake as it is now, unless it does not continue what is remembered.

    Returns what is remembered of the lake then; None where it is not this chain.
    """
    with _held(lake) as (_, chains):
        chain = chain_of(lake)
        known = _find(chains, lake, chain)
        if known and not begins(chain, known.chain):
            return None
        new = known or Remembered(lake.merchant_id, [], _EMPTY, "")
        places = [*dict.fromkeys([*new.places, lake.place])]
        signed = chain["size"] if is_signed else new.signed
        new = replace(new, places=places, chain=_facts(chain), signed=signed)
        if new != known:
            new = replace(new, at=format_instant(now()))
            chains[:] = [*(each for each in chains if each is not known), new]
        return new


def chain_of(lake: Lake) -> Chain:
    """Return the chain of a lake; an empty one where it has none."""
    statements = lake.path / seals.STATEMENTS
    return read_known(statements, seals.read_register(statements)) or _EMPTY


def _find(chains: Sequence[Remembered], lake: Lake, chain: Chain) -> Remembered | None:
    """Find the chain that is remembered of a lake: of its address, else of its merchant.

    A lake that was moved, or restored elsewhere, is the longest one that it continues.
    """
    here = [each for each in chains if lake.place in each.places]
    own = here or [each for each in chains if each.merchant == lake.merchant_id]
    continued = [each for each in own if begins(chain, each.chain)]
    if continued:
        return max(continued, key=lambda each: int(each.chain["size"]))
    return max(own, key=lambda each: each.at, default=None)


def _fault(lake: Lake, chain: Chain, known: Remembered, own: Collection[str]) -> Message | None:
    """Say how a lake does not continue what is remembered; None where it does."""
    if known.merchant != lake.merchant_id or not begins(chain, known.chain):
        facts = {
            "place": lake.place,
            "known": translated(known.sentence),
            "chain": translated(_words(chain)),
        }
        return Message("memory.other_chain", **facts)
    remembered: dict[tuple[object, ...], list[str]] = {}
    for each in known.chain["checkpoints"]:
        remembered.setdefault(_month(each), []).append(each["seal"])
    for folder, manifest in seals.all_sealed(lake.path / seals.STATEMENTS):
        before, seal = remembered.get(_month(manifest), []), manifest["seal"]
        if before and seal not in (*before, *own):
            facts = {"remembered": before[-1], "known": translated(known.sentence)}
            return Message("memory.other_seal", folder=folder, seal=seal, **facts)
    return None


def _month(facts: dict[str, Any]) -> tuple[object, ...]:
    return tuple(facts[name] for name in _MONTH)


def _words(chain: Chain) -> Message:
    newest = chain["checkpoints"][-1]["label"] if chain["checkpoints"] else "-"
    return Message("memory.size", size=chain["size"], newest=newest, root=chain["root"])


def _facts(chain: Chain) -> Chain:
    return {name: chain[name] for name in _EMPTY}


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user whose number has no name
        return "?"


@contextmanager
def _held(lake: Lake) -> Iterator[tuple[Path, list[Remembered]]]:
    """Hold what is remembered against other processes; what the list is then is written.

    A lake is read behind it, so it is never older than what is remembered of it.
    """
    folder = _folder(lake)
    try:
        files.make_folder(folder, 0o700)
        with files.locked(folder / ".lock", Message("busy.remembering", folder=folder)):
            chains = _read(folder / MEMORY)
            before = [*chains]
            yield folder / MEMORY, chains
            if chains != before:
                facts = json.loads(json.dumps([asdict(each) for each in chains]))
                document = {"format": _FORMAT, "chains": facts, "check": _check(facts)}
                files.write_json(files.atomic_write(folder / MEMORY), document)
    except OSError as error:
        raise ConfigError(Message("memory.no_folder", reason=text_of(error))) from error


def _folder(lake: Lake) -> Path:
    try:
        folder = files.state_folder()
    except RuntimeError as error:  # there is no home
        raise ConfigError(Message("memory.no_folder", reason=text_of(error))) from error
    if folder.resolve().is_relative_to(lake.path.resolve()):
        raise ConfigError(Message("memory.in_lake", folder=folder))
    return folder


def _read(file: Path) -> list[Remembered]:
    if not file.exists():
        return []
    content = file.read_bytes()
    try:
        document = json.loads(content)
        if document["format"] > _FORMAT:
            raise NotProven(Message("memory.newer", file=file))
        facts = document["chains"]
        if document["check"] == _check(facts):
            return [Remembered(**each) for each in facts]
    except files.UNREADABLE:
        pass
    raise NotProven(Message("memory.damaged", file=file))


def _check(facts: object) -> str:
    """Hash what is remembered, so that a flipped bit is not taken for another lake."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
