"""ledger: a journal as text. It counts entries of one UUID once."""

from svc_analytics.books.presets.plain_text import Once, preset

PRESET = preset(
    "ledger",
    "ledger",
    Once(lambda journal: (), lambda journal, entry: (f"    ; UUID: {entry.entry_id}",)),
    again="each entry counts once, by its UUID",
)
