"""What assertions.csv says of a sealed month that its seal does not: notes, and no difference.

A sealed statement is made again with the balances that it names.
"""

from svc_analytics.closing import seals
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.statements.balance_assertions import FILE, asserted_within, read_assertions


def balance_notes(lake: Lake, manifest: seals.Manifest, period: Period) -> list[str]:
    """Name the balances of a period that were written, corrected or removed since its sealing.

    Raises `ConfigError` for a line of the file that cannot be read.
    """
    named = seals.sealed_assertions(manifest)
    if named is None:
        return []
    sealed = {(each.at, each.currency): each for each in named}
    written = asserted_within(read_assertions(lake.path), period)
    now = {(each.at, each.currency): each for each in written}
    texts = []
    for key in sorted({**sealed, **now}):
        if key not in sealed:
            texts.append(f"{now[key].text} was asserted after the sealing")
        elif key not in now:
            texts.append(f"{sealed[key].text} was sealed, and {FILE} no longer has it")
        elif now[key].balance != sealed[key].balance:
            texts.append(f"{FILE} now has {now[key].text}; {sealed[key].text} was sealed")
    more = f"svc-analytics statement --month {period.label} compares what {FILE} has now"
    return [*texts, more] if texts else []
