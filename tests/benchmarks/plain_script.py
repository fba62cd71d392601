"""The script that people write instead: all payments, one page after another, into one file.

python -m tests.benchmarks.plain_script BASE_URL KEY FILE
"""

import sys

import httpx
import pandas as pd

AMOUNTS = ["amount", "charged_amount", "fee_amount", "net_amount", "usd_value"]


def download(base_url: str, key: str, file: str) -> int:
    """Write all payments to a Parquet file; return how many there are."""
    rows, params = [], {"limit": 100}
    with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}) as client:
        while True:
            answer = client.get("/api/pay/v1/payments", params=params)
            page = answer.raise_for_status().json()
            rows += page["data"]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
    payments = pd.DataFrame(rows)
    payments[AMOUNTS] = payments[AMOUNTS].astype(float)
    payments["paid_at"] = pd.to_datetime(payments["paid_at"], format="ISO8601")
    payments.to_parquet(file)
    return len(payments)


if __name__ == "__main__":
    download(*sys.argv[1:])
