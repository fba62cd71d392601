"""Compare the facts of a sealed manifest with what they must be."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.diff import Tables
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.named_periods import named_period
from svc_analytics.periods import Period
from svc_analytics.render.document import Unknown
from svc_analytics.schema import STREAMS
from svc_analytics.statements.metadata import check_names
from svc_analytics.statements.statement import Statement

LONGEST = 80
# Facts that other parts of a verification hold: files and chain, the clock, the profile.
_OTHERS = {
    *("files", "version", "supersedes", "previous_seal", "seal", "as_of", "merchant"),
    "month_seals",
    "tool_version",
}
_OF_TODAY = {"status", "reasons", "coverage"}  # what a lake that gives the same may say otherwise


def is_this_release(manifest: seals.Manifest) -> bool:
    """Whether the statement was written by the release that verifies it."""
    return manifest.get("tool_version") == version("svc-analytics")


def period_of(manifest: seals.Manifest) -> Period:
    """Return the period of a manifest, or raise `ConfigError` where its facts name none."""
    label = manifest["label"].partition("@")[0]
    at = parse_bound(manifest["as_of"])
    period = named_period(label, at, manifest["zone"], manifest["calendar"])
    check_names(seals.chosen_metadata(manifest))
    if at < period.end:
        raise ConfigError(f"as_of, {manifest['as_of']}, is before the end of the {period.noun}")
    if manifest["as_of"] != format_instant(at):
        raise ConfigError(f"as_of, {manifest['as_of']}, is not written as close writes it")
    return period


def sealed_statement(manifest: seals.Manifest, period: Period, tables: Tables) -> Statement:
    """Return the statement that was sealed: final, of these tables, and read completely."""
    names = seals.chosen_metadata(manifest)
    whole = Coverage(complete=((period.start, period.end),))
    return Statement(
        period=period,
        merchant=manifest["merchant"],
        as_of=parse_bound(manifest["as_of"]),
        coverage=dict.fromkeys(STREAMS, whole),
        reasons=(),
        unknown=unknown_of(manifest),
        tables=tables,
        options={"metadata": [*names]} if names else {},
    )


def unknown_of(manifest: seals.Manifest) -> tuple[Unknown, ...]:
    """Return what a manifest says it leaves open; earlier builds did not say it."""
    try:
        return tuple(
            Unknown(tuple(one["figures"]), tuple(one["coins"]), str(one["because"]))
            for one in manifest.get("unknown", ())
        )
    except (KeyError, TypeError):
        return ()


def expected_facts(sealed: Statement, new: Statement | None) -> dict[str, Any]:
    """Return what the manifest must say: of the sealed tables, and of the lake that gives them."""
    facts = sealed.manifest({})
    if new and all(sealed.tables[name] is table for name, table in new.tables.items()):
        given = new.manifest({})
        facts |= {name: given[name] for name in given.keys() - _OTHERS - _OF_TODAY}
    return facts


def wrong_facts(manifest: seals.Manifest, expected: dict[str, Any]) -> list[str]:
    """Name the facts of a manifest that are not what they must be."""
    manifest = {"unknown": []} | manifest
    wrong = [f"{name} is missing in the manifest" for name in expected if name not in manifest]
    for name in expected:
        if name in manifest and name not in _OTHERS:
            wrong += _wrong(name, manifest[name], expected[name])
    strange = sorted(manifest.keys() - expected.keys() - {"language"})
    return wrong + [f"{name} is no fact of a manifest" for name in strange]


def _wrong(name: str, value: Any, expected: Any) -> Iterator[str]:
    """Say where a fact is not what it must be, in the depth where they differ."""
    if _canonical(value) == _canonical(expected):
        return
    if not (isinstance(value, dict) and isinstance(expected, dict) and value):
        yield f"{name} in the manifest is {_shown(value)}, not {_shown(expected)}"
        return
    for key in {**expected, **value}:
        yield from _wrong(f"{name}.{key}", value.get(key), expected.get(key))


def changed_profile(manifest: seals.Manifest, merchant: dict[str, Any]) -> list[str]:
    """Name the facts of the merchant that differ from the profile as last read."""
    sealed = manifest["merchant"]
    names = [name for name in {**sealed, **merchant} if name != "read_at"]
    return [
        f"merchant.{name} is {_shown(sealed.get(name))} here and {_shown(merchant.get(name))} in "
        "the lake: the profile was changed since, or the manifest was altered"
        for name in names
        if (sealed.get(name), name in sealed) != (merchant.get(name), name in merchant)
    ]


def _canonical(value: Any) -> str:
    """Write a fact as JSON: 1, 1.0 and true are three things there."""
    return json.dumps(value, sort_keys=True)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
