"""Webhooks (contract, Events)."""

import json
import socket
import time
from contextlib import contextmanager, suppress
from threading import Thread
from uuid import UUID

import pytest

from svc_analytics.instants import DAY, HOUR, SECOND
from svc_analytics.sandbox.webhooks import BACKOFF, WebhookSender, post_to_this_machine
from svc_analytics.signing.webhooks import verify_webhook
from tests.support.loopback import Web, serving


class Receiver:
    """What was posted, and what to answer it with: a failure, or nothing for a 2xx."""

    def __init__(self):
        self.posts = []
        self.failure = ""

    def __call__(self, url, body, headers):
        self.posts.append((url, body, headers["x-pay-signature"]))
        return self.failure


@pytest.fixture
def receiver():
    return Receiver()


@pytest.fixture
def deliveries(shop, receiver):
    shop.platform.settings["deliver_to"] = "http://127.0.0.1:9/hook"
    return WebhookSender(shop.platform, receiver)


@pytest.fixture
def ping(shop):
    """Sends a test event."""
    shop.console.open_secret("webhook")
    return shop.console.send_test_event


@contextmanager
def receiving(status=204):
    """A receiver on this machine for one post; gives its address and the paths asked for."""
    paths = []

    class Handler(Web):
        def post(self):
            paths.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.answer(status, headers={"location": "http://127.0.0.1:9/"})

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}", paths


def test_delivery_is_signed_over_its_raw_body(shop, deliveries, receiver, ping):
    """One v1 by the webhook secret, at the sandbox's own time; a 2xx ends it."""
    event_id = ping()["event_id"]
    assert [deliveries.deliver_due(), deliveries.deliver_due()] == [1, 0]
    assert deliveries.log()[0]["state"] == "delivered"
    [(_, body, signature)] = receiver.posts
    assert json.loads(body) == {"event_id": event_id, "type": "test.ping", "source": "console"}
    assert signature.count("v1=") == 1
    ring = shop.service.account.webhook_ring
    assert verify_webhook(body, signature, ring, shop.clock.now()) is None
    assert verify_webhook(body + b" ", signature, ring, shop.clock.now())
    assert verify_webhook(body, signature, ring, shop.clock.now() + 301 * SECOND)


def test_every_rotation_leaves_each_secret_its_own_day(shop, deliveries, receiver, ping):
    """Delivery 7: one more rotation takes back nothing that was promised."""
    rings = [shop.service.account.webhook_ring[:1]]
    for _ in range(2):
        shop.clock.advance(HOUR)
        shop.console.rotate_secret("webhook")
        rings.append(shop.service.account.webhook_ring[:1])
    for passed, ended in ((0, 0), (DAY - HOUR - 1, 0), (1, 1), (HOUR, 2)):
        shop.clock.advance(passed)
        ping(), deliveries.deliver_due()
        _, body, header = receiver.posts[-1]
        verified = [verify_webhook(body, header, ring, shop.clock.now()) is None for ring in rings]
        assert verified == [False] * ended + [True] * (3 - ended)
        assert header.count("v1=") == 3 - ended


def test_failed_attempts_are_repeated_over_a_day_and_abandoned(shop, deliveries, receiver, ping):
    """Exponential backoff on the clock, one event_id throughout, every reason in the log."""
    receiver.failure = "answered 500"
    event_id = ping()["event_id"]
    started = shop.clock.now()
    for pause in (*BACKOFF, DAY):
        assert deliveries.deliver_due() == 1
        assert deliveries.deliver_due() == 0
        last = shop.clock.now()
        shop.clock.advance(pause)
    assert deliveries.deliver_due() == 0
    assert 23 * HOUR < last - started <= 24 * HOUR
    assert {json.loads(body)["event_id"] for _, body, _ in receiver.posts} == {event_id}
    [logged] = deliveries.log()
    assert (logged["state"], len(logged["attempts"])) == ("abandoned", len(BACKOFF) + 1)
    assert {attempt["outcome"] for attempt in logged["attempts"]} == {"answered 500"}


def test_whatever_goes_wrong_is_a_failed_attempt(shop, deliveries, ping):
    """Delivery 1: anything but a 2xx; and the events behind it are not held up."""
    ping(), ping()
    sender = WebhookSender(shop.platform, lambda *_: 1 / 0)
    assert sender.deliver_due() == 2
    outcomes = [one["attempts"][0]["outcome"] for one in sender.log()]
    assert outcomes == ["no answer: ZeroDivisionError"] * 2
    shop.clock.advance(BACKOFF[0])
    assert deliveries.deliver_due() == 2
    assert {one["state"] for one in deliveries.log()} == {"delivered"}


def test_path_beyond_ascii_is_percent_encoded():
    """As the standard of URLs has it; what is encoded already stays as it is."""
    with receiving() as (url, paths):
        assert post_to_this_machine(f"{url}/چای/é%20b?q=ß&r=%C3%9F#x", b"{}", {}) == ""
    assert paths == ["/%DA%86%D8%A7%DB%8C/%C3%A9%20b?q=%C3%9F&r=%C3%9F"]


