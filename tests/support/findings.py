"""What one rule finds, without the plan of all the others, which takes a second."""

import pandas as pd

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.explain import fill
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.view_builder import findings_within

EVER = {"starts_at": "'0001-01-02'", "ends_at": "'9999-12-30'"}


def findings_of(lake: Lakehouse, rule: str) -> pd.DataFrame:
    """The rows of `exceptions` that a rule has put there."""
    [check] = (each for each in read_checks() if each.name == rule)
    return lake.sql(fill(findings_within(check), EVER))
