-- What Trino says in words of its own: a translator would let it through unchanged. Each means what
-- the macro of the same name in `macros.sql` means; the probe asks for values that tell them apart.

create function make_timestamptz(micros) as
    from_unixtime_nanos(cast(micros as decimal(38,0)) * 1000);

create function instant_text(moment) as
    regexp_replace(cast(cast(moment as timestamp(6)) as varchar), '\.?0+$', '') || '+00';

create function days_between(a, b) as date_diff('day', cast(a as date), cast(b as date));

create function whole_days(a, b) as date_diff('millisecond', a, b) / 86400000;

create function text_hash(x) as xxhash64(to_utf8(x));

create function micros(moment) as cast(round(to_unixtime(moment) * 1000000) as bigint);

create function local_time(moment, zone) as
    case
        when zone like '[%' then date_add(
            'millisecond',
            reduce(
                cast(json_parse(zone) as array(row(since bigint, ahead bigint))),
                cast(0 as bigint),
                (found, each) -> case
                    when each.since <= to_unixtime(moment) * 1000000 then each.ahead else found
                end,
                found -> found
            ) / 1000,
            moment
        )
        else moment at time zone zone
    end;

create function fact(x) as
    coalesce(cast(length(cast(x as varchar)) as varchar) || ':' || cast(x as varchar), '-');

create function json_text(x) as json_format(cast(cast(x as varchar) as json));

create function customer_in(metadata) as
    nullif(try(json_extract_scalar(metadata, '$.customer.id')), '');

create function digest(x) as lower(to_hex(sha256(to_utf8(x))));

create function plus(x, y) as try(x + y);

create function is_at_large_rate(fee, base, rate, unit) as
    coalesce(
        try(
            abs(
                cast(
                    fee - cast(
                        cast(base - base % 1 as decimal(20,0)) * cast(rate as decimal(18,8))
                        as decimal(38,18)
                    )
                    as decimal(38,26)
                )
                - cast(base % 1 as decimal(18,18)) * cast(rate as decimal(18,8))
            ) <= unit
        ),
        false
    );
