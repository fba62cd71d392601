-- time_was_read_without_gap: all time between the first and the last instant read of a stream was
-- read.
-- severity: advisory. A statement of a period with a gap is provisional anyway.
-- says: stretch of time was not read / stretches of time were not read.

select
    stream || ' ' || instant_text(gap_start) as record_id,
    gap_start as occurred_at,
    null::varchar as currency,
    'finding.gap' as code,
    stream,
    readable_instant(gap_start) as since,
    readable_instant(gap_end) as until,
    digest(fact(micros(gap_start)) || fact(micros(gap_end))) as content,
    null::timestamptz as seen_at
from int_coverage_gaps
where gap_start > (
    select min(span_start) from stg_spans where stg_spans.stream = int_coverage_gaps.stream
)
