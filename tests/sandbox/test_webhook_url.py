"""Registration of the webhook URL (contract, Delivery 5): https and public, however it is spelt."""

import pytest

from svc_analytics.sandbox.resources.console import Console

PRIVATE_HOSTS = (
    # As usual
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "192.0.2.1", "198.18.0.1", "224.0.1.1", "240.0.0.1", "255.255.255.255"),
    *("[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[ff0e::1]", "[2001:db8::1]"),
    # As numbers, which the standard of URLs reads as an IPv4 address
    *("2130706433", "127.1", "127.0.0.1.", "0177.0.0.1", "0x7f.1", "0x7f000001", "0x"),
    *("0x7f.0.0.0xa", "127.0.0.0xa", "10.0.0.0xa", "192.168.0.0xb", "169.254.169.0xfe"),
    *("0xa9fe.0xa9fe", "shop.0XA", "shop.example.1"),
    # In other letters and dots
    *(
        *("\uff11\uff12\uff17.0.0.1", "①27.0.0.1", "127。0。0。1", "127\uff0e0\uff0e0\uff0e1"),
        "127%2e0.0.1",
    ),
    *("x.ⓛocalhost", "LOCALHOST", "shop.\uff2c\uff2f\uff23\uff21\uff2c"),
    # In IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo; site-local, documentation
    *("[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:0:127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]"),
    *("[2002:a00:1::]", "[2001:0:7f00:1::]", "[fec0::1]", "[3fff::1]", "[5f00::1]"),
    *("[fe80::1%25eth0]", "[fe80::1%eth0]", "192.88.99.1", "192.0.0.9"),
    # Names of no public server
    *("localhost", "localhost.", "x.localhost", "printer.local", "x.internal", "nas.lan"),
    *("box.home.arpa", "home.arpa", "x.localdomain", "x.corp", "x.home", "x.intranet"),
    *("x.private", "kubernetes.default.svc", "x.onion", "x.invalid", "shop"),
    # No names at all
    *("", ".", "a..b", ".shop.example", "shop.example..", "-.example", "a b.example"),
    *("shop.example" + "x" * 60, "a." * 130 + "example", "x" * 2000, "shop_.éxample.x" + "y" * 63),
    *("shop!.example", "[shop.example]", "[::1", "::1", "a@b@shop.example", "xn--.exa mple"),
)


@pytest.fixture
def answer(shop, refusal):
    """What the console refuses a URL with."""
    return lambda url: refusal(Console(shop.service).set_webhook_url, {"url": url})


INVALID = (422, "MERCHANT_WEBHOOK_URL_INVALID")


@pytest.mark.parametrize("host", PRIVATE_HOSTS)
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
    assert Console(shop.service).set_webhook_url({"url": url}) == {"webhook_url": url}
    assert shop.service.me(shop.checkout)["webhook_url"] == url


@pytest.mark.parametrize("url", [[], {}, ["http://127.0.0.1:1/"], 7, "http://127.0.0.1:0/"])
def test_receiver_must_be_a_url_too(shop, refusal, url):
    """The setting that overrides the webhook URL is held to this machine."""
    refused = refusal(Console(shop.service).configure, {"deliver_to": url})
    assert refused == (422, "VALIDATION_FAILED")
