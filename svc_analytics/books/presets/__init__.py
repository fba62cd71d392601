"""The systems that import entries, by name, with the limits that each publishes."""

from svc_analytics.books.presets.csv_files import ERPNEXT, NETSUITE, ODOO, PLAIN_CSV, QBO, XERO
from svc_analytics.books.presets.datev import DATEV
from svc_analytics.books.presets.plain_text import BEANCOUNT, HLEDGER, LEDGER
from svc_analytics.books.presets.preset import Preset

_ALL = (QBO, XERO, ODOO, ERPNEXT, NETSUITE, DATEV, HLEDGER, LEDGER, BEANCOUNT, PLAIN_CSV)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
