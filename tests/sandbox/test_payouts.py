"""Payouts, refunds, recipient lookups and the wallet (contract, Payouts and refunds)."""

import base64
import hashlib
import hmac
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from svc_analytics.instants import DAY, MINUTE
from svc_analytics.sandbox import Clock, Refusal, Service, Store
from svc_analytics.sandbox.coins import COINS, decimal_text
from svc_analytics.sandbox.console import ControlApi
from svc_analytics.sandbox.customers import BUSINESS, FEES, OUTSIDE, PAST_CUSTOMERS, customer
from svc_analytics.schema import PAYOUT_RECORDS

NOBODY = "7c3a2828-e243-4264-94c9-68ce0bd58683"
NO_RECIPIENT = (422, "PAY_RECIPIENT_INVALID")
DISABLED = (403, "MERCHANT_PAYOUTS_DISABLED")
POOR = (422, "INSUFFICIENT_BALANCE")


@pytest.fixture
def look_up(shop):
    """Recipient lookup of one of the platform's people, with the email path open."""
    shop.platform.settings["payout_scope"] = "any"

    def call(name="sara"):
        body = {"email": f"{name}@customers.example"}
        return shop.service.lookups.create(shop.payout, body)

    return call


def by_token(found, **changes):
    named = {"recipient_token": found["recipient_token"], "payer_id": None}
    return {**named, "recipient_confirm": found["masked_name"], **changes}


def test_payout_charges_its_fee_on_top(shop):
    """5 USDT at 1 %: who paid gets 5, the wallet loses 5.05; the shop need not accept the coin."""
    payer_id = shop.paid()["payer_id"]
    shop.platform.settings["accepted_currencies"] = ["btc"]
    record = shop.pay_out(comment="thanks", payer_id=payer_id)
    figures = {"payer_id": payer_id, "currency": "usdt", "kind": "payout", "status": "completed"}
    figures |= {"amount": "5.000000", "fee_amount": "0.050000", "fee_percent": "1.00"}
    figures |= {"debited_amount": "5.050000", "payment_id": None, "comment": "thanks"}
    figures |= {"reference_id": "out-a", "created_at": record["settled_at"]}
    assert record.items() >= figures.items()
    assert shop.service.payouts(shop.payout, {"limit": "1"})["data"] == [record]
    for name in ("id", "reference_id"):
        assert shop.service.payout(shop.payout, record[name]) == record


def test_refund_costs_nothing_and_names_its_payment(shop):
    """Debited what is refunded; the fee is kept, and no request field can redirect the money."""
    payment, other = shop.paid(), shop.people["omid"].payer_id
    record = shop.refund(payment, "7.5", comment="broken", payer_id=other, currency="btc")
    figures = {"kind": "refund", "amount": "7.500000", "debited_amount": "7.500000"}
    figures |= {"fee_amount": "0", "fee_percent": "0", "payment_id": payment["id"]}
    figures |= {"payer_id": payment["payer_id"], "currency": "usdt", "comment": "broken"}
    assert record.items() >= figures.items()


@pytest.mark.parametrize("kind", ["payout", "refund"])
def test_each_outflow_tells_one_event(shop, kind):
    """payout.completed with the kind, also for refunds."""
    record = shop.pay_out() if kind == "payout" else shop.refund(shop.paid(), "1")
    event = shop.events()[-1]
    ids = {"event_id": event["event_id"], "payout_id": record["id"]}
    told = {"reference_id": record["reference_id"], "kind": kind, "status": "completed"}
    assert event == {**ids, "type": "payout.completed", **told}


def test_reference_of_the_past_or_of_a_refund_is_taken(shop, refusal):
    """Payouts and refunds share one space of references."""
    past = next(row for row in shop.service.records("payout_records") if row["reference_id"])
    shop.refund(shop.paid(), "1")
    for reference in (past["reference_id"], "back-a"):
        assert refusal(shop.pay_out, reference) == (409, "PAY_DUPLICATE_REFERENCE")


BROKEN = {
    "PAY_AMOUNT_INVALID": [{"amount": amount} for amount in ("0", "-5", "5.0000001")],
    "PAY_CURRENCY_NOT_ACCEPTED": [{"currency": coin} for coin in ("irt", "xmr")],
    "PAY_RECIPIENT_INVALID": [
        *({"payer_id": None, "recipient_token": "x"}, {"payer_id": NOBODY}, {"payer_id": None}),
        {"payer_id": NOBODY, "recipient_token": "x"},
    ],
}


