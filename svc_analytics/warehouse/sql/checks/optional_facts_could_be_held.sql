-- optional_facts_could_be_held: a fact that a record may lack could be held as it was received.
-- severity: advisory. It was left out, never rounded; the record's extra has what was received.
-- says: record has an optional fact that could not be held / records have optional facts that
-- could not be held.

with received as (
    select
        payment_id as record_id,
        paid_at as occurred_at,
        currency,
        content,
        extra,
        extracted_at,
        concat_ws(', ', {unheld payments}) as names
    from payments
    where extra is not null
    union all
    select
        payout_id as record_id,
        settled_at as occurred_at,
        currency,
        content,
        extra,
        extracted_at,
        concat_ws(', ', {unheld payout_records}) as names
    from payout_records
    where extra is not null
)

select
    record_id,
    occurred_at,
    currency,
    'finding.names' as code,
    names,
    digest(fact(content) || fact(extra)) as content,
    extracted_at as seen_at
from received
where names <> ''
