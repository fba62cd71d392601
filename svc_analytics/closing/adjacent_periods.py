"""Sealed neighbours: a month opens with what the month before it closed with, coin by coin.

So do quarters, and years. Of each period the newest sealed version counts.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa

from svc_analytics.closing import seals
from svc_analytics.closing.rederive import rederive
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import Register, Sealed
from svc_analytics.closing.table_diff import as_texts, read_tables
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed, text_of
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.money import group_digits
from svc_analytics.periods import TO_DATE, Period
from svc_analytics.render.document import Reason
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.statement import Statement

RULE = "sealed_months_meet"
UNKNOWN = "an unknown position"
_NOT_LOOKED_AT = (
    "its neighbours were not looked at ({WHY}): svc-analytics check compares their positions"
)
_SUMMARY = ("summary.csv", "summary.parquet")

Positions = dict[str, str]  # by coin, as files write them: empty where unknown


@dataclass(frozen=True)
class Ends:
    """The positions that a statement opens and closes with."""

    name: str  # of the statement, in sentences
    period: Period
    opening: Positions
    closing: Positions
    again: Message | None = None  # how to close it again, if it is sealed


@dataclass(frozen=True)
class Mismatch:
    """Where a statement ends, or closes a coin, otherwise than the next one begins or opens."""

    text: Message
    is_known: bool  # whether both positions are known


def newest_sealed(period: Period, folders: Iterable[Path], merchant: Any) -> Sealed | None:
    """Return the newest sealed version of a merchant's period, from beside these folders."""
    versions = [
        one
        for folder in folders
        for one in seals.sealed_folders(period, folder)
        if one[1]["merchant"].get("id") == merchant
    ]
    return max(versions, key=lambda one: one[1]["version"], default=None)


def summary_of(sealed: Sealed) -> list[dict[str, str]]:
    """Return the rows of a sealed summary, every value as its text."""
    folder, manifest = sealed
    table = read_tables(folder, [name for name in manifest["files"] if name in _SUMMARY])
    rows: list[dict[str, str]] = table["summary"].to_pylist() if table else []
    return rows


def ends_of(new: Statement) -> Ends:
    """Return the positions of a statement that was made just now."""
    texts = as_texts({"summary": new.tables["summary"]})
    return _ends(new.period.title, new.period, texts["summary"].to_pylist())


def sealed_ends(sealed: Sealed | None, lake: Lake | None) -> Ends | None:
    """Return the positions of a sealed statement; None where there is none, or it was altered."""
    if sealed is None:
        return None
    folder, manifest = sealed
    files = {name: facts for name, facts in manifest["files"].items() if name in _SUMMARY}
    is_whole = manifest["seal"] == seals.seal_of(manifest)
    if not is_whole or seals.broken_files(folder, {**manifest, "files": files}):
        return None
    period, again = seals.sealed_period(manifest), close_again(sealed, lake) if lake else None
    version = {"month": translated(period.title), "version": manifest["version"]}
    name = Message("reason.version_of", **version)
    return _ends(name, period, summary_of(sealed), again)


def held_to(before: Sealed | None, new: Statement, lake: Lake) -> Statement:
    """Return a statement, provisional where the sealed one before it closed otherwise."""
    own = ends_of(new)
    unmet = mismatches(sealed_ends(before, lake), own, own.opening)
    reasons = [Reason(each.text) for each in unmet if each.is_known]
    return replace(new, reasons=tuple(dict.fromkeys([*new.reasons, *reasons])))


def _ends(
    name: str, period: Period, rows: list[dict[str, str]], again: Message | None = None
) -> Ends:
    opening, closing = (
        {row["currency"]: row.get(column, "") for row in rows}
        for column in ("opening_position", "closing_position")
    )
    return Ends(name, period, opening, closing, again)


def mismatches(
    before: Ends | None, after: Ends | None, now: Positions | None
) -> Iterator[Mismatch]:
    """Yield where two statements in a row do not meet: their bounds, and the coins.

    The one that has another position than the lake gives `now` is to be closed again.
    """
    if before is None or after is None:
        return
    names = {"closed": translated(before.name), "opened": translated(after.name)}
    if (end := before.period.end) != (start := after.period.start):
        instants = {"end": format_instant(end), "start": format_instant(start)}
        yield Mismatch(Message("reason.unmet_bounds", **names, **instants), is_known=True)
    for coin in sorted(before.closing.keys() | after.opening.keys()):
        closing, opening = (_position(each, coin) for each in (before.closing, after.opening))
        if closing is None or opening is None or closing == opening:
            continue
        positions = {
            name: translated(group_digits(each) if each else UNKNOWN)
            for name, each in (("closing", closing), ("opening", opening))
        }
        text = Message("reason.unmet", coin=coin, **names, **positions)
        current = closing if now is None else _position(now, coin)
        sides = ((before, closing), (after, opening))
        stale = [
            each.again
            for each, position in sides
            if each.again and now is not None and position != current
        ]
        yield Mismatch(clauses(text, *stale), bool(closing and opening))


