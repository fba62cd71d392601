"""The memory of this machine: of each lake the newest chain of seals that it signed or saw.

It lies outside of the lakes. Whoever may write a lake may put another in its place, in which every
proof fits; but its chain does not begin with the one that is remembered here.
"""

import getpass
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics.closing.sealing import read_known
from svc_analytics.closing.seals import STATEMENTS, all_sealed, read_register
from svc_analytics.errors import ConfigError, NotProven, text_of
from svc_analytics.files import atomic_write, locked, make_folder, state_folder, write_json
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.proofs.chain import Chain
from svc_analytics.proofs.verify import begins

FILE = "chains.json"
_FORMAT = 1
_EMPTY: Chain = {"size": 0, "root": sha256(b"").hexdigest(), "checkpoints": []}
_MONTH = ("label", "calendar", "zone", "version")


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
        return Message("memory.chain", chain=_words(self.chain), how=translated(how), at=self.at)


def check(
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
            return [Message("memory.first", chain=_words(chain), file=file)] * is_signing
        fault = _fault(lake, chain, known, own)
        if fault is None or not (is_signing or known.signed or lake.place in known.places):
            return []
        if not reason.strip():
            raise NotProven(Message("memory.refused", fault=fault, file=file))
        chains.remove(known)
        elsewhere = [each for each in known.places if each != lake.place]
        by, at = _person(), format_instant(now())
        step = {"reason": reason, "by": by, "at": at, "instead_of": known.sentence}
        steps = (*known.went_on, step)
        new = Remembered(lake.merchant_id, [lake.place], _facts(chain), at, 0, steps)
        chains += [replace(known, places=elsewhere), new]
        return [Message("memory.went_on", fault=fault, reason=reason, by=by)]


def keep(lake: Lake, *, is_signed: bool = False) -> Remembered | None:
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
    statements = lake.path / STATEMENTS
    return read_known(statements, read_register(statements)) or _EMPTY


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
    seals: dict[tuple[object, ...], list[str]] = {}
    for each in known.chain["checkpoints"]:
        seals.setdefault(_month(each), []).append(each["seal"])
    for folder, manifest in all_sealed(lake.path / STATEMENTS):
        before, seal = seals.get(_month(manifest), []), manifest["seal"]
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
        make_folder(folder, 0o700)
        with locked(folder / ".lock", Message("busy.remembering", folder=folder)):
            chains = _read(folder / FILE)
            before = [*chains]
            yield folder / FILE, chains
            if chains != before:
                _write(folder / FILE, chains)
    except OSError as error:
        raise ConfigError(Message("memory.no_folder", reason=text_of(error))) from error


def _folder(lake: Lake) -> Path:
    try:
        folder = state_folder()
    except RuntimeError as error:  # there is no home
        raise ConfigError(Message("memory.no_folder", reason=text_of(error))) from error
    if folder.resolve().is_relative_to(lake.path.resolve()):
        raise ConfigError(Message("memory.in_lake", folder=folder))
    return folder


def _read(file: Path) -> list[Remembered]:
    if not file.exists():
        return []
    try:
        document = json.loads(file.read_bytes())
        if document["format"] > _FORMAT:
            raise NotProven(Message("memory.newer", file=file))
        facts = document["chains"]
        if document["check"] == _check(facts):
            return [Remembered(**each) for each in facts]
    except (ValueError, LookupError, TypeError):
        pass
    raise NotProven(Message("memory.damaged", file=file))


def _write(file: Path, chains: Sequence[Remembered]) -> None:
    facts = json.loads(json.dumps([asdict(each) for each in chains]))
    document = {"format": _FORMAT, "chains": facts, "check": _check(facts)}
    write_json(atomic_write(file), document)


def _check(facts: object) -> str:
    """Hash what is remembered, so that a flipped bit is not taken for another lake."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
