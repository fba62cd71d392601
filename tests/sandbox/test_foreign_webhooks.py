"""The signature scheme of webhooks, compared with a library that others wrote."""

import time

import pytest
import stripe

from svc_analytics.instants import SECOND
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.webhook_delivery import WebhookSender
from svc_analytics.signing.webhooks import verify_webhook

BODY = '{"type":"test.ping","source":"console","note":"چای"}'


@pytest.fixture
def posts(shop):
    """Bodies and signatures of what was delivered, signed by the time of this machine."""
    shop.clock.run()
    shop.platform.settings["deliver_to"] = "http://127.0.0.1:9/hook"
    return []


@pytest.fixture
def deliver(shop, posts):
    """Sends a test event and returns its body and its signature."""

    def receive(_, body, headers):
        posts.append((body.decode(), headers["x-pay-signature"]))
        return ""

    def send():
        console = Console(shop.service)
        console.open_secret("webhook")
        console.send_test_event()
        WebhookSender(shop.platform, receive).deliver_due()
        return posts[-1]

    return send


@pytest.fixture
def secret(shop):
    return shop.service.account.webhook_ring[0].secret.reveal()


def is_theirs(body, header, secret):
    """Tell whether the other library takes a delivery for authentic."""
    try:
        return stripe.WebhookSignature.verify_header(body, header, secret, tolerance=300)
    except stripe.SignatureVerificationError:
        return False


def signed_their_way(body, secret, at):
    """The header as the other library computes it, with a scheme that we do not know in front."""
    signature = stripe.WebhookSignature._compute_signature(f"{at}.{body}", secret)
    return f"t={at},v0=00,v1={signature}"


def test_other_library_verifies_our_deliveries(deliver, secret):
    """The body as sent, by its secret, and no other body or secret."""
    body, header = deliver()
    assert is_theirs(body, header, secret)
    assert not is_theirs(body + " ", header, secret)
    assert not is_theirs(body, header, secret + "x")


def test_other_library_verifies_by_either_secret_of_a_rotation(shop, deliver, secret):
    """Delivery 7: the header carries two v1."""
    Console(shop.service).rotate_secret("webhook")
    newest = shop.service.account.webhook_ring[0].secret.reveal()
    body, header = deliver()
    assert newest != secret and header.count("v1=") == 2
    assert is_theirs(body, header, newest) and is_theirs(body, header, secret)


def test_we_verify_what_the_other_library_signs(shop, secret):
    """Unknown schemes beside v1 are passed over; another body or secret is refused."""
    ring, at = shop.service.account.webhook_ring, int(time.time())
    header = signed_their_way(BODY, secret, at)
    assert verify_webhook(BODY.encode(), header, ring, at * SECOND) is None
    assert verify_webhook(BODY.encode() + b" ", header, ring, at * SECOND)
    foreign = signed_their_way(BODY, "whsec_other", at)
    assert verify_webhook(BODY.encode(), foreign, ring, at * SECOND)


@pytest.mark.parametrize(("age", "is_good"), [(0, True), (290, True), (310, False)])
def test_both_libraries_agree_on_a_delivery_too_old(shop, secret, age, is_good):
    """Signature 4: five minutes. Of times in the future only we are strict."""
    now = int(time.time())
    header = signed_their_way(BODY, secret, now - age)
    assert bool(is_theirs(BODY, header, secret)) is is_good
    ring = shop.service.account.webhook_ring
    assert (verify_webhook(BODY.encode(), header, ring, now * SECOND) is None) is is_good
    ahead = signed_their_way(BODY, secret, now + 310)
    assert verify_webhook(BODY.encode(), ahead, ring, now * SECOND)
