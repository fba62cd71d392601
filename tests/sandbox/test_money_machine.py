"""Any sequence of operations, compared with a model that only adds, subtracts and remembers."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from svc_analytics.instants import HOUR
from svc_analytics.sandbox import Store
from svc_analytics.sandbox.coins import BASIS_POINTS, half_up
from svc_analytics.sandbox.customers import BUSINESS
from tests.sandbox.shop import Shop, refused

UNITS = st.integers(1, 40_000_000)  # of USDT: up to 40


def text(units):
    return format(Decimal(units).scaleb(-6), "f")


# What paying is refused with, by the state of the payer's binding.
UNBOUND = {
    "none": (403, "PAY_BINDING_REQUIRED"),
    "pending_review": (403, "PAY_BINDING_REVIEW"),
    "active": (),
}
WRONG_STATE = (409, "PAY_BINDING_STATE")
AT_ITS_END = (409, "PAY_SESSION_STATE")
IS_TAKEN = (409, "PAY_DUPLICATE_REFERENCE")


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
        self.ended = {}
        self.outflows = 0
        self.count = 0

    def teardown(self):
        self.store.close()

    def name(self):
        self.count += 1
        return f"made-{self.count}"

    @rule(matches=st.booleans())
    def bind(self, matches):
        if self.binding != "none":
            for name, customer in (("sara", "C-1"), ("omid", "C-1"), ("sara", "C-2")):
                found = refused(self.shop.bind, name, customer)
                assert found == (409, "PAY_BINDING_CONFLICT")
            return
        self.binding = self.shop.bind(supplied=None if matches else "Somebody Else").status
        assert self.binding == ("active" if matches else "pending_review")

    @rule(action=st.sampled_from(["approve", "reject"]))
    def review(self, action):
        body = {"action": action, "reason": "as the shop says"}
        codes = refused(self.shop.service.bindings.review, self.shop.checkout, "C-1", body)
        assert codes == (() if self.binding == "pending_review" else WRONG_STATE)
        if not codes:
            self.binding = "active" if action == "approve" else "none"

    @rule()
    def unbind(self):
        body = {"reason": "asked"}
        codes = refused(self.shop.service.bindings.revoke, self.shop.checkout, "C-1", body)
        assert codes == (() if self.binding == "active" else WRONG_STATE)
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
        assert codes == (AT_ITS_END if is_expired else ())
        expired = (422, "PAY_SESSION_EXPIRED")
        assert refused(self.shop.confirm, {"id": id_}) == (expired if is_expired else AT_ITS_END)
        self.ended[id_] = "expired" if is_expired else "cancelled"

    @rule(data=st.data(), units=UNITS)
    def pay(self, data, units):
        if len(self.open) < 2:
            self.order(units)
        id_ = data.draw(st.sampled_from(list(self.open)))
        units, expires_at = self.open[id_]
        expected = UNBOUND[self.binding]
        if expires_at <= self.shop.clock.now():
            expected = (422, "PAY_SESSION_EXPIRED")
        assert refused(self.shop.confirm, {"id": id_}) == expected
        if expected:
            return
        del self.open[id_]
        self.ended[id_] = "completed"
        session = self.shop.service.sessions.read(self.shop.checkout, id_)
        self.left[session["payment"]["id"]] = units
        self.business += units - half_up(units * 100, BASIS_POINTS)
        assert refused(self.shop.confirm, {"id": id_}) == AT_ITS_END
        assert refused(self.shop.service.sessions.cancel, self.shop.checkout, id_) == AT_ITS_END

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def refund(self, data):
        payment_id = data.draw(st.sampled_from(list(self.left)))
        left, name = self.left[payment_id], self.name()
        units = data.draw(UNITS | st.sampled_from([max(left, 1), left + 1]))  # to the last one
        for _ in range(2):  # the second is a replay, or refused alike
            found = refused(self.shop.refund, {"id": payment_id}, text(units), name)
            assert found == ((422, "PAY_REFUND_EXCEEDS_PAYMENT") if units > left else ())
        if not found:
            others = [(id_, units) for id_ in self.left if id_ != payment_id]
            for id_, other in [(payment_id, units + 1), *others][:2]:
                assert refused(self.shop.refund, {"id": id_}, text(other), name) == IS_TAKEN
            self.left[payment_id] -= units
            self.business -= units
            self.outflows += 1

    @rule(units=UNITS)
    def pay_out(self, units):
        name, settings = self.name(), self.shop.platform.settings
        record = self.shop.pay_out(name, text(units))
        settings["payouts_armed"] = False  # what was paid is told all the same
        assert self.shop.pay_out(name, text(units)) == record
        assert refused(self.shop.pay_out, name, text(units + 1)) == IS_TAKEN
        settings["payouts_armed"] = True
        self.business -= units + half_up(units * 100, BASIS_POINTS)
        self.outflows += 1

    @rule(hours=st.integers(1, 30))
    def wait(self, hours):
        self.shop.clock.advance(hours * HOUR)

    @invariant()
    def every_coin_sums_to_zero_and_the_business_holds_what_the_model_says(self):
        assert set(self.shop.sums().values()) == {0}
        sql = "select units from entries where account = ? and currency = 'usdt'"
        booked = self.shop.platform.store.fetch(sql, (BUSINESS,))
        assert self.shop.balance(BUSINESS) == self.business == sum(int(each) for (each,) in booked)

    @invariant()
    def what_is_at_its_end_stays_there(self):
        read, key = self.shop.service.sessions.read, self.shop.checkout
        assert {id_: read(key, id_)["status"] for id_ in self.ended} == self.ended

    @invariant()
    def every_record_has_one_event(self):
        told = [event["type"] for event in self.shop.events()]
        assert told.count("payment.completed") == len(self.left)
        assert told.count("payout.completed") == self.outflows


def bounded(examples, steps):
    some = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    return settings(some, suppress_health_check=list(HealthCheck))


class TestMoney(Money.TestCase):
    settings = bounded(8, 25)


@pytest.mark.thorough
class TestMoneyThoroughly(Money.TestCase):
    settings = bounded(200, 50)
