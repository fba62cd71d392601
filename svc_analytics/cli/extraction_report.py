"""What `extract` prints: for people, and as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from svc_analytics.coverage import format_spans
from svc_analytics.extraction.lookups import LookupResult
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.formatting import tables
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake


def extraction_text(
    lake: Lake, done: ExtractionResult, lookups: Sequence[LookupResult] = ()
) -> str:
    """Describe what an extraction did."""
    stats = done.published
    lines = [f"{name}: {rows:,} rows read" for name, rows in done.rows.items()]
    lines.append(f"{done.pages:,} pages read, {stats.files} month files written to {lake.place}")
    lines.append(f"read up to {format_instant(done.read_to)}")
    if stats.quarantined:
        lines.append(f"{stats.quarantined} records set aside: see {lake.path / 'quarantine'}")
    if stats.changed:
        lines.append(
            f"{stats.changed} records changed since they were first read, "
            f"{stats.restated} of them in money or identity: see {lake.path / 'changes'}"
        )
    lines += [*done.vanished, *done.retractions]
    for each in lookups:
        lines.append(f"{each.stream}: {each.fetched:,} fetched, {_not_found(each.not_found)}")
        lines += [f"{each.stream}: {id_!r:.60}: {reason}" for id_, reason in each.rejected.items()]
    return "\n".join(lines)


def _not_found(ids: Sequence[str]) -> str:
    """Count ids and name the first three; the JSON document names all."""
    names = [f"{id_!r:.60}" for id_ in ids[:3]] + ["…"] * (len(ids) > 3)
    return f"{len(ids):,} not found" + (f" ({', '.join(names)})" if ids else "")


def extraction_json(
    lake: Lake, done: ExtractionResult, lookups: Sequence[LookupResult] = ()
) -> str:
    """Describe what an extraction did as a JSON document."""
    document = asdict(done) | {
        "doubtful": {name: format_spans(spans) for name, spans in done.doubtful.items()},
        "read_to": format_instant(done.read_to),
        "retracted": {name: format_spans(spans) for name, spans in done.retracted.items()},
        "data_dir": lake.place,
        "looked_up": [asdict(each) for each in lookups],
    }
    del document["seen"], document["is_confirmed"]  # of `close` alone
    return tables.to_json(document)
