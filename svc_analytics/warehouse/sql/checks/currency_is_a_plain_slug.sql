-- currency_is_a_plain_slug: a coin is a lowercase symbol (contract, Conventions): another spelling
-- counts as a coin of its own, however much it looks like one that is known.
-- severity: advisory. Names the first record of each such coin and UTC month.
-- says: coin is not written as a plain lowercase symbol / coins are not written as plain lowercase
-- symbols.

with booked as (
    select payment_id as record_id, paid_at as occurred_at, currency, extracted_at from payments
    union all
    select payout_id as record_id, settled_at as occurred_at, currency, extracted_at
    from payout_records
),

odd as (
    select
        *,
        row_number() over (
            partition by currency, strftime(occurred_at at time zone 'UTC', '%Y-%m')
            order by occurred_at, record_id
        ) as place
    from booked
    where translate(currency, 'abcdefghijklmnopqrstuvwxyz0123456789-_.', '') <> ''
)

select
    record_id,
    occurred_at,
    currency,
    'finding.coin' as code,
    digest(fact(currency)) as content,
    extracted_at as seen_at
from odd
where place = 1