@pytest.mark.parametrize("code", BROKEN)
def test_each_rule_of_a_payout_has_its_code(shop, refusal, code):
    """Amount, coin and recipient; neither way to one is refused like both."""
    for changes in BROKEN[code]:
        assert refusal(shop.pay_out, **changes) == (422, code), changes


UNARMED = {"is_rail_enabled": False, "is_suspended": True, "payouts_armed": False}
UNARMED |= {"payout_max_usd": None, "payout_day_usd": None, "absent_rates": ["usdt"]}


@pytest.mark.parametrize("name", UNARMED)
def test_payouts_that_are_not_armed_are_refused(shop, refusal, name):
    """Rule 5, each of its causes; and rule 9: without a rate none is sent unmetered."""
    shop.platform.settings[name] = UNARMED[name]
    unrated = (503, "PAY_RATE_UNAVAILABLE")
    assert refusal(shop.pay_out) == (unrated if name == "absent_rates" else DISABLED)


def test_payouts_are_held_to_both_limits(shop, refusal):
    """Rule 7: per payout, and over the trailing 24 hours; a day later there is room again."""
    shop.platform.settings["payout_max_usd"] = 10
    shop.platform.settings["payout_day_usd"] = 15
    over = (422, "PAY_PAYOUT_LIMIT")
    assert refusal(shop.pay_out, amount="11") == over
    shop.pay_out("out-a", "9")
    assert refusal(shop.pay_out, "out-b", "9") == over
    shop.clock.advance(DAY - 1)
    assert refusal(shop.pay_out, "out-b", "9") == over
    shop.clock.advance(1)
    assert shop.pay_out("out-b", "9")["amount"] == "9.000000"


def test_wallet_must_cover_amount_and_fee(shop, refusal):
    """Rule 8: with 1.01 TON at a fee of 1 % it is 1 TON that can be sent, and not a unit more."""
    assert refusal(shop.pay_out, currency="ton", amount="1") == POOR
    flows = {OUTSIDE: -1_010_000_000, BUSINESS: 1_010_000_000}
    shop.platform.wallet.move("deposit", shop.clock.now(), "ton", flows)
    assert refusal(shop.pay_out, currency="ton", amount="1.000000001") == POOR
    assert shop.pay_out(currency="ton", amount="1")["debited_amount"] == "1.010000000"


def test_wallet_must_cover_a_refund(shop, refusal):
    """What was paid in may have been sent on since."""
    payment, held = shop.paid(), shop.balance(BUSINESS)
    shop.platform.wallet.move("sent on", shop.clock.now(), "usdt", {BUSINESS: -held, OUTSIDE: held})
    assert refusal(shop.refund, payment, "0.000001") == POOR


def test_each_rule_of_a_refund_has_its_code(shop, refusal):
    """Cap and amount; a payment that is not there is told like any other object."""
    number = {"id": shop.paid()["receipt_no"]}
    assert refusal(shop.refund, number, "20.000001") == (422, "PAY_REFUND_EXCEEDS_PAYMENT")
    assert refusal(shop.refund, number, "0") == (422, "PAY_AMOUNT_INVALID")
    unknown = refusal(shop.refund, {"id": "SVC-999999999"}, "1")
    assert unknown == (404, "PAY_SESSION_NOT_FOUND")


def test_refund_of_the_past_counts_what_was_refunded_then(shop, refusal):
    """A payment fully refunded in the seeded past has nothing left."""
    payment = shop.service.payment(shop.payout, _fully_refunded(shop)[0])
    decimals = len(payment["charged_amount"].partition(".")[2])
    answer = refusal(shop.refund, payment, f"0.{1:0{decimals}}")
    assert answer == (422, "PAY_REFUND_EXCEEDS_PAYMENT")


def test_suspended_business_refunds_nothing(shop, refusal):
    """But payouts need not be armed for a refund, nor its coin have a rate."""
    payment = shop.paid()
    shop.platform.settings["payouts_armed"] = False
    shop.platform.settings["absent_rates"] = ["usdt"]
    assert shop.refund(payment, "1")["usd_value"] is None
    shop.platform.settings["is_suspended"] = True
    assert refusal(shop.refund, payment, "1", "later") == (403, "MERCHANT_DISABLED")


def test_looked_up_recipient_is_paid(shop, look_up):
    """The token with the masked name echoed; no email stands in token or answer."""
    found = look_up()
    assert found["masked_name"] == "S*** R***" and shop.events() == []
    assert found["expires_at"] == "2026-11-20T12:10:00Z"
    record = shop.pay_out(**by_token(found))
    assert record["payer_id"] == shop.people["sara"].payer_id


