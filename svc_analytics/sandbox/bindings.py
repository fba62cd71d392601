"""Bindings: permanent links between a merchant's customer and an account."""

import uuid
from dataclasses import astuple, dataclass, replace
from difflib import SequenceMatcher

import msgspec

from svc_analytics.sandbox import validation
from svc_analytics.sandbox.account import Key
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.customers import Person
from svc_analytics.sandbox.platform import Platform

PASSING_SCORE = 80
_REASON = validation.text(512)


@dataclass(frozen=True)
class Binding:
    """Hold a stored binding; `supplied` is the customer block that the merchant sent."""

    id: str
    customer_id: str
    payer_id: str
    status: str
    supplied: str
    match_score: str
    match_passed: int
    reason: str | None
    bound_at: int | None
    reviewed_at: int | None
    created_at: int


class Bindings:
    """Read, make, review and revoke the merchant's bindings."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def read(self, key: Key, customer_id: str) -> validation.Record:
        """Return the state of a customer and the live binding, if there is one."""
        self._platform.authorizer.authorize(key, "checkout")
        live = self.live("customer_id", customer_id)
        state, form = (live.status, self._form(live)) if live else ("none", None)
        return {"customer_id": customer_id, "state": state, "binding": form}

    def revoke(self, key: Key, customer_id: str, body: object) -> validation.Record:
        """Revoke an active binding for a reason that is kept."""
        self._platform.authorizer.authorize(key, "checkout")
        request = validation.read_body(body, {"reason": _REASON})
        with self._platform.store.transaction():
            binding = self._live_in("active", customer_id)
            self._revoke(binding, request["reason"])
        return {"customer_id": customer_id, "state": "revoked"}

    def review(self, key: Key, customer_id: str, body: object) -> validation.Record:
        """Approve or reject a binding under review."""
        self._platform.authorizer.authorize(key, "checkout")
        request = validation.as_object(body)
        action = request.get("action")
        if action not in ("approve", "reject"):
            raise validation.invalid()
        needed, allowed = {"reason": _REASON}, {"reason": validation.text(512, minimum=0)}
        validation.read_body(request, needed if action == "reject" else {}, allowed)
        with self._platform.store.transaction():
            binding = self._live_in("pending_review", customer_id)
            if action == "approve":
                changed = self._approve(binding, request.get("reason"))
            else:
                changed = self._revoke(binding, request["reason"], is_review=True)
            return {"binding": self._form(changed)}

    def bind(self, customer: validation.Body, payer_id: str) -> Binding:
        """Bind a signed-in account to the customer block of a session."""
        self._platform.open_wallets()
        with self._platform.store.transaction():
            person = self._platform.customers.require_payer(payer_id)
            if self.live("customer_id", customer["id"]) or self.live("payer_id", payer_id):
                raise validation.Refusal(409, "PAY_BINDING_CONFLICT")
            return self._create(customer, person)

    def require(self, customer_id: str, payer_id: str) -> None:
        """Refuse a payment unless the account is bound to the customer."""
        live = self.live("customer_id", customer_id)
        if live is None:
            raise validation.Refusal(403, "PAY_BINDING_REQUIRED")
        if live.payer_id != payer_id:
            raise validation.Refusal(403, "PAY_BINDING_MISMATCH")
        if live.status == "pending_review":
            raise validation.Refusal(403, "PAY_BINDING_REVIEW")

    def live(self, column: str, value: str) -> Binding | None:
        """Return the live binding of a customer id or a payer."""
        sql = f"select * from bindings where {column} = ? and status <> 'revoked'"
        row = self._platform.store.first(sql, value)
        return Binding(*row) if row else None

    def _create(self, customer: validation.Body, person: Person) -> Binding:
        now, score = self._platform.now(), match_percent(customer["name"], person)
        is_passed = score >= PASSING_SCORE
        binding = Binding(
            id=str(uuid.uuid4()),
            customer_id=customer["id"],
            payer_id=person.payer_id,
            status="active" if is_passed else "pending_review",
            supplied=msgspec.json.encode(customer).decode(),
            match_score=f"{score // 100}.{score % 100:02d}",
            match_passed=int(is_passed),
            reason=None,
            bound_at=now if is_passed else None,
            reviewed_at=None,
            created_at=now,
        )
        self._platform.store.insert("bindings", *astuple(binding))
        self._emit("binding.completed" if is_passed else "binding.review", binding)
        return binding

    def _approve(self, binding: Binding, reason: str | None) -> Binding:
        now = self._platform.now()
        changed = replace(binding, status="active", reason=reason, bound_at=now, reviewed_at=now)
        return self._keep(changed, "binding.completed")

    def _revoke(self, binding: Binding, reason: str, *, is_review: bool = False) -> Binding:
        reviewed_at = self._platform.now() if is_review else binding.reviewed_at
        changed = replace(binding, status="revoked", reason=reason, reviewed_at=reviewed_at)
        return self._keep(changed, "binding.revoked")

    def _keep(self, binding: Binding, event: str) -> Binding:
        change = "status = ?, reason = ?, bound_at = ?, reviewed_at = ?"
        values = (binding.status, binding.reason, binding.bound_at, binding.reviewed_at)
        sql = f"update bindings set {change} where id = ?"
        self._platform.store.fetch(sql, (*values, binding.id))
        self._emit(event, binding)
        return binding

    def _emit(self, event: str, binding: Binding) -> None:
        named = {"binding_id": binding.id, "customer_id": binding.customer_id}
        self._platform.outbox.emit(event, self._platform.now(), **named, status=binding.status)

    def _live_in(self, status: str, customer_id: str) -> Binding:
        live = self.live("customer_id", customer_id)
        if live is None or live.status != status:
            raise validation.Refusal(409, "PAY_BINDING_STATE")
        return live

    def _form(self, binding: Binding) -> validation.Record:
        """Return a binding as the API shows it, with the masked name of the account."""
        supplied = validation.decode_exactly(binding.supplied)  # other members may hold any number
        times = (binding.bound_at, binding.reviewed_at)
        bound_at, reviewed_at = (None if at is None else instant_text(at) for at in times)
        person = self._platform.customers.find(binding.payer_id)
        return {
            "binding_id": binding.id,
            "customer_id": binding.customer_id,
            "payer_id": binding.payer_id,
            "masked_name": person.masked_name if person else "",
            "supplied_name": supplied["name"],
            "supplied_name_native": "" if supplied["name"].isascii() else supplied["name"],
            "supplied_email": supplied["email"],
            "status": binding.status,
            "match_score": binding.match_score,
            "match_passed": bool(binding.match_passed),
            "bound_at": bound_at,
            "reviewed_at": reviewed_at,
            "created_at": instant_text(binding.created_at),
        }


def match_percent(supplied: str, person: Person) -> int:
    """Compare a supplied name with both names of an account, words in any order."""

    def words(name: str) -> str:
        return " ".join(sorted(name.casefold().split()))

    names = (person.name, person.native_name)
    likeness = (SequenceMatcher(None, words(supplied), words(name)).ratio() for name in names)
    return int(100 * max(likeness))
