"""Money on the sandbox: double entry, nothing doubled, nothing lost, killed or not."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from svc_analytics.instants import DAY
from svc_analytics.sandbox import Clock, Refusal, Service, Store
from svc_analytics.sandbox.coins import COINS, decimal_text
from svc_analytics.sandbox.console import Console, ControlApi
from svc_analytics.sandbox.customers import BUSINESS, FEES, PAST_CUSTOMERS, customer
from svc_analytics.schema import PAYOUT_RECORDS


def test_wallet_opens_with_what_the_past_left(shop):
    """
    Per coin: net of all payments less all that was debited, the current month's rows included.
    """
    shop.clock.set(shop.platform.scenario.current_month.end + DAY)
    for coin in COINS:
        left = _sum(shop, "payments", "net_amount", coin) - _sum(
            shop, "payout_records", "debited_amount", coin
        )
        assert Decimal(decimal_text(shop.balance(BUSINESS, coin.slug), coin.decimals)) == left


MOVES = {
    # Of 20 USDT at the last tier of 1 %: 19.80 to the business, 0.20 to the fees.
    "a payment": (lambda shop: shop.paid(), [-20_000_000, 19_800_000, 200_000]),
    # The business loses 5.05, the recipient gets exactly 5, the fees 0.05.
    "a payout": (
        lambda shop: shop.pay_out(payer_id=shop.people["sara"].payer_id),
        [5_000_000, -5_050_000, 50_000],
    ),
    # Fee rule 2: the whole 20 USDT go back, of which the business had got 19.80.
    "a payment and its refund": (
        lambda shop: shop.refund(shop.paid(), "20"),
        [0, -200_000, 200_000],
    ),
}


@pytest.mark.parametrize(("act", "expected"), MOVES.values(), ids=MOVES)
def test_money_moves_between_customer_business_and_fees(shop, act, expected):
    """In units of USDT: what each of the three accounts gains or loses."""
    shop.paid("order-before")  # whoever is paid has paid
    accounts = (customer(shop.people["sara"].payer_id), BUSINESS, FEES)
    before = [shop.balance(account) for account in accounts]
    act(shop)
    after = [shop.balance(account) for account in accounts]
    assert [new - old for old, new in zip(before, after, strict=True)] == expected


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


def records_left(shop, coin=COINS[0]):
    """What the records that are listed now bring and take, in units."""
    brought = _sum(shop, "payments", "net_amount", coin)
    return units(brought - _sum(shop, "payout_records", "debited_amount", coin))


def business(shop):
    wallets = ControlApi(shop.service).state()["wallets"]
    held = {(each["account"], each["currency"]): each["balance"] for each in wallets}
    return units(held[BUSINESS, "usdt"])


@pytest.mark.parametrize("days", [0, 1, 5, 30, -3])
def test_the_wallet_is_what_the_listed_records_left(shop, days):
    """On any day, shown and for spending alike: days to come bring and take nothing yet."""
    shop.clock.advance(days * DAY)
    free = shop.platform.wallet.available(COINS[0], shop.platform.shown_until())
    assert business(shop) == free == records_left(shop)


def test_all_that_is_there_now_can_be_spent_and_what_then_no_longer_fits_does_not_come(shop):
    """
    A seeded payout of the next millisecond is dropped; the wallet still is what the list says.
    """
    coming(shop)
    configured = {"payout_max_usd": 10**9, "payout_day_usd": 10**9}
    Console(shop.service).configure(configured)
    held = business(shop)
    shop.pay_out(amount=str(Decimal(held * 100 // 101) / 10**6))
    shop.clock.advance(1000)
    assert "x" not in {record["id"] for record in shop.service.records("payout_records")}
    assert 0 <= business(shop) == records_left(shop)
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
    assert business(shop) == records_left(shop)


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
    assert business(shop) == records_left(shop)


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


def test_kill_while_paying_out_and_refunding_loses_and_doubles_nothing(shop):
    """
    Killed between any two steps: what it answered is there; asked for again, all of it and
    what it may have had under way is done once, with one event each.
    """
    code = (
        "import sys\n"
        "from svc_analytics.sandbox import Clock, Service, Store\n"
        "service = Service(Store(sys.argv[1]), Clock(int(sys.argv[2])))\n"
        "key = service.account.payout_key.reveal()\n"
        "for number in range(1000):\n"
        "    refund = {'reference_id': f'back-{number}', 'amount': '0.01'}\n"
        "    payout = {**refund, 'reference_id': f'cent-{number}', 'currency': 'usdt'}\n"
        "    print(service.refund(key, sys.argv[3], refund)['id'], flush=True)\n"
        "    record = service.pay_out(key, {**payout, 'payer_id': sys.argv[4]})\n"
        "    print(record['id'], flush=True)\n"
    )
    payment = shop.paid()
    payer_id, before = payment["payer_id"], shop.balance(BUSINESS)
    arguments = [shop.platform.store.name, str(shop.clock.now()), payment["id"], payer_id]
    command = [sys.executable, "-c", code, *arguments]
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
    console = Console(shop.service)
    session, key = shop.session(), console.mint_key({"class": "checkout"})["key"]
    secret = console.rotate_secret("receipt")["secret"]
    console.configure({"payout_scope": "any"})
    shop.paid("order-b")
    with Store(shop.platform.store.name) as store:
        again = Service(store, Clock(shop.clock.now()))
        assert again.sessions.read(key, session["id"])["status"] == "open"
        assert again.account.receipt_ring[0].secret.reveal() == secret
        assert again.platform.settings["payout_scope"] == "any"
        assert len(again.webhooks.log()) == len(shop.events())


def _sum(shop, stream, column, coin):
    rows = shop.service.records(stream)
    return sum((Decimal(row[column]) for row in rows if row["currency"] == coin.slug), Decimal(0))