def _position(positions: Positions, coin: str) -> str | None:
    """Return the position in a coin: of one that a statement does not name, zero.

    It says nothing of such a coin, None, where a position that it names is unknown.
    """
    return positions.get(coin, "0" if all(positions.values()) else None)


def unmet_neighbours(
    sealed: Sealed, places: Iterable[Path], lake: Lake | None, now: Ends | None
) -> list[Mismatch]:
    """Return where a sealed statement does not meet the periods before and after it.

    They are looked for beside the folders `places`. `now` is what the lake gives of the period.
    """
    manifest = sealed[1]
    merchant, this = manifest["merchant"].get("id"), seals.sealed_period(manifest)
    before, own, after = (
        sealed_ends(each, lake)
        for each in (
            newest_sealed(this.shift(-1), places, merchant),
            sealed,
            newest_sealed(this.shift(1), places, merchant),
        )
    )
    opening, closing = (now.opening, now.closing) if now else (None, None)
    return [*mismatches(before, own, opening), *mismatches(own, after, closing)]


def say_unmet(closed: CloseResult, places: Iterable[Path], lake: Lake) -> CloseResult:
    """Say of a sealed period, which the lake gives, where it does not meet its neighbours.

    It is sealed: an error or a stop here loses no more than that, and a note says so.
    """
    if closed.seal is None:
        return closed
    try:
        sealed = closed.folder, seals.read_manifest(closed.folder)
        unmet = unmet_neighbours(sealed, places, lake, sealed_ends(sealed, lake))
    except (Exception, KeyboardInterrupt) as error:
        return closed.with_notes(
            [Message(_NOT_LOOKED_AT, why=translated(text_of(error) or "stopped"))]
        )
    reasons = (Reason(each.text) for each in unmet if each.is_known)
    unknown = (each.text for each in unmet if not each.is_known)
    return replace(closed, reasons=(*closed.reasons, *reasons)).with_notes(unknown)


def unmet_findings(lake: Lake, schema: pa.Schema) -> pa.Table:
    """Return a finding for each coin in which two sealed periods in a row do not meet."""
    every, merchant = seals.all_sealed(lake.path / seals.STATEMENTS), lake.merchant_id
    own = [sealed for sealed in every if sealed[1]["merchant"].get("id") == merchant]
    newest = seals.newest_versions(own)
    rows = [
        row
        for before in newest.values()
        if (after := newest.get(_key_after(before[1])))
        for row in _findings(before, after, lake)
    ]
    return pa.Table.from_pylist(rows, schema)


def _findings(before: Sealed, after: Sealed, lake: Lake) -> Iterator[dict[str, str | None]]:
    """Yield the findings of two sealed periods; the lake is asked only where there is one."""
    closing, opening = sealed_ends(before, lake), sealed_ends(after, lake)
    if any(mismatches(closing, opening, None)):
        now = ends_of(rederive(lake, after[1], after[0])).opening
        for each in mismatches(closing, opening, now):
            severity = "blocking" if each.is_known else "advisory"
            yield {
                "check_name": RULE,
                "severity": severity,
                "month": after[1]["label"],
                "detail": each.text,
            }


def _key_after(manifest: seals.Manifest) -> tuple[str, str, str]:
    following = seals.sealed_period(manifest).shift(1)
    return following.folder, following.calendar, following.zone


def close_again(sealed: Sealed, lake: Lake) -> Message:
    """Say that a sealed period is to be closed again, with the command, where it was closed."""
    folder, manifest = sealed
    is_in_lake = folder.parent == (lake.path / seals.STATEMENTS).absolute()
    out = None if is_in_lake else seals.first_folder(folder, manifest)
    command = command_to_close(seals.sealed_period(manifest), out)
    title = translated(seals.sealed_period(manifest).title)
    return Message("reason.close_again", month=title, command=command)


def command_to_close(period: Period, out: Path | None = None) -> str:
    """Write the command that closes a period, into the folder `out` if it is not the lake's."""
    zone = "" if period.zone == "UTC" else f" --zone {period.zone}"
    place = "" if out is None else f" --out {quote(str(out))}"
    return f"svc-analytics close --month {period.label}{zone}{place}"


# ---------- The seals of a quarter's or a year's months
# They must be there, fit the lake, and add up.
#
# The manifest of a longer period names them, `month_seals`, so its seal fixes theirs.


MONTH_SEALS = "month_seals"
_NAMED = ("label", "version", "content_digest", "seal")
_MOST = 3  # months named in a sentence


def require_sealable(period: Period) -> None:
    """Refuse to seal a year to date: next month there is another one."""
    if period.kind == TO_DATE:
        message = f"{period.folder} is a year to date, which is not sealed"
        raise ConfigError(f"{message}: close its months, its quarters, or the year when it is over")


