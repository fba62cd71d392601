-- A median of the lower and the upper value in the middle of a group, as any engine counts it.

-- middle18(lower_one, upper_one): of amounts. The tie of a half goes away from zero. The whole part
-- is halved apart: 0.5 takes a place.
create function middle18(lower_one, upper_one) as
    lower_one
    + cast(
        cast((upper_one - lower_one) - (upper_one - lower_one) % 2 as decimal(38,0)) * 0.5
        as decimal(38,18)
    )
    + cast(round(cast((upper_one - lower_one) % 2 as decimal(19,18)) * 0.5, 18) as decimal(38,18));

-- middle8(lower_one, upper_one): of ratios.
create function middle8(lower_one, upper_one) as
    cast(round((lower_one + upper_one) * 0.5, 8) as decimal(38,8));
