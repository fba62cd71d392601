"""Live sums of a workbook: formulas that give what their cell holds, to the last digit.

A spreadsheet counts in binary with 15 digits. A sum that stays within them, rounded to its own
places, is exact there; only such a sum is a formula, and any other stays a number.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import reduce

from svc_analytics.money import EXACT

_DIGITS = 15  # that a spreadsheet keeps


def sum_formula(parts: Mapping[str, Decimal | int], total: Decimal | int) -> str:
    """Return the formula that adds up parts by their cells; no text where it is not exact.

    >>> sum_formula({"B2": Decimal("0.1"), "B3": Decimal("0.2")}, Decimal("0.3"))
    'ROUND(SUM(B2,B3),1)'
    >>> sum_formula({"B2": 1, "B3": 2}, 3), sum_formula({"B2": 1, "B3": 2}, 4)
    ('SUM(B2,B3)', '')
    """
    values = [Decimal(value) for value in parts.values()]
    if len(values) < 2 or reduce(EXACT.add, values) != total:
        return ""
    places = max(map(_places, values))
    size = reduce(EXACT.add, (value.copy_abs() for value in values)).scaleb(places, EXACT)
    if size * len(values) >= 10**_DIGITS:  # each addition may round: all of them within a half
        return ""
    formula = f"SUM({','.join(parts)})"
    return f"ROUND({formula},{places})" if places else formula


def _places(value: Decimal) -> int:
    return max(-int(value.normalize(EXACT).as_tuple().exponent), 0)
