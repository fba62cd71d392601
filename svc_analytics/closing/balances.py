"""What assertions.csv says of a sealed month that its seal does not: notes, and no difference.

A sealed statement is made again with the balances that it names.
"""

from svc_analytics.closing import seals
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.statements.balance_assertions import FILE, asserted_within, read_assertions

_GONE = "{SEALED} was sealed, and {file} no longer has it"
_COMPARES = "{command} compares what {file} has now"


def balance_notes(lake: Lake, manifest: seals.Manifest, period: Period) -> list[Message]:
    """Name the balances of a period that were written, corrected or removed since its sealing.

    Raises `ConfigError` for a line of the file that cannot be read.
    """
    named = seals.sealed_assertions(manifest)
    if named is None:
        return []
    sealed = {(each.at, each.currency): each for each in named}
    written = asserted_within(read_assertions(lake.path), period)
    now = {(each.at, each.currency): each for each in written}
    texts: list[Message] = []
    for key in sorted({**sealed, **now}):
        if key not in sealed:
            texts.append(
                Message("{NOW} was asserted after the sealing", now=translated(now[key].text))
            )
        elif key not in now:
            texts.append(Message(_GONE, sealed=translated(sealed[key].text), file=FILE))
        elif now[key].balance != sealed[key].balance:
            values = {"now": translated(now[key].text), "sealed": translated(sealed[key].text)}
            texts.append(Message("{file} now has {NOW}; {SEALED} was sealed", file=FILE, **values))
    command = f"svc-analytics statement --month {period.label}"
    more = Message(_COMPARES, command=command, file=FILE)
    return [*texts, more] if texts else []
