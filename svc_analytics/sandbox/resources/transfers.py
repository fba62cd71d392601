"""Transfers: money leaves the business wallet, with record, entries and event."""

import uuid
from collections.abc import Callable

from svc_analytics.sandbox.core.coins import CENT, Coin
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Transfer
from svc_analytics.sandbox.resources.quotes import value_in_usd
from svc_analytics.sandbox.state.idempotency import duplicate_reference
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.store import StoredRecord
from svc_analytics.sandbox.state.wallet import BUSINESS, FEES, customer
from svc_analytics.schema import PAYOUT_RECORDS

KIND = "payout record"  # payouts and refunds share their references


class Transfers:
    """Settle payouts and refunds; a recorded transfer is completed."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def once(self, reference_id: str, payload: object, make: Callable[[], object]) -> str:
        """Make a payout or refund unless the same request did; return the record id."""
        platform = self._platform
        platform.open_wallets()
        with platform.store.transaction():
            if not platform.idempotency_keys.is_replay(KIND, reference_id, payload):
                if self._ids(reference_id):
                    raise duplicate_reference()  # the reference belongs to the seeded past
                make()
                platform.idempotency_keys.keep(KIND, reference_id, payload)
            [record_id] = self._ids(reference_id)
            return record_id

    def settle(self, transfer: Transfer, reference_id: str | None, comment: str) -> str:
        """Move the money, add the record, emit the event; return the record id."""
        platform, now, coin = self._platform, self._platform.now(), transfer.coin
        if platform.wallet.available(coin, now) < transfer.debited:
            raise Refusal(422, "INSUFFICIENT_BALANCE")
        record_id = str(uuid.uuid4())
        flows = {BUSINESS: -transfer.debited, customer(transfer.payer_id): transfer.units}
        if transfer.fee:
            flows[FEES] = transfer.fee
        platform.wallet.move(f"{transfer.kind} {record_id}", now, coin.slug, flows)
        named = {"id": record_id, "reference_id": reference_id, "comment": comment}
        platform.store.add(PAYOUT_RECORDS, {**named, **self._facts(transfer, now)})
        self._emit(transfer.kind, record_id, reference_id)
        return record_id

    def _ids(self, reference_id: str) -> list[str]:
        sql = "select id from payout_records where reference_id = ?"
        return [str(row[0]) for row in self._platform.store.fetch(sql, (reference_id,))]

    def _facts(self, transfer: Transfer, now: int) -> StoredRecord:
        return {
            "kind": transfer.kind,
            "status": "completed",
            **transfer.figures,
            "usd_value": value_in_usd(self._platform, transfer.coin, transfer.units, now),
            "payer_id": transfer.payer_id,
            "payment_id": transfer.payment_id,
            "created_at": now,
            "settled_at": now,
        }

    def _emit(self, kind: str, record_id: str, reference_id: str | None) -> None:
        self._platform.outbox.emit(
            "payout.completed",
            self._platform.now(),
            payout_id=record_id,
            reference_id=reference_id,
            kind=kind,
            status="completed",
        )


def microdollars(coin: Coin, units: int, price: int) -> int:
    """Return the value of units in microdollars, rounded up so that limits hold."""
    value: int = -(-units * price // 10**coin.decimals)
    return value


def dollars(amount: int) -> int:
    """Convert whole dollars to microdollars."""
    return amount * 100 * CENT
