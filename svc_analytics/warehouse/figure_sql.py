"""The SQL made from the catalogue of figures: a statement's two tables of them, and explanations.

Each source is read by one scan, which counts every figure of its records. What was not read is
masked at the end, so that an unknown figure is NULL and never zero.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from svc_analytics.warehouse.figures import Figure, other_figures, read_figures, summary_figures
from svc_analytics.warehouse.sql_text import commented, english_of, lines, message_of, quote, step

# What a figure needs, as a condition on what was read of the period.
_CONDITIONS = {
    "payments": "has_payments",
    "payouts": "has_payouts",
    "refunds_to_date": "has_refunds_to_date",
    "parents": "(refunds_unresolved_count = 0 or has_payments_before)",
    "parents_within": "(refunds_unresolved_count = 0 or has_payments)",
    "opening": "has_opening",
    "closing": "has_closing",
    "verdicts": "has_verdicts",
    "asserted": "asserted_at <= read_to",
    # No record newer than the newest one with a value in USD is missing.
    "rate": "implied_rate_at >= coalesce(prices_whole_from, implied_rate_at)",
}
_COINS = ("movements_count", "closing_position")  # which coins have a row
KNOWN = "int_period_known(starts_at, ends_at, as_of := as_of, known_to := known_to)"
_AMOUNTS = ("coin", "USD")
_BOUNDS = "(starts_at, ends_at)"
_SIGNATURE = "(starts_at, ends_at, as_of := null, known_to := null, assertions := null)"
_HEADER = """\
-- {name}{signature}: {meaning}.
-- grain: one row per currency with a position or a movement{grain}. from: {sources}.
"""
# Scans that hold payers, amounts or refunds in memory, each with the signature of a model of its
# own. Of these a statement keeps the few rows: one query of all does not fit the memory of many.
_APART = {
    "period_payments_distinct": _BOUNDS,
    "period_payments_middle": _BOUNDS,
    "period_fees": _BOUNDS,
    "period_refunds": _BOUNDS,
    "period_returned": "(starts_at, ends_at, as_of := null)",
}
_VALUE = re.compile(r"(?:^|, )(.+?) as (\w+)(?=, |$)")  # of a note: its SQL, its name
_HELD = re.compile("distinct|middle")
# Without a secret no verdict was ever made: the figures are unknown, not zero.
_VERIFIED = "select has_verdicts from stg_verified"
_READ = "select has_verdicts, read_to from stg_verified cross join int_lake"


_KNOWN_FROM = ("int_period_known", "stg_verified", "int_lake")

_KEYS = {"label": "the period's name", "currency": "coin slug"}
_OF_COIN = ("currency",)

Scan = Callable[[str, list[Figure]], str]  # the SQL that counts figures, by the name of their scan
Keys = Collection[str]  # what tells one row from another


def count_figures(scan: str, figures: list[Figure], source: str = "", keys: Keys = _OF_COIN) -> str:
    """Return the SQL that counts figures of one scan: per coin, or by other keys.

    They are counted of the scan's own source, unless another one is given.
    """
    columns = [*keys, *(f"{figure.expression} as {figure.name}" for figure in figures)]
    source = source or f"{figures[0].source}{_needed_rows(figures)}"
    return f"select {', '.join(columns)} from {source} group by {', '.join(keys)}"


def _needed_rows(figures: list[Figure]) -> str:
    """Return which records of their source figures need: none where no receipt was verified."""
    needs_verdicts = all("verdicts" in figure.needs for figure in figures)
    return f" where ({_VERIFIED})" if needs_verdicts else ""


def figure_models() -> Iterator[str]:
    """Yield the SQL of the models that are made from the catalogue, headers included."""
    yield from map(_model_apart, _APART)
    stated, others = summary_figures(), other_figures()
    worth = [read_figures()[name] for name in ("closing_position", "usd_exposure")]
    rate = [figure for figure in read_figures().values() if "newest" in figure.source]
    yield _model("int_figures", "every figure of a period", read_figures().values())
    yield _model("int_worth", "what each coin is worth in USD", dict.fromkeys(worth + rate))
    signature = "(starts_at, ends_at, label := null, as_of := null, known_to := null)"
    head = _header("statement_summary", signature, "every figure of a period", "", stated)
    yield head + _figures_step(stated) + select_summary("figures")
    meaning = "every figure of a period that its summary has no column for"
    head = _header("statement_figures", _SIGNATURE, meaning, ", and figure", others)
    yield head + _figures_step(others) + select_others("figures")


def counted_apart(figures: Iterable[Figure] | None = None) -> dict[str, str]:
    """Return the models that count one scan each for figures, or all, with their signatures."""
    scans = scans_of(read_figures().values() if figures is None else figures)
    return {f"int_counted_{scan}": _APART[scan] for scan in _APART if scan in scans}


def _model_apart(scan: str) -> str:
    figures = scans_of(read_figures().values())[scan]
    source = figures[0].source.partition("(")[0]
    head = f"-- int_counted_{scan}{_APART[scan]}: what a period's figures count of {source}."
    grain = f"-- grain: one row per currency with such a record. from: {source}."
    sql = step("figures", count_figures(scan, figures))
    columns = [("currency", "coin slug"), *((figure.name, figure.meaning) for figure in figures)]
    return f"{head}\n{grain}\n\nwith {sql}\n\nselect\n    {commented(columns)}\nfrom figures\n"


def _count_or_read(scan: str, figures: list[Figure]) -> str:
    """Return the SQL that counts a scan, or reads what its own model has counted."""
    if scan not in _APART:
        return count_figures(scan, figures)
    names = ", ".join(figure.name for figure in figures)
    call = _APART[scan].replace(":= null", ":= as_of")
    return f"select currency, {names} from int_counted_{scan}{call}"


def select_summary(source: str, label: str = "label") -> str:
    """Return the SQL of the table `summary` over a table of all its figures."""
    columns = [(f"{label} as period", "the period's name, as given"), ("currency", "coin slug")]
    columns += [(figure.name, figure.meaning) for figure in summary_figures()]
    return f"""
