"""What an engine says in words of its own, because a translator would let it through unchanged.

Each macro here means what the macro of the same name in `macros.sql` means; the probe asks for
values that tell them apart.
"""

from __future__ import annotations

from functools import cache

import sqlglot

from svc_analytics.engines.trees import Macro

# The tie of a half goes away from zero. The whole part is halved apart: 0.5 takes a place.
_MIDDLE18 = (
    "lower_one + cast(cast((upper_one - lower_one) - (upper_one - lower_one) % 2 "
    "as decimal(38,0)) * 0.5 as decimal(38,18)) "
    "+ cast(round(cast((upper_one - lower_one) % 2 as decimal(19,18)) * 0.5, 18) "
    "as decimal(38,18))"
)
_MIDDLE8 = "cast(round((lower_one + upper_one) * 0.5, 8) as decimal(38,8))"
_MIDDLES = {
    "middle18": (("lower_one", "upper_one"), _MIDDLE18),
    "middle8": (("lower_one", "upper_one"), _MIDDLE8),
}
_SPARK = _MIDDLES | {
    "make_timestamptz": (("micros",), "timestamp_micros(micros)"),
    "instant_text": (("moment",), "concat(cast(moment as string), '+00')"),
    "days_between": (("a", "b"), "datediff(cast(b as date), cast(a as date))"),
    "whole_days": (("a", "b"), "(unix_micros(b) - unix_micros(a)) div 86400000000"),
    "text_hash": (("x",), "xxhash64(x)"),
    "micros": (("moment",), "unix_micros(moment)"),
    "local_time": (
        ("moment", "zone"),
        "case when zone like '[%' then timestamp_micros(unix_micros(moment) + aggregate("
        "from_json(zone, 'array<struct<since:bigint,ahead:bigint>>'), cast(0 as bigint), "
        "(found, each) -> case when each.since <= unix_micros(moment) then each.ahead "
        "else found end)) else from_utc_timestamp(moment, zone) end",
    ),
    "fact": (
        ("x",),
        "coalesce(concat(cast(length(cast(x as string)) as string), ':', cast(x as string)), '-')",
    ),
    # Of a struct of one text, without the name around it.
    "json_text": (
        ("x",),
        "case when x is not null then substring(to_json(named_struct('x', cast(x as string))), 6, "
        "length(to_json(named_struct('x', cast(x as string)))) - 6) end",
    ),
    "customer_in": (("metadata",), "nullif(get_json_object(metadata, '$.customer.id'), '')"),
    "digest": (("x",), "sha2(x, 256)"),
    "plus": (("x", "y"), "try_add(x, y)"),
    "is_at_large_rate": (
        ("fee", "base", "rate", "unit"),
        "coalesce(abs(try_cast(try_subtract(fee, try_cast("
        "cast(base - base % 1 as decimal(20,0)) * try_cast(rate as decimal(18,8)) "
        "as decimal(38,18))) as decimal(38,26)) "
        "- cast(base % 1 as decimal(18,18)) * try_cast(rate as decimal(18,8))) <= unit, false)",
    ),
}
_TRINO = _MIDDLES | {
    "make_timestamptz": (
        ("micros",),
        "from_unixtime_nanos(cast(micros as decimal(38,0)) * 1000)",
    ),
    "instant_text": (
        ("moment",),
        "regexp_replace(cast(cast(moment as timestamp(6)) as varchar), '\\.?0+$', '') || '+00'",
    ),
    "days_between": (("a", "b"), "date_diff('day', cast(a as date), cast(b as date))"),
    "whole_days": (("a", "b"), "date_diff('millisecond', a, b) / 86400000"),
    "text_hash": (("x",), "xxhash64(to_utf8(x))"),
    "micros": (("moment",), "cast(round(to_unixtime(moment) * 1000000) as bigint)"),
    "local_time": (
        ("moment", "zone"),
        "case when zone like '[%' then date_add('millisecond', reduce("
        "cast(json_parse(zone) as array(row(since bigint, ahead bigint))), cast(0 as bigint), "
        "(found, each) -> case when each.since <= to_unixtime(moment) * 1000000 then each.ahead "
        "else found end, found -> found) / 1000, moment) else moment at time zone zone end",
    ),
    "fact": (
        ("x",),
        "coalesce(cast(length(cast(x as varchar)) as varchar) || ':' || cast(x as varchar), '-')",
    ),
    "json_text": (("x",), "json_format(cast(cast(x as varchar) as json))"),
    "customer_in": (
        ("metadata",),
        "nullif(try(json_extract_scalar(metadata, '$.customer.id')), '')",
    ),
    "digest": (("x",), "lower(to_hex(sha256(to_utf8(x))))"),
    "plus": (("x", "y"), "try(x + y)"),
    "is_at_large_rate": (
        ("fee", "base", "rate", "unit"),
        "coalesce(try(abs(cast(fee - cast(cast(base - base % 1 as decimal(20,0)) "
        "* cast(rate as decimal(18,8)) as decimal(38,18)) as decimal(38,26)) "
        "- cast(base % 1 as decimal(18,18)) * cast(rate as decimal(18,8))) <= unit), false)",
    ),
}
_WORDS = {"spark": _SPARK, "databricks": _SPARK, "trino": _TRINO}
RAISES = {"spark": "raise_error", "databricks": "raise_error", "trino": "fail"}
DIALECTS = tuple(sorted(_WORDS))  # that our SQL can be printed in


@cache
def own_words(dialect: str) -> dict[str, Macro]:
    """Return the macros that an engine words itself, by name."""
    return {
        name: (names, sqlglot.parse_one(body, read=dialect))
        for name, (names, body) in _WORDS.get(dialect, _MIDDLES).items()
    }
