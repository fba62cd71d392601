"""A ledger with everything that a form could get wrong: long digits, hostile texts."""

from collections.abc import Callable
from pathlib import Path

from svc_analytics.statements.statement import Statement

LEDGER = """
 kind     currency  amount                fee     at                of  usd_value  fee_bearer
 payment  btc       1.5                   0.03    2026-09-30T23:59      90000      merchant
 payment  btc       2                     0.02    2026-10-01T00:00      130000     merchant
 payment  usdt      100.000001            1       2026-10-05T08:00      100        merchant
 payment  usdt      10                    1       2026-10-05T09:00      10         customer
 payment  eth       1.000000000000000003  0       2026-10-06T08:00                 merchant
 refund   btc       0.5                           2026-10-07T08:00  1   32000
 payout   usdt      50                    0.5     2026-10-09T08:00      50
 payout   sol       7                     0.07    2026-10-10T08:00      1400
"""
FORMULA = '=HYPERLINK("http://evil.example","pay")'
SCRIPT = "<script>alert(1)</script>"
TURNED = "invoice\u202exslx.exe"
PERSIAN = "فروشگاه زعفران"

Make = Callable[..., Statement]
Save = Callable[..., Path]
