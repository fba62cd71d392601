"""Any sequence of operations, compared with a model that only adds, subtracts and remembers."""

import json
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from svc_analytics.instants import HOUR
from svc_analytics.sandbox import Refusal, Store
from svc_analytics.sandbox.core.coins import BASIS_POINTS, half_up
from svc_analytics.sandbox.state.wallet import BUSINESS
from tests.sandbox.shop import Shop

UNITS = st.integers(1, 40_000_000)  # of USDT: up to 40


def text(units):
    return format(Decimal(units).scaleb(-6), "f")


# What paying is refused with, by the state of the payer's binding.
UNBOUND = {"none": "PAY_BINDING_REQUIRED", "pending_review": "PAY_BINDING_REVIEW"}


def refused(operation, *arguments, **named):
    """The codes that an operation is refused with; none if it is done."""
    try:
        operation(*arguments, **named)
    except Refusal as refusal:
        return refusal.codes
    return ()


class Money(RuleBasedStateMachine):
    """A shop whose customers come and go, that is paid, pays out and refunds, each asked twice."""

    def __init__(self):
        super().__init__()
        self.store = Store()
        self.shop = Shop(self.store)
        self.shop.bind()
        self.binding = "active"
        self.business = self.shop.balance(BUSINESS)
        self.left = {}
        self.open = {}
        self.count = 0

    def teardown(self):
        self.store.close()

    def name(self):
        self.count += 1
        return f"made-{self.count}"

    @rule(matches=st.booleans())
    def bind(self, matches):
        if self.binding != "none":
            assert refused(self.shop.bind) == ("PAY_BINDING_CONFLICT",)
            return
        self.binding = self.shop.bind(supplied=None if matches else "Somebody Else").status
        assert self.binding == ("active" if matches else "pending_review")

    @rule(action=st.sampled_from(["approve", "reject"]))
    def review(self, action):
        body = {"action": action, "reason": "as the shop says"}
        codes = refused(self.shop.service.bindings.review, self.shop.checkout, "C-1", body)
        assert codes == (() if self.binding == "pending_review" else ("PAY_BINDING_STATE",))
        if not codes:
            self.binding = "active" if action == "approve" else "none"

    @rule()
    def unbind(self):
        body = {"reason": "asked"}
        codes = refused(self.shop.service.bindings.revoke, self.shop.checkout, "C-1", body)
        assert codes == (() if self.binding == "active" else ("PAY_BINDING_STATE",))
        self.binding = self.binding if codes else "none"

    @rule(units=UNITS)
    def order(self, units):
        amounts = [{"currency": "usdt", "amount": text(units)}]
        session = self.shop.session(self.name(), amounts=amounts, ttl_minutes=60)
        self.open[session["id"]] = units, self.shop.clock.now() + HOUR

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data):
        id_ = data.draw(st.sampled_from(list(self.open)))
        _, expires_at = self.open.pop(id_)
        is_expired = expires_at <= self.shop.clock.now()
        codes = refused(self.shop.service.sessions.cancel, self.shop.checkout, id_)
        assert codes == (("PAY_SESSION_STATE",) if is_expired else ())
        assert refused(self.shop.confirm, {"id": id_})  # it is at its end

    @rule(data=st.data(), units=UNITS)
    def pay(self, data, units):
        if len(self.open) < 2:
            self.order(units)
        id_ = data.draw(st.sampled_from(list(self.open)))
        units, expires_at = self.open[id_]
        expected = UNBOUND.get(self.binding)
        if expires_at <= self.shop.clock.now():
            expected = "PAY_SESSION_EXPIRED"
        assert refused(self.shop.confirm, {"id": id_}) == ((expected,) if expected else ())
        if expected:
            return
        del self.open[id_]
        session = self.shop.service.sessions.read(self.shop.checkout, id_)
        self.left[session["payment"]["id"]] = units
        self.business += units - half_up(units * 100, BASIS_POINTS)
        assert refused(self.shop.confirm, {"id": id_}) == ("PAY_SESSION_STATE",)

    @precondition(lambda self: self.left)
    @rule(units=UNITS, data=st.data())
    def refund(self, units, data):
        payment_id = data.draw(st.sampled_from(list(self.left)))
        name = self.name()
        for _ in range(2):  # the second is a replay, or refused alike
            try:
                self.shop.refund({"id": payment_id}, text(units), name)
            except Refusal as refusal:
                assert refusal.codes == ("PAY_REFUND_EXCEEDS_PAYMENT",)
                assert units > self.left[payment_id]
                return
        self.left[payment_id] -= units
        self.business -= units
        assert self.left[payment_id] >= 0

    @rule(units=UNITS)
    def pay_out(self, units):
        name = self.name()
        records = [self.shop.pay_out(name, text(units)) for _ in range(2)]
        assert records[0] == records[1]
        self.business -= units + half_up(units * 100, BASIS_POINTS)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours):
        self.shop.clock.advance(hours * HOUR)

    @invariant()
    def every_coin_sums_to_zero(self):
        assert set(self.shop.sums().values()) == {0}

    @invariant()
    def the_business_holds_what_the_model_says(self):
        assert self.shop.balance(BUSINESS) == self.business

    @invariant()
    def every_record_has_one_event(self):
        made = len(self.left)
        told = [json.loads(body)["type"] for (body,) in self.store.fetch("select body from events")]
        assert told.count("payment.completed") == made


def bounded(examples, steps):
    checks = list(HealthCheck)
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=checks,
    )


class TestMoney(Money.TestCase):
    settings = bounded(8, 25)


@pytest.mark.thorough
class TestMoneyThoroughly(Money.TestCase):
    settings = bounded(200, 50)
