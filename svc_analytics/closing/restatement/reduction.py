"""Two statements by what both name: a newer release may state more, and that is no difference.

A sealed statement is compared with what it names itself: its tables, its columns in their
order, its figures, its trend of twelve months or more, and its payers in the form that it has.
"""

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.closing.restatement.diff import Tables
from svc_analytics.render.bridge import TREND

_FIGURES = "figures"  # the table with a row for each figure and coin
_MONTHS = 12  # of a trend that earlier releases sealed
_PAYER = "payer_ref"
_PREFIX = "p-"  # of a payer, since there is a trend: without it, a spreadsheet read some as numbers


def comparable(sealed: Tables, new: Tables) -> tuple[Tables, Tables]:
    """Return the tables of two statements with what both name, as the sealed one has it."""
    return both_name(sealed, in_older_form(sealed, new))


def both_name(sealed: Tables, new: Tables) -> tuple[Tables, Tables]:
    """Return the tables of two statements with what both name, in the order of the sealed one."""
    pairs = {name: _both(name, sealed[name], new[name]) for name in sealed if name in new}
    return {name: pair[0] for name, pair in pairs.items()}, {
        name: pair[1] for name, pair in pairs.items()
    }


def in_older_form(sealed: Tables, new: Tables) -> Tables:
    """Return a new statement's tables, its payers as a sealed one from before the prefix has them.

    Such a one has no trend, and none of its payers begins with it.
    """
    named = [table[_PAYER] for table in sealed.values() if _PAYER in table.column_names]
    has_prefix = any(pc.any(pc.starts_with(each, _PREFIX)).as_py() for each in named)
    return new if TREND in sealed or has_prefix else {n: _bare(t) for n, t in new.items()}


def _bare(table: pa.Table) -> pa.Table:
    if _PAYER not in table.column_names:
        return table
    place = table.column_names.index(_PAYER)
    bare = pc.replace_substring_regex(table[_PAYER], f"^{_PREFIX}", "")
    return table.set_column(place, table.schema.field(place), bare)


def _both(name: str, sealed: pa.Table, new: pa.Table) -> tuple[pa.Table, pa.Table]:
    columns = [column for column in sealed.column_names if column in new.column_names]
    old, now = _select(sealed, columns), _select(new, columns)
    if name == TREND and "month" in columns:
        return old, _newest_year(now, old)
    if name != _FIGURES or not (len(old) and len(now)):
        return old, now
    return _of_figures(old, now), _of_figures(now, old)


def _select(table: pa.Table, columns: list[str]) -> pa.Table:
    return table if columns == table.column_names else table.select(columns)


def _of_figures(table: pa.Table, other: pa.Table) -> pa.Table:
    """Return the rows of the figures that the other table has rows of."""
    is_in_both = pc.is_in(table["name"], value_set=pc.unique(other["name"]))
    return table if pc.all(is_in_both).as_py() else table.filter(is_in_both)


def _newest_year(new: pa.Table, sealed: pa.Table) -> pa.Table:
    """Return the last twelve months of a trend, if the sealed one has none before them."""
    months = sorted(set(new["month"].to_pylist()))  # labels of one calendar are ordered by time
    year = pa.array(months[-_MONTHS:])
    if len(months) <= _MONTHS or not pc.all(pc.is_in(sealed["month"], value_set=year)).as_py():
        return new
    return new.filter(pc.is_in(new["month"], value_set=year))


def months_left_out(sealed: Tables, new: Tables) -> list[str]:
    """Name the months before the last twelve, if a new trend has some and a sealed one none."""
    if TREND not in sealed or TREND not in new:
        return []
    is_shorter = len(_newest_year(new[TREND], sealed[TREND])) < len(new[TREND])
    return [f"the months of {TREND} before the last twelve"] if is_shorter else []


def no_longer_stated(sealed: Tables, new: Tables) -> list[str]:
    """Name the tables, columns and figures of a sealed statement that a new one does not have."""
    lacking = [f"the table {name}" for name in sealed if name not in new]
    for name in (name for name in sealed if name in new):
        columns = [each for each in sealed[name].column_names if each not in new[name].column_names]
        lacking += [f"{name}.{column}" for column in columns]
    if len(sealed.get(_FIGURES, ())) and len(new.get(_FIGURES, ())):
        known = set(new[_FIGURES]["name"].to_pylist())
        named = dict.fromkeys(sealed[_FIGURES]["name"].to_pylist())
        lacking += [f"{_FIGURES}.{name}" for name in named if name not in known]
    return lacking