def sealed_months(period: Period, folders: Collection[Path]) -> list[Sealed]:
    """Return the newest sealed version of each month of a period, oldest month first.

    They are looked for beside these folders. Raises `PeriodNotClosed` with the months that are
    not sealed, and the command that seals the first of them.
    """
    sealed = {month: _versions(month, folders) for month in period.months}
    if missing := [month for month, versions in sealed.items() if not versions]:
        raise PeriodNotClosed(_not_sealed(period, missing))
    return [max(versions, key=lambda one: one[1]["version"]) for versions in sealed.values()]


def _not_sealed(period: Period, missing: Sequence[Period]) -> str:
    names = [month.folder for month in missing]
    more = f" and {len(names) - _MOST} more months" if len(names) > _MOST else ""
    verb = "is" if len(names) == 1 else "are"
    text = f"{period.folder} cannot be sealed: {', '.join(names[:_MOST])}{more} {verb} not sealed"
    return f"{text}; first run {command_to_close(missing[0])}"


def require_footed(new: Statement, months: Sequence[Sealed]) -> None:
    """Refuse a period whose months are not those that were sealed, figure by figure."""
    if texts := list(unfooted(new.tables[MONTHS], months)):
        label = new.period.folder
        raise LakeError(Message("seal.cannot", label=label, fault=texts[0]))


def name_seals(months: Sequence[Sealed]) -> list[dict[str, Any]]:
    """Return the manifest's entry of a longer period's months."""
    return [{name: manifest[name] for name in _NAMED} for _, manifest in months]


def unfooted(table: pa.Table, months: Sequence[Sealed]) -> Iterator[Message]:
    """List where the months of a longer statement differ from their own statements.

    `table` is its table of months. With the footing of that table, the flows of the sealed
    months add up to the period's, and its positions are those of its first and last month.
    """
    [texts] = as_texts({MONTHS: table}).values()
    stated = {(row["month"], row["currency"]): row for row in texts.to_pylist()}
    for folder, manifest in months:
        label = manifest["label"].partition("@")[0]
        rows = {row["currency"]: row for row in summary_of((folder, manifest))}
        coins = {coin for month, coin in stated if month == label}
        for coin in sorted(rows.keys() ^ coins):
            yield Message("seal.coin_of_one", label=manifest["label"], coin=coin)
        for coin in sorted(rows.keys() & coins):
            yield from _differing(manifest["label"], coin, rows[coin], stated[label, coin])


def _versions(month: Period, folders: Collection[Path]) -> list[Sealed]:
    return [one for folder in folders for one in seals.sealed_folders(month, folder)]


def _differing(
    label: str, coin: str, sealed: dict[str, str], stated: dict[str, str]
) -> Iterator[Message]:
    for name in stated.keys() & sealed.keys() - {"currency"}:
        if sealed[name] != stated[name]:
            values = {
                "sealed": translated(sealed[name] or "unknown"),
                "now": translated(stated[name] or "unknown"),
            }
            yield Message("seal.month_differs", name=name, coin=coin, label=label, **values)


def broken_months(
    manifest: seals.Manifest,
    period: Period,
    folders: Collection[Path],
    register: Register,
    table: pa.Table | None,
) -> list[Message]:
    """List what is wrong with the months whose seals a manifest names.

    `table` is the sealed table of months, if it can be read.
    """
    named = _named_months(manifest)
    labels = [month.folder for month in period.months]
    if [each["label"] for each in named] != labels:
        return [Message("seal.months_unnamed", fact=MONTH_SEALS, first=labels[0], last=labels[-1])]
    broken: list[Message] = []
    sealed: list[Sealed] = []
    for month, facts in zip(period.months, named, strict=True):
        versions = _versions(month, folders)
        sealed += [one for one in versions if one[1]["seal"] == facts["seal"]][:1]
        if not sealed or sealed[-1][1]["seal"] != facts["seal"]:
            broken.append(Message("seal.no_month", label=month.folder, seal=facts["seal"]))
        else:
            broken += _broken_month(sealed[-1], facts, register)
    if table is not None and not broken:
        broken += unfooted(table, sealed)
    return broken


def _broken_month(one: Sealed, facts: dict[str, Any], register: Register) -> Iterator[Message]:
    folder, manifest = one
    for text in seals.seal_violations(folder, manifest):
        yield Message("seal.of_month", label=facts["label"], text=text)
    if contradiction := register.contradicts(manifest):
        yield contradiction
    for name in _NAMED:
        if manifest[name] != facts[name]:
            values = {"fact": MONTH_SEALS, "name": name, "label": facts["label"]}
            yield Message("seal.other_month", **values)


def _named_months(manifest: seals.Manifest) -> list[dict[str, Any]]:
    """Return the months of a manifest; nothing where they are no such list."""
    named = manifest.get(MONTH_SEALS)
    is_list = isinstance(named, list) and all(
        isinstance(each, dict) and each.keys() == {*_NAMED} for each in named
    )
    return list(named or ()) if is_list else []