select
    {commented(columns)}
from {source}
order by currency
"""


def select_others(source: str) -> str:
    """Return the SQL of the table `figures` over a table of all of them."""
    others = other_figures()
    values = [f"({quote(f.name)}, {quote(f.unit)}, {quote(f.meaning)})" for f in others]
    cases = [f"when {quote(f.name)} then {f.name}::decimal(38,18)" for f in others]
    noted = [f for f in others if f.note]
    notes = [f"when {quote(f.name)} then {f.name}_note" for f in noted]
    messages = [f"when {quote(f.name)} then {f.name}_message" for f in noted]
    return f"""
select
    name,  -- the figure
    currency,  -- coin slug
    case name
        {lines(cases, " ", 8)}
    end as value,  -- NULL where it is unknown or undefined
    unit,  -- coin, USD, ratio, or what is counted
    case name {" ".join(notes)} else note end as note,  -- what the figure says
    case name {" ".join(messages)} end as message  -- the code and the values of its own note
from {source}
cross join (
    values
        {lines(values, ",", 8)}
) as listed (name, unit, note)
order by currency, name
"""


def select_figures(
    chosen: Iterable[Figure],
    *,
    every_coin: bool = False,
    known: str = KNOWN,
    scan: Scan = count_figures,
    keys: Keys = _OF_COIN,
) -> str:
    """Return the SQL of figures: one row per coin, NULL where one is unknown.

    The records of each source are read once. What is not there although it was read is zero.
    A coin without a position and a movement has a row only if `every_coin` is wanted. `known`
    yields what was read, and `scan` the SQL of what was counted, where that was done before. Of
    several periods at once a row's `keys` are a coin and which period it is of.
    """
    chosen = list(chosen)
    ratios = [figure for figure in chosen if figure.denominator]
    scans = scans_of(chosen)
    steps = [step("found", f"select * from {known}")]
    steps += [step("coins", f"select {', '.join(keys)} from found")]
    steps += [step(name, scan(name, figures)) for name, figures in scans.items()]
    steps += [step("counted", _joined(scans, keys)), step("verified", _READ)]
    steps += _divided(ratios, keys) if ratios else []
    stated = [(f"counted.{key}", _KEYS[key]) for key in keys]
    stated += [(f"{_masked(figure)} as {figure.name}", figure.meaning) for figure in chosen]
    stated += [column for figure in chosen if figure.note for column in _notes(figure)]
    return f"""\
with {lines(steps, ",", 0)}

select
    {commented(stated)}
from counted
cross join verified
inner join found on {_same("found", "counted", keys)}
{f"left join ratios on {_same('ratios', 'counted', keys)}" if ratios else ""}
{"" if every_coin else "where movements_count > 0 or closing_position <> 0 or lacks_records"}"""


def _notes(figure: Figure) -> list[tuple[str, str]]:
    """Return the columns of a figure's note: its words, and its code and values in JSON."""
    values = {name: sql for sql, name in _VALUE.findall(figure.note)}
    return [
        (f"{english_of(figure.note, values)} as {figure.name}_note", "the same in words"),
        (f"{message_of(figure.note, values)} as {figure.name}_message", "its code and values"),
    ]


