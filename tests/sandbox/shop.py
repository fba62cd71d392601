"""A small merchant of one test's own, to write to, and what most tests do with it."""

import html
import json
import re

import httpx

from svc_analytics.sandbox import Clock, Console, Refusal, Scenario, Service, seed
from tests.support.loops import LoopApart


def refused(operation, *arguments, **named):
    """What an operation is refused with: status and codes; nothing if it is done."""
    try:
        operation(*arguments, **named)
    except Refusal as refusal:
        return refusal.status, *refusal.codes
    return ()


def answered(answer):
    """The status and code of a refusal over HTTP, which has the envelope and nothing else."""
    [code] = answer.json()["errors"]["error"]
    assert answer.json() == {"statusCode": answer.status_code, "errors": {"error": [code]}}
    return answer.status_code, code


class Shop:
    """A service to write to, and what most tests of it do."""

    def __init__(self, store):
        scenario = Scenario(seed=5, months=2, payments=60)
        seed(store, scenario)  # nothing, where the file holds it already
        self.service = Service(store, Clock(scenario.until))
        self.platform = self.service.platform
        self.console = Console(self.service)
        self.clock = self.service.clock
        self.checkout = self.service.account.checkout_key.reveal()
        self.payout = self.service.account.payout_key.reveal()
        self.platform.open_wallets()
        everybody = self.platform.customers.all()
        self.people = {person.email.partition("@")[0]: person for person in everybody}

    def order(self, reference="order-a", **changes):
        """The body of a valid session request; None takes a member away."""
        body = {
            "reference_id": reference,
            "title": "Tea",
            "customer": {"id": "C-1", "name": "Sara Rahimi", "email": "sara@shop.example"},
            "amounts": [{"currency": "usdt", "amount": "20"}],
            **changes,
        }
        return {name: value for name, value in body.items() if value is not None}

    def session(self, reference="order-a", **changes):
        return self.service.sessions.create(self.checkout, self.order(reference, **changes))

    def bind(self, name="sara", customer_id="C-1", supplied=None):
        person = self.people[name]
        customer = {"id": customer_id, "name": supplied or person.name, "email": "x@shop.example"}
        return self.service.bindings.bind(customer, person.payer_id)

    def confirm(self, session, name="sara", currency="usdt", **more):
        payer_id = self.people[name].payer_id
        return self.service.checkout.confirm(session["id"], payer_id, currency, **more)

    def paid(self, reference="order-a", **changes):
        """A payment of 20 USDT by Sara, unless told otherwise."""
        if not self.platform.store.fetch("select 1 from bindings where customer_id = 'C-1'"):
            self.bind()
        payment_id = self.confirm(self.session(reference, **changes))
        return self.service.payment(self.checkout, payment_id)

    def pay_out(self, reference="out-a", amount="5", currency="usdt", **changes):
        body = {"reference_id": reference, "currency": currency, "amount": amount, **changes}
        if "payer_id" not in body and "recipient_token" not in body:
            body["payer_id"] = next(iter(self.service.records("payments")))["payer_id"]
        kept = {name: value for name, value in body.items() if value is not None}
        return self.service.pay_out(self.payout, kept)

    def refund(self, payment, amount, reference="back-a", **more):
        body = {"reference_id": reference, "amount": amount, **more}
        return self.service.refund(self.payout, payment["id"], body)

    def balance(self, account, currency="usdt"):
        return self.platform.wallet.balance(account, currency)

    def sums(self):
        """The sum of all entries of each coin, which must be zero."""
        found = {}
        for currency, units in self.platform.store.fetch("select currency, units from entries"):
            found[currency] = found.get(currency, 0) + int(units)
        return found

    def events(self):
        """The bodies of all events so far, oldest first."""
        rows = self.platform.store.fetch("select body from events order by rowid")
        return [json.loads(body) for (body,) in rows]


# A sandbox's site called in this process: starting a server takes far longer.


class InProcess(httpx.BaseTransport):
    """Carries the requests of a client to an ASGI app, as from this machine."""

    def __init__(self, app):
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._loop = LoopApart()

    def handle_request(self, request):
        return self._loop.run(self._send(request))

    def close(self):
        self._loop.close()

    async def _send(self, request):
        answer = await self._app.handle_async_request(request)
        body = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)


def words(answer):
    """What a page says, without its markup and style."""
    text = re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", answer.text)
    return " ".join(html.unescape(text).split())
