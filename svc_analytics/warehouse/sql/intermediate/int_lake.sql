-- int_lake: up to when the newest sweep of any stream has read.
-- grain: one row. from: stg_spans.

select
    -- the frozen upper end of the newest sweep, UTC; NULL when nothing was read
    max(span_end) as read_to
from stg_spans
