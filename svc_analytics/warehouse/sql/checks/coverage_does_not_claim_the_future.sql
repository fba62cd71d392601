-- coverage_does_not_claim_the_future: no file covers time that had not come when it was written.
-- severity: blocking. The next extract retracts the claim and reads that time again.
-- says: reading claims time that had not come yet / readings claim time that had not come yet.

select
    stream || ' ' || instant_text(claimed_at) as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    'finding.coverage' as code,
    stream,
    readable_instant(max(span_end)) as reached,
    readable_instant(claimed_at) as claimed,
    digest(fact(micros(max(span_end)))) as content,
    claimed_at as seen_at
from stg_spans
group by stream, claimed_at
having max(span_end) > claimed_at + interval 15 minute
