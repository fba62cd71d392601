"""Apply the rules over records and files: to few records together, to many one rule at a time.

One query of all rules takes less time to plan, and few records are read once for all of them. Of a
month of ten million lines it needs more memory at once than a query gets; no rule alone does.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

import pyarrow as pa

from svc_analytics.lake.layout import ORIGIN
from svc_analytics.periods import month
from svc_analytics.warehouse.models import read_all_models, read_checks, read_statement_checks
from svc_analytics.warehouse.sql_text import fill_places, instant_literal
from svc_analytics.warehouse.view_builder import FINDINGS, findings_within
from svc_analytics.warehouse.warehouse import Warehouse

STRETCH = 5_000_000  # records, at least, of the months that a rule about a period is applied to
_ALWAYS = ("'0001-01-02'", "'9999-12-30'")
# What several rules read of all records: the sums of each file, and the fee tiers of each day.
_SHARED = ("stg_contents", "int_fee_rates_within")
# What many rules read, in the order in which it is made of one another.
_HELD = (
    *("payments", "payout_records", "stg_files", "stg_kept_files", "stg_parents", "stg_spans"),
    *("stg_quarantine", "int_coverage_gaps", "int_omissions", "int_too_large", *_SHARED),
)
_EXCEPTIONS = """
    select check_name, severity, record_id, month, currency, detail, content, seen_at, message
    from {source}
    order by severity desc, check_name, occurred_at, record_id, content
"""


def find_exceptions(warehouse: Warehouse, rules: Collection[str] = ()) -> pa.Table:
    """Return the rows of a lake that break a rule, or one of these `rules`, over all time."""
    if warehouse.is_held and not rules:
        hold_shared(warehouse)
    elif warehouse.is_large and not rules:
        keep_all_findings(warehouse)
    chosen = [
        fill_places(findings_within(each), _places(_ALWAYS))
        for each in read_checks()
        if each.name in rules
    ]
    source = f"({' union all '.join(chosen)})" if rules else "exceptions"
    return warehouse.query(_EXCEPTIONS.format(source=source))


def keep_all_findings(warehouse: Warehouse) -> None:
    """Apply the rules of statements one after another, over all time, for `exceptions` to read."""
    _hold(warehouse, _SHARED)
    keep_findings(warehouse, [_ALWAYS[0], *_cuts(warehouse), _ALWAYS[1]])


def hold_shared(warehouse: Warehouse, models: Collection[str] | None = None) -> None:
    """Read once what many rules read, as far as it is among these models; None means all."""
    _hold(warehouse, [name for name in _HELD if models is None or name in models])


def _hold(warehouse: Warehouse, names: Sequence[str]) -> None:
    """Read once what these models yield over all time."""
    signatures = {model.name: model.signature for model in read_all_models()}
    for name in names:
        query = fill_places(f"from {name}{signatures[name]}", _places(_ALWAYS))
        warehouse.keep(name, query, {}, signatures[name])


def keep_findings(warehouse: Warehouse, bounds: Sequence[str]) -> None:
    """Apply one rule after another; whatever reads `statement_checks` reads what they found.

    `bounds` are SQL of instants. A rule about a period is applied between each two of them.
    """
    parts: list[str] = []
    for rule in read_statement_checks():
        spans = pairwise(bounds) if "starts_at" in rule.sql else [(bounds[0], bounds[-1])]
        for span in spans:
            name = f"found_{len(parts)}"
            parts.append(f"from {name}")
            warehouse.keep(name, fill_places(findings_within(rule), _places(span)), {}, "")
    warehouse.keep(FINDINGS.name, " union all ".join(parts), {}, FINDINGS.signature)


def _cuts(warehouse: Warehouse) -> list[str]:
    """Return the instants that part all months into stretches of enough records, as SQL."""
    rows: Counter[str] = Counter()
    for footers in warehouse.sources.footers.values():
        rows.update({label: each.totals.rows for label, each in footers.items() if label != ORIGIN})
    cuts, count = [], 0
    for label in sorted(rows):
        count += rows[label]
        if count >= STRETCH:
            cuts.append(instant_literal(month(label).end))
            count = 0
    return cuts


def _places(span: tuple[str, str]) -> dict[str, str]:
    return dict(zip(("starts_at", "ends_at"), span, strict=True))