def test_token_expires_after_ten_minutes(shop, look_up, refusal):
    """Valid until then, refused from then on."""
    found = look_up()
    shop.clock.advance(10 * MINUTE - 1)
    shop.pay_out(**by_token(found))
    shop.clock.advance(1)
    assert refusal(lambda: shop.pay_out("out-b", **by_token(found))) == NO_RECIPIENT


@pytest.mark.parametrize("flaw", ["confirm", "altered", "respelt", "foreign", "garbage"])
def test_token_must_be_ours_and_confirmed(shop, look_up, refusal, flaw):
    """Rule 3: one code for a mismatch, a forgery and another merchant's token."""
    found = look_up()
    token = found["recipient_token"]
    tokens = {"altered": ("A" if token[0] != "A" else "B") + token[1:], "garbage": "€"}
    tokens |= {"respelt": f"{token}!", "foreign": _foreign(shop, token)}  # a lax decoder skips !
    confirm = "s*** R***" if flaw == "confirm" else found["masked_name"]
    body = by_token(found, recipient_token=tokens.get(flaw, token), recipient_confirm=confirm)
    assert refusal(lambda: shop.pay_out(**body)) == NO_RECIPIENT


def test_token_path_needs_the_scope(shop, look_up, refusal):
    """Rule 2: also for a token minted while it was open."""
    found = look_up()
    shop.platform.settings["payout_scope"] = "payers"
    assert refusal(lambda: shop.pay_out(**by_token(found))) == DISABLED
    assert refusal(look_up) == DISABLED


@pytest.mark.parametrize("name", ["nobody", "disabled", "unverified", "owner"])
def test_recipients_that_cannot_be_paid_answer_alike(look_up, refusal, name):
    """One code, so that nobody learns who has an account."""
    assert refusal(look_up, name) == NO_RECIPIENT


def test_lookups_are_metered_by_minute_and_day(shop, look_up, refusal):
    """10 a minute and 12 a day here; payouts by payer_id are unaffected."""
    shop.platform.settings["lookups_per_day"] = 12
    throttled = (429, "PAY_LOOKUP_THROTTLED")
    for _ in range(10):
        look_up()
    assert refusal(look_up) == throttled
    shop.clock.advance(MINUTE)
    assert look_up() and look_up()
    assert refusal(look_up) == throttled
    assert shop.pay_out()
    shop.clock.advance(DAY)
    assert look_up()


def _fully_refunded(shop):
    left = {row["id"]: Decimal(row["charged_amount"]) for row in shop.service.records("payments")}
    refunds = defaultdict(Decimal)
    for row in shop.service.records("payout_records"):
        if row["kind"] == "refund":
            refunds[row["payment_id"]] += Decimal(row["amount"])
    return [payment_id for payment_id, sum_ in refunds.items() if left[payment_id] == sum_]


def _foreign(shop, token):
    """The same claim, sealed by another merchant."""
    raw = base64.urlsafe_b64decode(token)
    seal = hmac.new(b"recipient:another merchant", raw[32:], hashlib.sha256).digest()
    return base64.urlsafe_b64encode(seal + raw[32:]).decode()


# Money on the sandbox: double entry, nothing doubled, nothing lost, killed or not.


def test_wallet_opens_with_what_the_past_left(shop):
    """
    Per coin: net of all payments less all that was debited, the current month's rows included.
    """
    shop.clock.set(shop.platform.scenario.current_month.end + DAY)
    for coin in COINS:
        held = decimal_text(shop.balance(BUSINESS, coin.slug), coin.decimals)
        assert Decimal(held) == left_of(shop, coin)


def sara(shop):
    return shop.people["sara"].payer_id


MOVES = {
    # Of 20 USDT at the last tier of 1 %: 19.80 to the business, 0.20 to the fees.
    "a payment": (lambda shop: shop.paid(), [-20_000_000, 19_800_000, 200_000]),
    # The business loses 5.05, the recipient gets exactly 5, the fees 0.05.
    "a payout": (lambda shop: shop.pay_out(payer_id=sara(shop)), [5_000_000, -5_050_000, 50_000]),
    # Fee rule 2: the whole 20 USDT go back, of which the business had got 19.80.
    "its refund": (lambda shop: shop.refund(shop.paid(), "20"), [0, -200_000, 200_000]),
}


@pytest.mark.parametrize(("act", "expected"), MOVES.values(), ids=MOVES)
def test_money_moves_between_customer_business_and_fees(shop, act, expected):
    """In units of USDT: what each of the three accounts gains or loses."""
    shop.paid("order-before")  # whoever is paid has paid
    accounts = (customer(sara(shop)), BUSINESS, FEES)
    before = [shop.balance(account) for account in accounts]
    act(shop)
    moved = [shop.balance(each) - held for each, held in zip(accounts, before, strict=True)]
    assert moved == expected