def test_operation_does_not_wait_for_its_delivery(shop, deliveries, receiver):
    """A payment is done before anything is posted."""
    shop.paid()
    assert receiver.posts == []
    assert deliveries.deliver_due() == 2


def test_without_a_receiver_nothing_leaves_the_machine(shop, ping):
    """The log says why, as it does for what never reached a receiver."""
    ping()
    shop.service.webhooks.deliver_due()
    [attempt] = shop.service.webhooks.log()[0]["attempts"]
    assert attempt["outcome"] == "not sent: no receiver on this machine is set"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(204, ""), (302, "answered 302"), (400, "answered 400"), (500, "answered 500")],
)
def test_any_2xx_is_success_and_nothing_else(status, outcome):
    """Delivery 1, against a real receiver; a redirect is not followed."""
    with receiving(status) as (url, _):
        assert post_to_this_machine(f"{url}/hook", b"{}", {}) == outcome


def test_receiver_that_is_not_there_is_a_failure():
    """With its kind as the reason."""
    assert post_to_this_machine("http://127.0.0.1:1/", b"", {}).startswith("no answer: ")


def test_receiver_that_answers_drop_by_drop_gets_no_more_time(monkeypatch):
    """Each byte comes soon after the last, and the whole far too late."""
    monkeypatch.setattr("svc_analytics.sandbox.webhooks.ATTEMPT_SECONDS", 0.1)

    def drip():
        with server.accept()[0] as connection, suppress(OSError):
            for byte in b"HTTP/1.1 200 " + b" " * 100 + b"\r\n\r\n":
                connection.sendall(bytes([byte]))
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=drip, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/hook"
        assert post_to_this_machine(url, b"{}", {}) == "no answer: TimeoutError"


def test_stop_is_heard_between_two_attempts(deliveries, receiver, ping):
    """However many are due, and however long their receiver takes: the rest stays queued."""
    [ping() for _ in range(3)]
    assert deliveries.deliver_due(lambda: len(receiver.posts) == 1) == 1
    assert [one["state"] for one in deliveries.log()] == ["pending", "pending", "delivered"]


def test_ids_of_events_are_uuids(shop, ping):
    """All but the merchant's own strings."""
    payment = shop.paid()
    shop.refund(payment, "1")
    shop.session("order-b", ttl_minutes=5)
    shop.clock.advance(HOUR)
    shop.service.sessions.expire()
    ping()
    events = [event.items() for event in shop.events()]
    facts = [fact for event in events for fact in event if fact[0].endswith("_id")]
    assert {len(event) for event in events} >= {3, 5, 6}
    own = ("customer_id", "reference_id")
    assert all(str(UUID(value)) == value for name, value in facts if name not in own)


def test_test_event_needs_the_secret_to_have_been_seen(shop, refusal):
    """Delivery 6."""
    unseen = (422, "MERCHANT_WEBHOOK_SECRET_UNSEEN")
    assert refusal(shop.console.send_test_event) == unseen
    shop.console.open_secret("receipt")
    assert refusal(shop.console.send_test_event) == unseen


def test_receiver_on_this_machine_can_be_the_webhook_url(shop, receiver, ping):
    """A liberty of the sandbox: plain http to loopback; then that is where events go."""
    url = "http://[::1]:9000/hook"
    shop.console.set_webhook_url({"url": url})
    ping()
    WebhookSender(shop.platform, receiver).deliver_due()
    assert receiver.posts[0][0] == url == shop.service.me(shop.checkout)["webhook_url"]


def test_console_payout_has_no_reference_and_tells_its_event(shop):
    """Also for payouts made from the console."""
    payer_id = shop.paid()["payer_id"]
    body = {"currency": "usdt", "amount": "5", "payer_id": payer_id, "reference_id": "mine"}
    record = shop.console.pay_out(body)
    assert (record["reference_id"], record["kind"]) == (None, "payout")
    assert shop.events()[-1]["payout_id"] == record["id"]


# Registration of the webhook URL (contract, Delivery 5).