def _same(one: str, other: str, keys: Keys) -> str:
    """Return the condition that rows of two steps have the same keys."""
    return " and ".join(f"{one}.{key} = {other}.{key}" for key in keys)


def _joined(scans: dict[str, list[Figure]], keys: Keys) -> str:
    """Return the SQL of what all scans counted, side by side."""
    joins = [f"left join {scan} on {_same(scan, 'coins', keys)}" for scan in scans]
    filled = [
        f"{_filled(figure, scan)} as {figure.name}"
        for scan, figures in scans.items()
        for figure in figures
    ]
    columns = lines([*(f"coins.{key}" for key in keys), *filled], ",", 4)
    return "\n".join([f"select\n    {columns}\nfrom coins", *joins])


def _divided(ratios: list[Figure], keys: Keys) -> list[str]:
    """Return the steps that make ratios, all by one division: planning an exact one is slow."""
    of = ", ".join(keys)
    names = ", ".join(f"({quote(figure.name)})" for figure in ratios)
    part, whole = (
        " ".join(f"when {quote(f.name)} then {f.operands[i]}::decimal(38,18)" for f in ratios)
        for i in (0, 1)
    )
    columns = [f"max(ratio) filter (where name = {quote(f.name)}) as {f.name}" for f in ratios]
    return [
        step(
            "terms",
            f"select {of}, name, case name {part} end as part, case name {whole} end as whole\n"
            f"from counted\ncross join (values {names}) as listed (name)",
        ),
        step("divided", f"select {of}, name, ratio(part, whole) as ratio\nfrom terms"),
        step("ratios", f"select {of}, {', '.join(columns)}\nfrom divided\ngroup by {of}"),
    ]


def _with_operands(chosen: Iterable[Figure]) -> list[Figure]:
    """Return figures, those they are made of, and those that say which coins there are."""
    names = [figure.name for figure in chosen]
    names += [name for figure in chosen for name in figure.operands]
    names += ["refunds_unresolved_count"] * any(
        need.startswith("parents") for figure in chosen for need in figure.needs
    )
    names += ["asserted_at"] * any("asserted" in figure.needs for figure in chosen)
    names += ["asserted_at", "asserted_replaced"] * any(figure.note for figure in chosen)
    names += ["implied_rate_at"] * any("rate" in figure.needs for figure in chosen)
    return [read_figures()[name] for name in dict.fromkeys((*_COINS, *names))]


def scans_of(chosen: Iterable[Figure]) -> dict[str, list[Figure]]:
    """Return figures, and those that they are made of, by the scan that counts them.

    What holds a column in memory, a distinct count or a median, is made apart of that column.
    """
    scans: dict[str, list[Figure]] = {}
    for figure in _with_operands(chosen):
        if figure.operands:
            continue  # it is made of those that are counted
        scan = figure.source.partition("(")[0].removeprefix("int_")
        if (held := _HELD.search(figure.expression)) and scan not in _APART:
            scan = f"{scan}_{held[0]}"
        scans.setdefault(scan, []).append(figure)
    return scans


def _filled(figure: Figure, scan: str) -> str:
    """Return the SQL of a figure where its source may have no record of the coin."""
    column = f"{scan}.{figure.name}"
    if not figure.is_zero_when_empty:
        return column
    zero = "0::decimal(38,18)" if figure.unit in _AMOUNTS else "0"
    return f"case when {scan}.currency is null then {zero} else {column} end"


def _masked(figure: Figure) -> str:
    conditions = " and ".join(_CONDITIONS[need] for need in figure.needs)
    value = figure.expression if figure.operands and not figure.denominator else figure.name
    return f"known({conditions}, {value})" if conditions else value


def _model(name: str, meaning: str, chosen: Iterable[Figure]) -> str:
    figures = list(chosen)
    body = select_figures(figures, scan=_count_or_read)
    return f"{_header(name, _SIGNATURE, meaning, '', figures)}\n{body}"


def _header(name: str, signature: str, meaning: str, grain: str, figures: Iterable[Figure]) -> str:
    scans = scans_of(figures)
    sources = [f"int_{'counted_' * (scan in _APART)}{scan}" for scan in scans]
    listed = ", ".join(dict.fromkeys([*sources, *_KNOWN_FROM]))
    return _HEADER.format(
        name=name, signature=signature, meaning=meaning, grain=grain, sources=listed
    )


def _figures_step(figures: Iterable[Figure]) -> str:
    return f"\nwith {step('figures', select_figures(figures, scan=_count_or_read))}\n"