def coming(shop, **columns):
    """Add a payout of 10 USDT of the seeded past that will show in a millisecond."""
    at = shop.clock.now() + 1000
    made = {"id": "x", "reference_id": None, "kind": "payout", "status": "completed"}
    made |= {"currency": "usdt", "amount": "9", "debited_amount": "10", "fee_amount": "1"}
    made |= {"fee_percent": "1", "usd_value": None, "payer_id": "", "payment_id": None}
    made |= {"comment": "", "created_at": at, "settled_at": at, **columns}
    shop.platform.store.add(PAYOUT_RECORDS, made)
    entries = {BUSINESS: -units(made["debited_amount"]), FEES: units(made["fee_amount"])}
    entries |= {PAST_CUSTOMERS: units(made["amount"])}
    shop.platform.wallet.move("opening", 0, "usdt", entries)
    return made


def units(text):
    return int(Decimal(text) * 10**6)


def left_of(shop, coin):
    """What the records that are listed now bring and take."""
    totals = []
    for stream, column in (("payments", "net_amount"), ("payout_records", "debited_amount")):
        rows = [row for row in shop.service.records(stream) if row["currency"] == coin.slug]
        totals.append(sum((Decimal(row[column]) for row in rows), Decimal(0)))
    return totals[0] - totals[1]


def business(shop):
    wallets = ControlApi(shop.service).state()["wallets"]
    held = {(each["account"], each["currency"]): each["balance"] for each in wallets}
    return units(held[BUSINESS, "usdt"])


@pytest.mark.parametrize("days", [0, 1, 5, 30, -3])
def test_the_wallet_is_what_the_listed_records_left(shop, days):
    """On any day, shown and for spending alike: days to come bring and take nothing yet."""
    shop.clock.advance(days * DAY)
    free = shop.platform.wallet.available(COINS[0], shop.platform.shown_until())
    assert business(shop) == free == units(left_of(shop, COINS[0]))