PRIVATE_HOSTS = {
    "as usual": "127.0.0.1 10.1.2.3 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0"
    " 192.0.2.1 198.18.0.1 224.0.1.1 240.0.0.1 255.255.255.255 [::1] [::] [fe80::1] [fc00::1]"
    " [ff0e::1] [2001:db8::1]",
    "numbers, which the standard of URLs reads as an IPv4 address": "2130706433 127.1 127.0.0.1."
    " 0177.0.0.1 0x7f.1 0x7f000001 0x 0x7f.0.0.0xa 127.0.0.0xa 10.0.0.0xa 192.168.0.0xb"
    " 169.254.169.0xfe 0xa9fe.0xa9fe shop.0XA shop.example.1",
    "other letters and dots": "\uff11\uff12\uff17.0.0.1 ①27.0.0.1 127。0。0。1"
    " 127\uff0e0\uff0e0\uff0e1 127%2e0.0.1 x.ⓛocalhost LOCALHOST"
    " shop.\uff2c\uff2f\uff23\uff21\uff2c",
    # IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo; site-local, documentation.
    "IPv6": "[::ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1]"
    " [64:ff9b::a00:1] [64:ff9b:1::1] [2002:7f00:1::] [2002:a00:1::] [2001:0:7f00:1::] [fec0::1]"
    " [3fff::1] [5f00::1] [fe80::1%25eth0] [fe80::1%eth0] 192.88.99.1 192.0.0.9",
    "names of no public server": "localhost localhost. x.localhost printer.local x.internal"
    " nas.lan box.home.arpa home.arpa x.localdomain x.corp x.home x.intranet x.private"
    " kubernetes.default.svc x.onion x.invalid shop",
    "no names at all": ". a..b .shop.example shop.example.. -.example shop!.example"
    " [shop.example] [::1 ::1 a@b@shop.example",
}
NO_HOSTS = (
    *("", "a b.example", "xn--.exa mple", "shop.example" + "x" * 60, "a." * 130 + "example"),
    *("x" * 2000, "shop_.éxample.x" + "y" * 63),
)
HOSTS = [*(host for kind in PRIVATE_HOSTS.values() for host in kind.split()), *NO_HOSTS]


@pytest.fixture
def answer(shop, refusal):
    """What the console refuses a URL with."""
    return lambda url: refusal(shop.console.set_webhook_url, {"url": url})


INVALID = (422, "MERCHANT_WEBHOOK_URL_INVALID")


@pytest.mark.parametrize("host", HOSTS)
def test_private_host_is_refused_in_every_spelling(answer, host):
    """Loopback, private and unparsable hosts, also behind a port and a user."""
    assert answer(f"https://{host}/hook") == INVALID
    assert answer(f"https://shop.example@{host}:443") == INVALID


@pytest.mark.parametrize(
    "url",
    [
        *(None, True, 7, 10**400, [], ["https://shop.example"], {}, {"url": "https://a.example"}),
        *("", "https", "https:", "https://", "https:shop.example", "//shop.example/", "/hook"),
        *("http://shop.example/hook", "ftp://shop.example/", "javascript:alert(1)"),
        *("http://127.0.0.1:port/", "http://127.0.0.1:0/", "http://127.0.0.1.shop.example/"),
        *("http://10.0.0.1/", "http://0.0.0.0/", "http://127.1/", "http://x.localhost/"),
        *("https://shop.example:port/", "https://shop.example:0/", "https://shop.example:65536/"),
        *("https://shop.example\\@127.0.0.1/", "https://127.0.0.1\\@shop.example/"),
        *("https://shop.example/\\", "https:\\\\shop.example/", " https://shop.example/"),
        *(f"https://shop.example/{character}" for character in "\0\t\n\r \x7f\x85\u200b\u2028"),
        *(f"http://127.0.0.1:9/{character}" for character in "\0\n \x7f\u202e\u2066\ufeff\ue000"),
        "https://shop.example/" + "x" * 2048,
    ],
    ids=lambda url: ascii(url)[:50],
)
def test_url_that_cannot_be_called_is_refused(answer, url):
    """Another scheme, no text, no host, no port, a character that is not shown."""
    assert answer(url) == INVALID


@pytest.mark.parametrize(
    "url",
    [
        *("https://shop.example", "HTTPS://Shop.Example:8443/a?b=c#d", "https://shop.example./"),
        *("https://u:p@shop.example/", "https://my_shop.example/%2e", "https://a-b.example/~x"),
        *("https://8.8.8.8/hook", "https://[2606:4700::1111]:443/", "https://shop.example:65535/"),
        *("https://فروشگاه.example/چای", "https://xn--d1acufc.example/", "https://ß.example/é?ü"),
        *("https://0x7f.example/", "https://127.0.0.1.example/", "https://10.example/"),
        *("http://127.0.0.1:9/é", "http://localhost/", "http://[::1]:9/", "http://127.9.9.9:9"),
    ],
)
def test_public_https_is_registered_as_it_was_sent(shop, url):
    """And so is http on this machine, our liberty."""
    assert shop.console.set_webhook_url({"url": url}) == {"webhook_url": url}
    assert shop.service.me(shop.checkout)["webhook_url"] == url


@pytest.mark.parametrize("url", [[], {}, ["http://127.0.0.1:1/"], 7, "http://127.0.0.1:0/"])
def test_receiver_must_be_a_url_too(shop, refusal, url):
    """The setting that overrides the webhook URL is held to this machine."""
    refused = refusal(shop.console.configure, {"deliver_to": url})
    assert refused == (422, "VALIDATION_FAILED")
