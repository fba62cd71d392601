"""Names, folders and schemas of the lake's files."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from svc_analytics.schema import INSTANT, Stream

LAYOUT = 1
FOOTER_KEY = "svc_analytics"

ORIGIN = "0000-00"  # the file without rows: the schema, and the proof of where history starts


@cache
def tool_version() -> str:
    """The version of this package, as footers and manifests name it."""
    return version("svc-analytics")


QUARANTINE = pa.schema(
    [
        ("sha256", pa.string()),
        ("record_id", pa.string()),
        ("occurred_at", INSTANT),  # null when the record's own instant cannot be read
        ("placed_at", INSTANT),  # its instant, else that of its neighbours: decides its month
        ("reason", pa.string()),
        ("body", pa.binary()),
        ("window_from", INSTANT),
        ("window_to", INSTANT),
        ("first_seen_at", INSTANT),
        ("resolved_at", INSTANT),  # when a good record of the same id was read
    ]
)

# One row per checked token. `record_extracted_at` names the version of the record that
# was held against it; `ring` is a fingerprint of the secrets, which tells none of them.
VERDICTS_FOLDER = "receipt_verdicts"
VERDICTS = pa.schema(
    [
        ("payment_id", pa.string()),
        ("receipt_sha256", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("differences", pa.string()),  # JSON: each differing fact with both values
        ("checked_at", INSTANT),
        ("ring", pa.string()),
        ("record_extracted_at", INSTANT),
    ]
)


def changes_schema(stream: Stream) -> pa.Schema:
    """The schema of superseded versions: the record, and whether money or identity changed."""
    return stream.schema.append(pa.field("is_restatement", pa.bool_()))


def quarantine_path(lake: Path, stream: Stream) -> Path:
    """The one file of a stream's rejected records."""
    return lake / "quarantine" / stream.name / "rejected.parquet"


IDS_FOLDER = ".ids"
