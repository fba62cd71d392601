"""A small model of the service's read side, in memory: what the tests of the client,
the extraction and the lake read from. It shares no code with the sandbox."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs
from uuid import NAMESPACE_OID, uuid5

import httpx

BASE_URL = "https://pay.example"
CHECKOUT_KEY = "svc_live_" + "1" * 64
PAYOUT_KEY = "svc_payout_" + "2" * 64
MERCHANT_ID = "11111111-1111-4111-8111-111111111111"
EXACT = Context(prec=80)
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

Record = dict[str, Any]
Handler = Callable[[httpx.Request], httpx.Response | None]


def payment(number: int, paid_at: str, amount: str = "10", fee: str = "0.1", **more: Any) -> Record:
    """Make a regular payment of the contract."""
    net = more.pop("net_amount", None) or format(EXACT.subtract(Decimal(amount), Decimal(fee)), "f")
    return {
        "id": str(uuid5(NAMESPACE_OID, f"payment-{number}")),
        "receipt_no": f"SVC-{number:06d}",
        "session_id": str(uuid5(NAMESPACE_OID, f"session-{number}")),
        "reference_id": f"order-{number}",
        "status": "completed",
        "currency": "usdt",
        "amount": amount,
        "charged_amount": amount,
        "fee_amount": fee,
        "fee_bearer": "merchant",
        "net_amount": net,
        "usd_value": amount,
        "payer_id": str(uuid5(NAMESPACE_OID, f"payer-{number % 7}")),
        "metadata": {"cart": number},
        "receipt": None,
        "paid_at": paid_at,
    } | more


def payout(
    number: int, created_at: str, amount: str = "2", fee: str = "0.02", **more: Any
) -> Record:
    """Make a regular payout record of the contract."""
    return {
        "id": str(uuid5(NAMESPACE_OID, f"payout-{number}")),
        "reference_id": f"payout-{number}",
        "kind": "payout",
        "status": "completed",
        "currency": "usdt",
        "amount": amount,
        "debited_amount": format(EXACT.add(Decimal(amount), Decimal(fee)), "f"),
        "fee_amount": fee,
        "fee_percent": "1",
        "usd_value": amount,
        "payer_id": str(uuid5(NAMESPACE_OID, f"payer-{number % 7}")),
        "payment_id": None,
        "comment": "",
        "created_at": created_at,
        "settled_at": more.get("settled_at", created_at),
    } | more


def refund(number: int, of: Record, created_at: str, amount: str = "1", **more: Any) -> Record:
    """Make a regular refund of a payment."""
    parent = {"payment_id": of["id"], "payer_id": of["payer_id"], "currency": of["currency"]}
    changed = {"kind": "refund", "fee_percent": "0"} | parent | more
    return payout(number, created_at, amount, "0") | changed


def session(of: Record, **more: Any) -> Record:
    """Make the completed session behind a payment."""
    return {
        "id": of["session_id"],
        "reference_id": of["reference_id"],
        "status": "completed",
        "title": "Tea",
        "amounts": [{"currency": "usdt", "amount": of["amount"], "usd_value": "10.00"}],
        "pricing_mode": "usd",
        "price_usd": "10.00",
        "checkout_url": f"https://pay.example/c/{of['session_id']}",
        "metadata": {"cart": 1},
        "payment": {"id": of["id"]},
        "expires_at": "2026-11-01T10:30:00Z",
        "created_at": "2026-11-01T10:00:00Z",
    } | more


def binding(customer_id: str, **more: Any) -> Record:
    """Make the answer about a customer with a live binding."""
    held = {
        "binding_id": str(uuid5(NAMESPACE_OID, f"binding-{customer_id}")),
        "customer_id": customer_id,
        "payer_id": str(uuid5(NAMESPACE_OID, f"payer-{customer_id}")),
        "masked_name": "S*** R***",
        "status": "active",
        "match_score": "0.97",
        "match_passed": True,
        "bound_at": "2026-10-01T00:00:00Z",
        "created_at": "2026-10-01T00:00:00Z",
    } | more
    return {"customer_id": customer_id, "state": held["status"], "binding": held}


def spread(count: int, start: datetime, step: timedelta) -> list[Record]:
    """Make payments at equal steps of time."""
    return [payment(n, _stamp(start + n * step)) for n in range(count)]


@dataclass
class FakeService:
    """Answers the read routes from lists of records; every oddity is a field."""

    payments: list[Record] = field(default_factory=list)
    payouts: list[Record] = field(default_factory=list)
    sessions: dict[str, Record] = field(default_factory=dict)
    bindings: dict[str, Record] = field(default_factory=dict)  # answers, by customer id
    hidden: set[str] = field(default_factory=set)  # ids that it knows, and does not list
    now: datetime | None = NOW
    page_size: Callable[[int], int] = lambda page: 100
    heeds_limit: bool = False
    bounds: str = "[]"  # which of from and to are inclusive; "" when they are not heeded
    empty_every: int = 0
    separators: tuple[str, str] = (", ", ": ")  # of its JSON
    order: Callable[[list[Record]], list[Record]] | None = None
    intercept: Handler | None = None
    merchant: dict[str, Any] = field(
        default_factory=lambda: {"id": MERCHANT_ID, "display_name": "Shop"}
    )
    merchant_of_key: dict[str, str] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.intercept(request) if self.intercept else None
        return answer if answer is not None else self._route(request)

    def records(self, name: str) -> list[Record]:
        """All that it has of a stream."""
        return self.payments if name == "payments" else self.payouts

    def paths(self) -> list[str]:
        return [request.url.path.removeprefix("/api/pay/v1") for request in self.requests]

    def _route(self, request: httpx.Request) -> httpx.Response:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        path = request.url.path.removeprefix("/api/pay/v1")
        if key not in (CHECKOUT_KEY, PAYOUT_KEY):
            return refusal(401, "UNAUTHORIZED")
        if path.startswith("/payouts") and key == CHECKOUT_KEY:
            return refusal(403, "PAY_WRONG_KEY_KIND")
        if path == "/me":
            merchant_id = self.merchant_of_key.get(key, self.merchant["id"])
            return self._ok(self.merchant | {"id": merchant_id})
        if path in ("/payments", "/payouts"):
            return self._ok(self._page(path, request))
        return self._object(path, key)

    def _object(self, path: str, key: str) -> httpx.Response:
        kind, _, rest = path.strip("/").partition("/")
        if kind == "sessions" and key == PAYOUT_KEY:
            return refusal(403, "PAY_WRONG_KEY_KIND")
        held = {
            "sessions": self.sessions,
            "customers": self.bindings,
            "payments": {row.get("id"): row for row in self.payments},
            "payouts": {row.get("id"): row for row in self.payouts},
        }.get(kind, {})
        found = held.get(rest.removesuffix("/binding"))
        return self._ok(found) if found else refusal(404, "PAY_SESSION_NOT_FOUND")

    def _ok(self, document: Any) -> httpx.Response:
        headers = {"date": format_datetime(self.now, usegmt=True)} if self.now else {}
        headers["content-type"] = "application/json"
        return httpx.Response(
            200, headers=headers, content=json.dumps(document, separators=self.separators)
        )

    def _page(self, path: str, request: httpx.Request) -> Record:
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        instant = "paid_at" if path == "/payments" else "created_at"
        held = self.payments if path == "/payments" else self.payouts
        listed = [row for row in held if row.get("id") not in self.hidden]
        rows = [row for row in listed if self._is_within(row.get(instant), query)]
        rows.sort(key=lambda row: (str(row.get(instant)), str(row.get("id"))), reverse=True)
        rows = self.order(rows) if self.order else rows
        place, page = map(int, query.get("cursor", "0.0").split("."))
        size = self.page_size(page)
        if self.heeds_limit:
            size = min(size, int(query["limit"]))
        if self.empty_every and page % self.empty_every == 1:
            size = 0
        more = place + size < len(rows)
        return {
            "data": rows[place : place + size],
            "next_cursor": f"{place + size}.{page + 1}" if more else None,
        }

    def _is_within(self, at: Any, query: dict[str, str]) -> bool:
        if not self.bounds or not isinstance(at, str):
            return True
        lower, upper, key = query.get("from"), query.get("to"), _sortable(at)
        too_early = lower and (key, self.bounds[0] == "[") < (_sortable(lower), True)
        too_late = upper and (key, self.bounds[1] == ")") > (_sortable(upper), False)
        return not (too_early or too_late)


def refusal(status: int, *codes: str, **headers: str) -> httpx.Response:
    """Make an error envelope of the contract."""
    document = {"statusCode": status, "errors": {"error": list(codes)}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=document, headers=names)


def once(*answers: httpx.Response | Exception, path: str = "") -> Handler:
    """Answer the first requests (of a path) with these, then no more."""
    left = list(answers)

    def handler(request: httpx.Request) -> httpx.Response | None:
        if not left or not request.url.path.endswith(path):
            return None
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return handler


def ids(records: Iterable[Record]) -> list[str]:
    return sorted(record["id"] for record in records)


def _stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _sortable(text: str) -> str:
    return text.replace("Z", "").ljust(26, "0") if "." in text else text.replace("Z", ".000000")
