-- opening_and_movement_make_closing:
-- each position moves from opening to closing by its movement, every day and over the period.
-- severity: blocking. from: the statement's own position and summary.
-- says: position does not move from opening to closing by its movement / positions do not move from
-- opening to closing by their movement.

select
    currency as record_id,
    null::timestamptz as occurred_at,
    currency,
    'finding.moves' as code,
    opening_position as opening,
    rail_movement as movement,
    closing_position as closing,
    digest(fact(opening_position) || fact(rail_movement) || fact(closing_position)) as content
from summary
where plus(opening_position, rail_movement) <> closing_position
union all
select
    currency || ' ' || day as record_id,
    null::timestamptz as occurred_at,
    currency,
    'finding.moves' as code,
    opening,
    movement,
    closing,
    digest(fact(opening) || fact(movement) || fact(closing)) as content
from position
where plus(opening, movement) <> closing
