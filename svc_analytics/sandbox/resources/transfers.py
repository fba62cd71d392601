"""Money that leaves the business wallet: the record, its entries and its event, in one go."""

import uuid

from svc_analytics.sandbox.core.coins import CENT, Coin, decimal_text
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Movement
from svc_analytics.sandbox.resources.quotes import value_in_usd
from svc_analytics.sandbox.state.idempotency import duplicate
from svc_analytics.sandbox.state.platform import World
from svc_analytics.sandbox.state.store import StoredRecord
from svc_analytics.sandbox.state.wallet import BUSINESS, FEES, customer
from svc_analytics.schema import PAYOUT_RECORDS

KIND = "payout record"  # payouts and refunds share one space of references


class Disbursements:
    """Settles payouts and refunds; both are completed when they are recorded."""

    def __init__(self, world: World) -> None:
        self._world = world

    def is_replay(self, reference_id: str, payload: object) -> bool:
        """Tell whether this payout or refund was made before; refuse a taken reference."""
        if self._world.references.is_replay(KIND, reference_id, payload):
            return True
        used = "select 1 from payout_records where reference_id = ?"
        if self._world.store.fetch(used, (reference_id,)):
            raise duplicate()  # a record of the seeded past
        return False

    def settle(self, movement: Movement, reference_id: str | None, comment: str) -> str:
        """Debit the wallet, pay the recipient, record and tell it; return the record's id."""
        world, now, coin = self._world, self._world.now(), movement.coin
        if world.wallet.available(coin, now) < movement.debited:
            raise Refusal(422, "INSUFFICIENT_BALANCE")
        record_id = str(uuid.uuid4())
        flows = {BUSINESS: -movement.debited, customer(movement.payer_id): movement.units}
        if movement.fee:
            flows[FEES] = movement.fee
        world.wallet.move(f"{movement.kind} {record_id}", now, coin.slug, flows)
        named = {"id": record_id, "reference_id": reference_id, "comment": comment}
        world.store.add(PAYOUT_RECORDS, {**named, **self._facts(movement, now)})
        self._tell(movement.kind, record_id, reference_id)
        return record_id

    def id_of(self, reference_id: str) -> str:
        """Return the id of the record that a reference names."""
        sql = "select id from payout_records where reference_id = ?"
        [(record_id,)] = self._world.store.fetch(sql, (reference_id,))
        return str(record_id)

    def keep(self, reference_id: str, payload: object) -> None:
        """Remember the request behind a record."""
        self._world.references.keep(KIND, reference_id, payload)

    def _facts(self, movement: Movement, now: int) -> StoredRecord:
        return {
            "kind": movement.kind,
            "status": "completed",
            **_figures(movement),
            "usd_value": value_in_usd(self._world, movement.coin, movement.units, now),
            "payer_id": movement.payer_id,
            "payment_id": movement.payment_id,
            "created_at": now,
            "settled_at": now,
        }

    def _tell(self, kind: str, record_id: str, reference_id: str | None) -> None:
        self._world.events.emit(
            "payout.completed",
            self._world.now(),
            payout_id=record_id,
            reference_id=reference_id,
            kind=kind,
            status="completed",
        )


def microdollars(coin: Coin, units: int, price: int) -> int:
    """Return what units are worth, rounded up, so that no limit is passed by rounding."""
    value: int = -(-units * price // 10**coin.decimals)
    return value


def dollars(amount: int) -> int:
    """Return whole dollars in microdollars."""
    return amount * 100 * CENT


def _figures(movement: Movement) -> dict[str, str]:
    coin, is_refund = movement.coin, movement.kind == "refund"
    return {
        "currency": coin.slug,
        "amount": decimal_text(movement.units, coin.decimals),
        "debited_amount": decimal_text(movement.debited, coin.decimals),
        "fee_amount": "0" if is_refund else decimal_text(movement.fee, coin.decimals),
        "fee_percent": "0" if is_refund else decimal_text(movement.fee_tier, 2),
    }
