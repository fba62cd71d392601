"""What rules find, without the plan that a query of a user gets: that of all takes seconds."""

from typing import Any

import pandas as pd

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.explain import fill
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.view_builder import findings_within
from svc_analytics.warehouse.warehouse import open_warehouse

EVER = {"starts_at": "'0001-01-02'", "ends_at": "'9999-12-30'"}


def findings_of(lake: Lakehouse, *rules: str) -> pd.DataFrame:
    """The rows of `exceptions` that these rules have put there."""
    checks = {check.name: check for check in read_checks()}
    found = (f"from ({fill(findings_within(checks[rule]), EVER)})" for rule in rules)
    return lake.sql(" union all by name ".join(found))


def all_findings(lake: Lakehouse) -> list[dict[str, Any]]:
    """The rows of `exceptions`."""
    with open_warehouse(lake, as_written=True) as warehouse:
        return warehouse.query("from exceptions").to_pylist()
