"""How far figures in USD rest on values that the service recorded, in lines of text."""

from collections.abc import Mapping

import pyarrow as pa

from svc_analytics.messages import Message
from svc_analytics.warehouse.definitions import label_of

_COUNTS = {
    "usd_gross": "payments_count",
    "usd_refunds": "refunds_count",
    "usd_payouts": "payouts_count",
}


def describe_pricing(tables: Mapping[str, pa.Table]) -> list[Message]:
    """Say of which coins only some records have a value in USD."""
    values = {(row["name"], row["currency"]): row["value"] for row in tables["figures"].to_pylist()}
    return [
        Message(
            "{FIGURE} of {coin}: {count} of {total} records have a USD value, and the others add "
            "nothing",
            FIGURE=label_of(name),
            coin=row["currency"],
            count=f"{int(priced):,}",
            total=f"{row[count]:,}",
        )
        for row in tables["summary"].to_pylist()
        for name, count in _COUNTS.items()
        if (priced := values.get((f"{name}_priced_count", row["currency"]))) and priced < row[count]
    ]
