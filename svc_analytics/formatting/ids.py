"""How ids are written: a UUID has one spelling, in lower case."""

import re

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def canonical_id(text: str) -> str:
    """Return a UUID in lower case, and any other id as it is.

    >>> canonical_id("6BA7B810-9DAD-11D1-80B4-00C04FD430C8"), canonical_id("SVC-0A1")
    ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'SVC-0A1')
    """
    return text.lower() if _UUID.fullmatch(text) else text
