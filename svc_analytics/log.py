"""What the library tells a program that listens to the logger `svc_analytics`.

INFO says what was done, WARNING what a person should look at, DEBUG which call of the service
is made again, and why. It holds no key, no secret and no customer's data.
"""

import logging
from collections.abc import Iterable

LOG = logging.getLogger("svc_analytics")
LOG.addHandler(logging.NullHandler())  # without it, Python prints warnings of whoever is silent
# What only a form can tell while it is written: no command says it besides, so each prints it.
FORM_LOG = LOG.getChild("form")


def log_lines(lines: Iterable[str], *, needs_attention: bool) -> None:
    """Tell each line: as a warning if a person should look."""
    for line in lines:
        LOG.log(logging.WARNING if needs_attention else logging.INFO, "%s", line.strip())
