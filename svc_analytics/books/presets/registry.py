"""The presets by name; a new one is a module and a line here."""

from svc_analytics.books.presets import (
    beancount,
    csv_file,
    datev,
    erpnext,
    hledger,
    ledger,
    netsuite,
    odoo,
    qbo,
    xero,
)
from svc_analytics.books.presets.preset import Preset

PRESETS: dict[str, Preset] = {
    module.PRESET.name: module.PRESET
    for module in (qbo, xero, odoo, erpnext, netsuite, datev, hledger, ledger, beancount, csv_file)
}
