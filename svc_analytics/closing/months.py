"""The seals of a quarter's or a year's months: they must be there, fit the lake, and add up.

The manifest of a longer period names them, `month_seals`, so its seal fixes theirs.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.closing import seals
from svc_analytics.closing.neighbours import command_to_close, summary_of
from svc_analytics.closing.register import Register
from svc_analytics.closing.restatement.diff import as_texts
from svc_analytics.closing.seals import Sealed
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed
from svc_analytics.messages import Message
from svc_analytics.periods import TO_DATE, Period
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.statement import Statement

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
        raise LakeError(Message("seal.cannot", label=label, FAULT=texts[0]))


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
            values = {"SEALED": sealed[name] or "unknown", "NOW": stated[name] or "unknown"}
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
        yield Message("seal.of_month", label=facts["label"], TEXT=text)
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
