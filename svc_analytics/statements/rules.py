"""Apply the rules over records and files: to few records together, to many one rule at a time.

One query of all rules plans and reads less. Where a month has ten million lines it needs more
memory at once than a query gets, for a part of each rule waits until the last one is done.
"""

import pyarrow as pa

from svc_analytics.statements.explain import fill
from svc_analytics.warehouse.models import read_all_models, read_statement_checks
from svc_analytics.warehouse.views import FINDINGS, findings_within
from svc_analytics.warehouse.warehouse import Warehouse

_ALL_TIME = {"starts_at": "'0001-01-02'", "ends_at": "'9999-12-30'"}
_SHARED = {"stg_contents", "int_fee_rates_within"}  # what several rules read of all records
_EXCEPTIONS = """
    select check_name, severity, record_id, month, currency, detail
    from exceptions
    order by severity desc, check_name, occurred_at, record_id
"""


def find_exceptions(warehouse: Warehouse) -> pa.Table:
    """Return the rows of a lake that break a rule, over all time."""
    if warehouse.is_large:
        for model in filter(lambda model: model.name in _SHARED, read_all_models()):
            query = fill(f"from {model.name}{model.signature}", _ALL_TIME)
            warehouse.keep(model.name, query, {}, model.signature)
        keep_findings(warehouse, _ALL_TIME)
    return warehouse.query(_EXCEPTIONS)


def keep_findings(warehouse: Warehouse, bounds: dict[str, str]) -> None:
    """Apply one rule after another; whatever reads `statement_checks` reads what they found.

    `bounds` are the SQL of `starts_at` and `ends_at`.
    """
    parts = []
    for rule in read_statement_checks():
        parts.append(f"from found_{rule.name}")
        warehouse.keep(f"found_{rule.name}", fill(findings_within(rule), bounds), {}, "")
    warehouse.keep(FINDINGS.name, " union all ".join(parts), {}, FINDINGS.signature)
