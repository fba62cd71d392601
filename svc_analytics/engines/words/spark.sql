-- What Spark and Databricks say in words of their own: a translator would let it through unchanged.
-- Each means what the macro of the same name in `macros.sql` means; the probe asks for values that
-- tell them apart.

create function make_timestamptz(micros) as timestamp_micros(micros);

create function instant_text(moment) as concat(cast(moment as string), '+00');

create function days_between(a, b) as datediff(cast(b as date), cast(a as date));

create function whole_days(a, b) as (unix_micros(b) - unix_micros(a)) div 86400000000;

create function text_hash(x) as xxhash64(x);

create function micros(moment) as unix_micros(moment);

create function local_time(moment, zone) as
    case
        when zone like '[%' then timestamp_micros(
            unix_micros(moment) + aggregate(
                from_json(zone, 'array<struct<since:bigint,ahead:bigint>>'),
                cast(0 as bigint),
                (found, each) -> case
                    when each.since <= unix_micros(moment) then each.ahead else found
                end
            )
        )
        else from_utc_timestamp(moment, zone)
    end;

create function fact(x) as
    coalesce(concat(cast(length(cast(x as string)) as string), ':', cast(x as string)), '-');

-- Of a struct of one text, without the name around it.
create function json_text(x) as
    case
        when x is not null then substring(
            to_json(named_struct('x', cast(x as string))),
            6,
            length(to_json(named_struct('x', cast(x as string)))) - 6
        )
    end;

create function customer_in(metadata) as
    nullif(get_json_object(metadata, '$.customer.id'), '');

create function digest(x) as sha2(x, 256);

create function plus(x, y) as try_add(x, y);

create function is_at_large_rate(fee, base, rate, unit) as
    coalesce(
        abs(
            try_cast(
                try_subtract(
                    fee,
                    try_cast(
                        cast(base - base % 1 as decimal(20,0)) * try_cast(rate as decimal(18,8))
                        as decimal(38,18)
                    )
                )
                as decimal(38,26)
            )
            - cast(base % 1 as decimal(18,18)) * try_cast(rate as decimal(18,8))
        ) <= unit,
        false
    );
