"""The lake's layout on disk: folders, file names, schemas of the side files."""

from collections.abc import Collection
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from svc_analytics.errors import LakeError
from svc_analytics.schema import INSTANT, SIDE_STREAMS, STREAMS, Stream

LAYOUT = 2  # no release wrote 1
FOOTER_KEY = "svc_analytics"

ORIGIN = "0000-00"  # a file without rows: it covers the time before the first month with a file
IDS_FOLDER = ".ids"
PARENTS_FOLDER = ".parents"
RUNS_FOLDER = ".runs"  # rows that wait to be merged into a month, and no reader sees
WRITER_MARK = ".writer"  # a run writes, or was killed while it did
NOTIFIED_MARK = ".told.json"  # which messages were sent
MARKS = (WRITER_MARK, NOTIFIED_MARK)  # hidden files that cannot be made again
RESTORING_FOLDER = ".restoring"  # a backup is being restored here
VERDICTS_FOLDER = "receipt_verdicts"

QUARANTINE = pa.schema(
    [
        ("sha256", pa.string()),
        ("record_id", pa.string()),
        ("occurred_at", INSTANT),  # null when the record's own instant cannot be read
        ("placed_at", INSTANT),  # its instant, else the last it can have: decides its month
        ("reason", pa.string()),
        ("message", pa.string()),  # JSON: the code and the values that the reason is made of
        ("body", pa.binary()),
        ("window_from", INSTANT),  # the time that was asked for; without an instant of its own,
        ("window_to", INSTANT),  # the first and the last instant that it can have
        ("first_seen_at", INSTANT),
        ("resolved_at", INSTANT),  # when a good record of the same id was read
    ]
)

# One row per verified receipt.
VERDICTS = pa.schema(
    [
        ("payment_id", pa.string()),
        ("receipt_sha256", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("message", pa.string()),  # JSON: the code and the values that the reason is made of
        ("differences", pa.string()),  # JSON: each differing fact with both values
        ("checked_at", INSTANT),
        ("ring", pa.string()),  # a fingerprint of the secrets, from which none can be guessed
        ("record_extracted_at", INSTANT),  # the version of the record it was compared with
    ]
)


def require_layout(layout: int, what: str = "", release: str = "") -> None:
    """Raise `LakeError` for a layout other than today's; `release` is what wrote it, if known."""
    if layout > LAYOUT:
        which = f", {release}: install that release or a later one"
        remedy = which if release else "; update this one"
        raise LakeError(f"{what}written by a newer svc-analytics{remedy}")
    if layout < LAYOUT:
        remedy = "extract into a new folder"
        raise LakeError(f"{what}written before the first release of svc-analytics: {remedy}")


@cache
def tool_version() -> str:
    """Return the version of this package, as footers and manifests name it."""
    return version("svc-analytics")


def data_folders() -> list[str]:
    """Return the folders of Parquet files that views read, relative to the lake."""
    kinds = ("{}", "changes/{}", "quarantine/{}")
    by_stream = (kind.format(name) for kind in kinds for name in STREAMS)
    return [*by_stream, VERDICTS_FOLDER, *SIDE_STREAMS]


def schema_of(folder: str) -> tuple[pa.Schema, Stream | None]:
    """Return the columns that the files of a folder of the lake have, and whose records they are.

    They are the records of no stream in a folder of rejected records, or of verdicts.
    """
    kind, _, name = folder.rpartition("/")
    stream = {**STREAMS, **SIDE_STREAMS}.get(name)
    if stream is None or kind == "quarantine":
        return (VERDICTS if stream is None else QUARANTINE), None
    return (changes_schema(stream) if kind else stream.schema), stream


def changes_schema(stream: Stream) -> pa.Schema:
    """Return the schema of superseded versions: a record's, and what changed."""
    return stream.record_schema.append(pa.field("is_restatement", pa.bool_()))


def with_statistics(schema: pa.Schema, repeated: Collection[str]) -> list[str]:
    """Return the columns of which a file states the least and the greatest value.

    Texts are not among them, but for those that are `repeated`, written by a dictionary. Where
    one text is both, and the other rows have none, DuckDB 2.0 takes it for NULL as well.
    """
    return [
        field.name
        for field in schema
        if field.name in repeated or field.type not in (pa.string(), pa.binary())
    ]


def quarantine_path(lake: Path, stream: Stream) -> Path:
    """Return the path of the one file of a stream's rejected records."""
    return lake / "quarantine" / stream.name / "rejected.parquet"
