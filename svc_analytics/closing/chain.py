"""The chain of seals: a statement names the seal of the month before and of its last version.

Statements are looked for next to the folder and in the lake.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from svc_analytics.closing import seals
from svc_analytics.closing.register import Register, read_register
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message
from svc_analytics.periods import Period

_SEALED_BEFORE = "{label} was sealed before as {seal}: find out what became of it"
_SEALED_FIRST = (
    "{label} was sealed first, so its seal does not name this {NOUN}'s: "
    "close {NOUN}s oldest first, as --all-due does, to chain them"
)


def broken_chain(
    manifest: seals.Manifest, period: Period, folders: Collection[Path], register: Register
) -> list[Message]:
    """List what is wrong with the earlier seals that a manifest names, or does not name."""
    by_folder = [seals.manifests_of(period.shift(-1), folder) for folder in folders]
    earlier = [one for manifests in by_folder for one in manifests]
    seal = manifest.get("previous_seal")
    broken = [*_missing(Message("seal.no_before", NOUN=period.noun, seal=seal), seal, earlier)]
    named = [one for one in earlier if one["seal"] == seal]
    broken += filter(None, map(register.contradicts, named[:1]))
    if seal is None:
        broken += _dropped(manifest, earlier[:1], register)
    return broken + _broken_versions(manifest, period, folders)


def _broken_versions(
    manifest: seals.Manifest, period: Period, folders: Collection[Path]
) -> list[Message]:
    """List what is wrong with the version that a restatement supersedes; a first one has none."""
    version, seal = manifest["version"], manifest.get("supersedes")
    if version == 1 or seal is None:
        text = Message("seal.other_version", seal=seal, version=version)
        return [] if version == 1 and seal is None else [text]
    same = [one for folder in folders for one in seals.manifests_of(period, folder)]
    earlier = [one for one in same if one["version"] == version - 1]
    return [*_missing(Message("seal.no_version", seal=seal), seal, earlier)]


def _missing(text: Message, seal: str | None, manifests: list[seals.Manifest]) -> Iterator[Message]:
    if seal and not any(one["seal"] == seal for one in manifests):
        yield text


def _dropped(
    manifest: seals.Manifest, before: list[seals.Manifest], register: Register
) -> Iterator[Message]:
    """Name the month before where it was sealed first and the manifest does not name it."""
    for one in before:
        is_before = register.is_before(one["seal"], manifest["seal"])
        if is_before is None:
            is_before = parse_bound(one["as_of"]) <= parse_bound(manifest["as_of"])
        if is_before:
            yield Message("seal.before_dropped", label=one["label"], seal=one["seal"])


def warnings_of(lake: Lake, folder: Path, period: Period) -> dict[str, Message]:
    """Return warnings of a first version, each by the seal that it is about.

    It was sealed before, or a period after it was. `folder` is where it will be written.
    """
    label = period.folder
    key = {"label": label, "calendar": period.calendar, "zone": period.zone, "version": 1}
    warnings = {
        seal: Message(_SEALED_BEFORE, label=label, seal=seal)
        for seal in read_register(lake.path / seals.STATEMENTS).seals_of(key)[-1:]
    }
    if after := _first_after(period, folder):
        warnings[after["seal"]] = Message(_SEALED_FIRST, label=after["label"], NOUN=period.noun)
    return warnings


def _first_after(period: Period, folder: Path) -> seals.Manifest | None:
    """Return the newest seal of the first sealed period of a kind that comes after one."""
    later = [
        (stated.start, manifest["version"], manifest)
        for _, manifest in seals.all_sealed(folder.absolute().parent)
        if manifest["seal"] == seals.seal_of(manifest)
        and _is_after(stated := seals.stated_period(manifest), period)
    ]
    first = min((start for start, *_ in later), default=None)
    versions = [(version, manifest) for start, version, manifest in later if start == first]
    return max(versions, key=lambda each: each[0])[1] if versions else None


def _is_after(other: Period, period: Period) -> bool:
    kinds = [(each.kind, each.zone, each.calendar) for each in (other, period)]
    return kinds[0] == kinds[1] and other.start >= period.end
