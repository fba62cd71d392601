"""What an extraction reads: streams, missing spans, and its result."""

from collections.abc import Callable
from dataclasses import dataclass, field

from svc_analytics.api.routes import ROUTES
from svc_analytics.config import KeyClass, Settings
from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.segments import Segment
from svc_analytics.formatting.displayed import Displayable
from svc_analytics.instants import BEGINNING, HOUR
from svc_analytics.lake.month_files import PublishStats
from svc_analytics.lake.writer import LakeWriter
from svc_analytics.schema import STREAMS, Stream

OVERLAP = 24 * HOUR

OnPage = Callable[[Stream, int], None]


@dataclass(frozen=True)
class Request:
    """What a run is to read: [start, end) of some streams, all that is missing unless said."""

    streams: tuple[str, ...] = tuple(STREAMS)
    start: int = BEGINNING
    end: int | None = None
    overlap: int = OVERLAP
    rereads: bool = False

    def __post_init__(self) -> None:
        if self.end is not None and self.start >= self.end:
            raise ConfigError("--from is not before --to: the interval holds no time")


@dataclass
class ExtractionResult(Displayable):
    """What a run read, what it could not read, and what a person should look at."""

    merchant_id: str
    read_to: int
    rows: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    published: PublishStats = field(default_factory=PublishStats)
    not_extracted: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # oddities that cost time, but no row

    @property
    def needs_attention(self) -> bool:
        """Whether a record was set aside or changed, or a stream lacks its key."""
        found = self.published
        return bool(found.quarantined or found.changed or self.not_extracted)


def missing_key_class(settings: Settings, stream: Stream) -> KeyClass | None:
    """Return the key class a stream needs and the settings lack."""
    wanted = ROUTES[stream.route].key_classes
    return None if any(settings.key(name) for name in wanted) else wanted[0]


def missing_spans(coverage: Coverage, wanted: Span, request: Request) -> Spans:
    """Return what is to be read of an interval: all that is missing, and the overlap.

    Records may become visible late, so the newest part of what is complete is read
    again each time (design 7).
    """
    if wanted[0] >= wanted[1] or request.rereads:
        return intersection([wanted], *wanted) if wanted[0] < wanted[1] else ()
    newest = coverage.complete[-1][1] if coverage.complete else BEGINNING
    known = intersection(coverage.complete, BEGINNING, max(newest - request.overlap, BEGINNING))
    return difference([wanted], known)


def plan_segments(
    writer: LakeWriter, settings: Settings, request: Request, run: ExtractionResult
) -> list[Segment]:
    """Cut what is to be read into segments, noting the streams that lack a key."""
    end = run.read_to if request.end is None else min(request.end, run.read_to)
    segments = []
    for name in request.streams:
        stream = STREAMS[name]
        run.rows[name] = 0
        if key_class := missing_key_class(settings, stream):
            variable = f"SVC_{key_class.upper()}_KEY"
            run.not_extracted[name] = f"it needs a {key_class}-class key: set {variable}"
            continue
        spans = missing_spans(writer.coverage(stream), (request.start, end), request)
        segments += [Segment.of(stream, span) for span in spans]
    return segments
