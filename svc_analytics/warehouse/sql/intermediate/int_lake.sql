-- int_lake: the last instant up to which any stream was read.
-- grain: one row. from: stg_spans.

select
    -- first instant not read by the newest run, UTC; NULL when nothing was read
    max(span_end) as read_to
from stg_spans
