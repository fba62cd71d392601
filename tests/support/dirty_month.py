"""A lake of five months in which all stands that makes a month hard to close.

Of every month: seven coins, of which pepe has no USD value, many notes, and refunds. Beside that

- June: sealed, then a payment of it came late, so that its next close restates it;
- July: two receipts whose facts are not those of their payments;
- August: two amounts of 19 decimals, and a payment whose status nobody knows;
- September: payouts of its last days that settled in October;
- October: nothing that blocks a close but the months before it.

    python -m tests.support.dirty_month FOLDER

writes it into FOLDER/data, serves what it was read from, and writes the settings into FOLDER/.env.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Event

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month
from tests.support.closings import Closer
from tests.support.desks import SETTINGS, Desk
from tests.support.fake_service import (
    CHECKOUT_KEY,
    MERCHANT_ID,
    PAYOUT_KEY,
    FakeService,
    Record,
    payment,
    payout,
    refund,
)
from tests.support.loopback import on_a_socket
from tests.support.prepared import copied
from tests.support.receipt_material import FACTS, RING, SECRET, signed

SEALED, FORGED, UNREAD, LATE, CLEAN = "2026-06", "2026-07", "2026-08", "2026-09", "2026-10"
MONTHS = (SEALED, FORGED, UNREAD, LATE, CLEAN)
# What a coin's payments are near, and what a coin is worth in USD.
COINS = {
    "usdt": ("774.537639", "1"),
    "btc": ("0.03125001", "61000"),
    "eth": ("0.627379542862185491", "2500"),
    "sol": ("6.5", "186.09"),
    "trx": ("2210.25", "0.31"),
    "doge": ("1805.125", "0.22"),
    "pepe": ("96774193.5", None),
}
UNPRICED = "pepe"
PER_COIN = 24  # payments of a month


def dirty_service() -> FakeService:
    """Return the service that holds them, without the payment of June that comes late."""
    service = FakeService()
    for place, label in enumerate(MONTHS):
        paid = list(_payments(label, place * 1000))
        service.payments += paid
        service.payouts += _payout_records(label, place * 1000, paid)
    _spoil(service)
    return service


def late_payment() -> Record:
    """Return the payment of June that the service lists after June was sealed."""
    return _with_receipt(payment(9001, f"{SEALED}-30T21:15:00Z", "250.5", "2.505"))


def make_dirty_lake(folder: Path) -> Lakehouse:
    """Read it all into a lake, seal June, and read June's late payment; or copy such a lake."""

    def make() -> None:
        closer = Closer(Desk.at(folder, dirty_service()))
        closer.desk.extract()
        closed = closer.close(SEALED, settings=replace(SETTINGS, receipt_secrets=RING))
        assert closed.state == "sealed", closed.reasons
        closer.desk.service.payments.append(late_payment())
        closer.desk.extract(start=month(SEALED).start, rereads=True)

    copied("dirty", folder, make)
    return Lakehouse(folder)


def _payments(label: str, first: int) -> Iterator[Record]:
    """Yield the payments of a month, three a day of each coin; a fee or a rate differs for some."""
    for of_coin, (coin, (usual, rate)) in enumerate(COINS.items()):
        for place in range(PER_COIN):
            number, day = first + of_coin * PER_COIN + place, 1 + place // 3 * 3
            # Never the same amount twice, and always as many places as the coin has.
            amount = Decimal(usual) + Decimal(usual).scaleb(-2) * (number % 37)
            fee = amount.scaleb(-2) if place % 8 else amount * Decimal("0.008")
            worth = amount * Decimal(rate or 0) * (Decimal("1.25") if place % 12 == 5 else 1)
            usd = None if rate is None else f"{worth:.2f}"
            at = f"{label}-{day:02}T{of_coin + 8:02}:{place:02}:07.{number:06d}Z"
            more = {"currency": coin, "usd_value": usd}
            more |= {"fee_bearer": "merchant" if place % 5 else "customer"}
            yield _with_receipt(payment(number, at, _text(amount), _text(fee), **more))


def _payout_records(label: str, first: int, paid: list[Record]) -> Iterator[Record]:
    """Yield a refund of every ninth payment, and a payout of each coin on the last four days."""
    for place, parent in enumerate(paid[::9]):
        back, usd = _text(Decimal(parent["amount"]) / 2), parent["usd_value"]
        usd = usd and f"{Decimal(usd) / 2:.2f}"
        at = f"{label}-{26 + place % 3}T10:{place:02}:00Z"
        yield refund(first + 500 + place, parent, at, back, usd_value=usd)
    for place, (coin, (usual, rate)) in enumerate(COINS.items()):
        sent = Decimal(usual) * 4
        usd = None if rate is None else f"{sent * Decimal(rate):.2f}"
        more = {"currency": coin, "usd_value": usd}
        if label == LATE:
            more["settled_at"] = f"2026-10-0{3 + place % 4}T11:00:00Z"
        at, fee = f"{label}-{27 + place % 4}T09:0{place}:00Z", _text(sent.scaleb(-2))
        yield payout(first + 600 + place, at, _text(sent), fee, **more)


def _spoil(service: FakeService) -> None:
    """Forge two receipts of July; put two records that cannot be held, and one odd, in August."""
    forged = [each for each in service.payments if each["paid_at"].startswith(FORGED)][:2]
    for each in forged:
        each["receipt"] = _with_receipt(each | {"amount": "1"})["receipt"]
    service.payments += [
        payment(9100 + place, f"{UNREAD}-1{place}T09:00:00Z", currency=coin) | {"amount": amount}
        for place, (coin, amount) in enumerate(
            [("usdt", "0.1234567890123456789"), ("trx", "12.0000000000000000001")]
        )
    ]
    odd = payment(9200, f"{UNREAD}-20T09:00:00Z", "75", "0.75", status="under_observation")
    service.payments.append(_with_receipt(odd))


def _with_receipt(record: Record) -> Record:
    facts = {name: record.get(name, MERCHANT_ID) for name in FACTS if name != "payment_id"}
    return record | {"receipt": signed({"payment_id": record["id"]} | facts)}


def _text(amount: Decimal) -> str:
    """Write an amount with at most 18 places, as the service does."""
    return f"{amount:.18f}".rstrip("0").rstrip(".")


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    make_dirty_lake(folder / "data")
    service = dirty_service()
    service.payments.append(late_payment())
    service.now = None  # the clock of the machine is the one that counts
    with on_a_socket(service) as address:
        settings = {"BASE_URL": address, "CHECKOUT_KEY": CHECKOUT_KEY, "PAYOUT_KEY": PAYOUT_KEY}
        settings |= {"RECEIPT_SECRETS": SECRET, "DATA_DIR": str(folder / "data")}
        lines = [f"SVC_{name}='{value}'\n" for name, value in settings.items()]
        (folder / ".env").write_text("".join(lines), encoding="utf-8")
        sys.stdout.write(f"served at {address}; settings are in {folder / '.env'}\n")
        sys.stdout.flush()
        Event().wait()


if __name__ == "__main__":
    main()