def test_all_that_is_there_now_can_be_spent_and_what_then_no_longer_fits_does_not_come(shop):
    """
    A seeded payout of the next millisecond is dropped; the wallet still is what the list says.
    """
    coming(shop)
    configured = {"payout_max_usd": 10**9, "payout_day_usd": 10**9}
    shop.console.configure(configured)
    held = business(shop)
    shop.pay_out(amount=str(Decimal(held * 100 // 101) / 10**6))
    shop.clock.advance(1000)
    assert "x" not in {record["id"] for record in shop.service.records("payout_records")}
    assert 0 <= business(shop) == units(left_of(shop, COINS[0]))
    assert set(shop.sums().values()) == {0}


def test_a_seeded_payout_that_still_fits_comes(shop):
    """Spending a little drops nothing."""
    coming(shop)
    shop.pay_out()
    shop.clock.advance(1000)
    assert "x" in {record["id"] for record in shop.service.records("payout_records")}


def test_a_payment_is_refunded_whole_though_a_seeded_refund_of_it_is_to_come(shop):
    """The cap counts what happened: the refund of the next millisecond gives way."""
    payment = shop.paid()
    whole = {"amount": "5", "debited_amount": "5", "fee_amount": "0"}
    coming(shop, kind="refund", payment_id=payment["id"], **whole)
    assert shop.refund(payment, "20")["amount"] == "20.000000"
    shop.clock.advance(1000)
    made = [row for row in shop.service.records("payout_records") if row["payment_id"]]
    assert [row["amount"] for row in made if row["payment_id"] == payment["id"]] == ["20.000000"]
    assert business(shop) == units(left_of(shop, COINS[0]))


def test_every_seeded_payment_without_a_listed_refund_can_be_refunded(shop):
    """Whole, on the day of the newest record, whatever the coming days would have brought."""
    refunded = {row["payment_id"] for row in shop.service.records("payout_records")}
    payments = [row for row in shop.service.records("payments") if row["id"] not in refunded]
    newest = [row for row in payments[-12:] if row["currency"] == "usdt"]
    amounts = [row["charged_amount"] for row in newest]
    made = [shop.refund(row, row["charged_amount"], row["id"]) for row in newest]
    assert [row["amount"] for row in made] == amounts and amounts


def test_a_clock_that_is_set_back_loses_no_record_and_no_replay(shop):
    """
    Made an hour ahead, a payment and a payout are there when the clock is back; asked for
    again, the same payout comes, and the day's limit holds nothing of the hours to come.
    """
    now = shop.clock.now()
    shop.clock.advance(3600 * 10**6)
    payment, payout = shop.paid(), shop.pay_out()
    shop.clock.set(now)
    assert shop.service.payment(shop.checkout, payment["id"]) == payment
    assert shop.service.sessions.create(shop.checkout, shop.order())["payment"] == payment
    assert shop.pay_out() == payout
    assert business(shop) == units(left_of(shop, COINS[0]))


def test_200_refunds_at_once_never_exceed_what_was_charged(shop):
    """Of 200 concurrent refunds of 1 USDT of a payment of 20, exactly 20 succeed."""
    payment = shop.paid()

    def attempt(number):
        try:
            return shop.refund(payment, "1", f"back-{number}")["amount"]
        except Refusal as refusal:
            return refusal.codes[0]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(attempt, range(200)))
    assert answers.count("1.000000") == 20
    assert answers.count("PAY_REFUND_EXCEEDS_PAYMENT") == 180
    assert set(shop.sums().values()) == {0}


def test_one_reference_sent_50_times_at_once_pays_once(shop):
    """Concurrent replays all answer with the one record."""
    before = shop.balance(BUSINESS)
    with ThreadPoolExecutor(16) as pool:
        ids = {record["id"] for record in pool.map(lambda _: shop.pay_out(), range(50))}
    assert len(ids) == 1
    assert before - shop.balance(BUSINESS) == 5_050_000


def test_two_services_on_one_file_share_its_money(shop):
    """Two connections refund one payment in turns; the cap holds across them."""
    payment = shop.paid()
    with Store(shop.platform.store.name) as store:
        other = Service(store, Clock(shop.clock.now()))
        body = {"reference_id": "there", "amount": "15"}
        assert other.refund(shop.payout, payment["id"], body)["amount"] == "15.000000"
    with pytest.raises(Refusal, match="PAY_REFUND_EXCEEDS_PAYMENT"):
        shop.refund(payment, "6", "here")


PAY_UNTIL_KILLED = """
import sys
from svc_analytics.sandbox import Clock, Service, Store
service = Service(Store(sys.argv[1]), Clock(int(sys.argv[2])))
key = service.account.payout_key.reveal()
for number in range(1000):
    refund = {"reference_id": f"back-{number}", "amount": "0.01"}
    print(service.refund(key, sys.argv[3], refund)["id"], flush=True)
    payout = {**refund, "reference_id": f"cent-{number}", "currency": "usdt"}
    print(service.pay_out(key, {**payout, "payer_id": sys.argv[4]})["id"], flush=True)
"""


def test_kill_while_paying_out_and_refunding_loses_and_doubles_nothing(shop):
    """
    Killed between any two steps: what it answered is there; asked for again, all of it and
    what it may have had under way is done once, with one event each.
    """
    payment = shop.paid()
    payer_id, before = payment["payer_id"], shop.balance(BUSINESS)
    arguments = [shop.platform.store.name, str(shop.clock.now()), payment["id"], payer_id]
    command = [sys.executable, "-c", PAY_UNTIL_KILLED, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        answered = [process.stdout.readline().strip() for _ in range(20)]
        process.kill()
        answered += process.stdout.read().split("\n")[:-1]
    done = []
    for number in range(len(answered) // 2 + 1):
        done.append(shop.refund(payment, "0.01", f"back-{number}")["id"])
        done.append(shop.pay_out(f"cent-{number}", "0.01", payer_id=payer_id)["id"])
    assert done[: len(answered)] == answered and len(set(done)) == len(done)
    # Of each two a refunded cent, and a cent paid out with 1 % of it.
    assert before - shop.balance(BUSINESS) == len(done) // 2 * (10_000 + 10_100)
    assert set(shop.sums().values()) == {0}
    assert [event["payout_id"] for event in shop.events() if "payout_id" in event] == done


def test_everything_is_there_when_the_file_is_opened_again(shop):
    """Sessions, keys, settings, rotated secrets and undelivered events outlive their process."""
    session, key = shop.session(), shop.console.mint_key({"class": "checkout"})["key"]
    secret = shop.console.rotate_secret("receipt")["secret"]
    shop.console.configure({"payout_scope": "any"})
    shop.paid("order-b")
    with Store(shop.platform.store.name) as store:
        again = Service(store, Clock(shop.clock.now()))
        assert again.sessions.read(key, session["id"])["status"] == "open"
        assert again.account.receipt_ring[0].secret.reveal() == secret
        assert again.platform.settings["payout_scope"] == "any"
        assert len(again.webhooks.log()) == len(shop.events())
