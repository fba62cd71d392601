-- time_was_read_without_gap: between the first and the newest moment read of a stream, all time was
-- read.
-- severity: advisory. A statement of a period with a gap is provisional for that reason already.

select
    stream || ' ' || gap_start as record_id,
    gap_start as occurred_at,
    null::varchar as currency,
    stream || ' not read from ' || gap_start || ' to ' || gap_end as detail
from int_coverage_gaps
where gap_start > (
    select min(span_start) from stg_spans where stg_spans.stream = int_coverage_gaps.stream
)
