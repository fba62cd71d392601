"""ledger: a journal as text."""

from svc_analytics.books.presets.plain_text import preset

PRESET = preset("ledger", "ledger")
