"""Any sequence of money operations, held against a model that only adds and subtracts."""

import json
from decimal import Decimal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from shop import Shop

from svc_analytics.periods import HOUR
from svc_analytics.sandbox import Refusal, Store
from svc_analytics.sandbox.market import BASIS_POINTS, half_up
from svc_analytics.sandbox.wallet import BUSINESS

UNITS = st.integers(1, 40_000_000)  # of USDT: up to 40


def text(units):
    return format(Decimal(units).scaleb(-6), "f")


class Money(RuleBasedStateMachine):
    """A shop that is paid, pays out, refunds, and is asked the same thing twice."""

    def __init__(self):
        super().__init__()
        self.store = Store()
        self.shop = Shop(self.store)
        self.shop.bind()
        self.business = self.shop.balance(BUSINESS)
        self.left = {}
        self.count = 0

    def teardown(self):
        self.store.close()

    def name(self):
        self.count += 1
        return f"made-{self.count}"

    @rule(units=UNITS)
    def pay(self, units):
        amounts = [{"currency": "usdt", "amount": text(units)}]
        payment = self.shop.paid(self.name(), amounts=amounts)
        self.left[payment["id"]] = units
        self.business += units - half_up(units * 100, BASIS_POINTS)

    @rule(units=UNITS, data=st.data())
    def refund(self, units, data):
        if not self.left:
            return
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
        assert set(self.shop.world.wallet.sums().values()) == {0}

    @invariant()
    def the_business_holds_what_the_model_says(self):
        assert self.shop.balance(BUSINESS) == self.business

    @invariant()
    def every_record_has_one_event(self):
        made = len(self.left)
        told = [json.loads(body)["type"] for (body,) in self.store.fetch("select body from events")]
        assert told.count("payment.completed") == made


TestMoney = Money.TestCase
TestMoney.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
