"""What keeps a call from the service, told apart on real sockets, with the next step (A1, A10)."""

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import EAI_AGAIN, EAI_NONAME, create_server, gaierror
from typing import Any

import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.config import read_settings
from svc_analytics.errors import ApiError, ConfigError, KeyRefused, NoService, Unavailable
from tests.support.fake_service import CHECKOUT_KEY, MERCHANT_ID, PAYOUT_KEY, FakeService, refusal
from tests.support.loopback import PROFILE, Answering, answering, whole
from tests.support.unit_material import Hours, both_keys, client_of

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert isinstance(port, int)
    return port


def told(base_url: str, **changes: Any) -> ApiError:
    """Return what a call is told in the end."""
    with (
        Client(both_keys(base_url=base_url, **changes), limiter=Hours().limiter(5)) as client,
        pytest.raises(ApiError) as given_up,
    ):
        client.me()
    return given_up.value


# ---------- may be a wrong setting, or pass


def is_advised(error: ApiError, *words: str) -> bool:
    """Whether it can be tried again, and names what happened and the setting to look at."""
    texts = (getattr(error, "trouble", ""), getattr(error, "advice", ""))
    is_kind = type(error) is Unavailable and error.exit_code == 75
    return is_kind and all(word in text for word, text in zip(words, texts, strict=True))


def test_a_port_at_which_nothing_listens_is_named():
    port = free_port()
    error = told(f"http://127.0.0.1:{port}")
    assert is_advised(error, f"nothing listens at 127.0.0.1:{port}", "port of SVC_BASE_URL")
    assert "try again later, and if it stays so, check the port" in str(error)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (EAI_NONAME, ("no host is named pay.exmple", "check SVC_BASE_URL")),
        (EAI_AGAIN, ("pay.exmple cannot be looked up just now", "")),
    ],
    ids=["nobody knows it", "name servers are away"],
)
def test_a_name_that_nobody_knows_differs_from_one_that_cannot_be_looked_up(
    monkeypatch, code, words
):
    def look_up(*_: object, **__: object) -> None:
        raise gaierror(code, "as the resolver says it")

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    error = told("https://pay.exmple")
    assert is_advised(error, *words) and bool(words[1]) == bool(getattr(error, "advice", None))


def test_a_port_that_speaks_no_tls_is_told_as_such_and_gets_no_key():
    """A10: https means https."""
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        error = told(f"https://localhost:{server.port}")
    place = f"localhost:{server.port}"
    assert is_advised(error, f"{place} speaks no TLS", "check the port of SVC_BASE_URL")
    assert server.asked and not [head for head in server.asked if b"Bearer" in head]


def test_a_web_site_in_the_place_of_the_service_is_told_as_such():
    with answering(whole(b"hi").replace(b"application/json", b"text/html")) as server:
        error = told(server.base_url)
    assert is_advised(error, "the answer is text/html, not JSON", "check SVC_BASE_URL")


def test_a_path_that_the_service_does_not_have_leads_to_the_address():
    """Every business has a profile: where there is none, the address is another one's."""
    error = told_by(refusal(404, "NOT_FOUND"))
    assert "check SVC_BASE_URL" in str(error) and error.exit_code == 1


# ---------- proxies


def through(port: int, base_url: str = "https://pay.example") -> ApiError:
    error = told(base_url, proxy=f"http://clerk:s3cret@127.0.0.1:{port}")
    assert "s3cret" not in f"{error} {error!r} {vars(error)}"
    return error


def test_a_proxy_at_whose_port_nothing_listens_is_named_and_not_the_service():
    port = free_port()
    error = through(port)
    assert is_advised(error, f"nothing listens at 127.0.0.1:{port}", "the port of SVC_PROXY")


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("407 Who", "another name and password in SVC_PROXY"),
        ("403 No", "allowed to connect to pay"),
    ],
)
def test_a_proxy_that_refuses_is_told_at_once(status, advice):
    """Waiting mends neither a password nor a rule."""
    with answering(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status.encode()) as server:
        error = through(server.port)
    assert (type(error), error.exit_code) == (NoService, 1)
    assert f"127.0.0.1:{server.port} answered {status[:3]}" in str(error) and advice in str(error)


def test_a_proxy_that_does_not_reach_the_service_may_do_so_later():
    with answering(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as server:
        error = through(server.port)
    assert is_advised(error, "answered 502", "SVC_BASE_URL, which the proxy may not")


# ---------- certificates


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def company(tmp_path_factory) -> Path:
    """A folder with an authority of a company, and a certificate that it issued for localhost."""
    folder = tmp_path_factory.mktemp("company")
    new, issued = ("req", "-x509", *EC, "-days", "2"), ("-CA", "ca.pem", "-CAkey", "ca.key")
    of_company = ("-subj", "/CN=Company", "-addext", "keyUsage=critical,keyCertSign")
    openssl(folder, *new, "-keyout", "ca.key", "-out", "ca.pem", *of_company)
    of_host = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    of_host += ("-addext", "basicConstraints=CA:FALSE")  # newer Pythons look at both
    openssl(folder, *new, *issued, "-keyout", "own.key", "-out", "own.pem", *of_host)
    return folder


@contextmanager
def company_service(company: Path, certificate: str = "own") -> Iterator[Answering]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(company / f"{certificate}.pem", company / f"{certificate}.key")
    with answering(whole(PROFILE), context) as server:
        yield server


@pytest.mark.parametrize("name", ["SVC_CA_FILE", "SSL_CERT_FILE"])
def test_an_own_authority_is_trusted_by_a_setting(company, tmp_path, name):
    with company_service(company) as server:
        environ = {"SVC_BASE_URL": f"https://localhost:{server.port}"}
        environ |= {"SVC_CHECKOUT_KEY": CHECKOUT_KEY, name: str(company / "ca.pem")}
        settings = read_settings(environ=environ, folder=tmp_path)
        with Client(settings, limiter=Hours().limiter(5)) as client:
            assert client.me()[0]["id"] == MERCHANT_ID


@pytest.mark.parametrize("certificate", ["own", "ca"], ids=["unknown authority", "self-signed"])
def test_without_it_the_line_names_the_setting_and_no_key_leaves(company, certificate):
    """A10: it fails at once, for no waiting makes an authority known, and sends not a byte."""
    with company_service(company, certificate) as server:
        error = told(f"https://localhost:{server.port}")
    assert (type(error), error.exit_code, server.asked) == (NoService, 1, [])
    assert "the certificate of localhost cannot be trusted" in str(error)
    assert "give its certificate by SVC_CA_FILE" in str(error) and "no key was sent" in str(error)


def test_a_certificate_for_another_host_leads_to_the_address_and_gets_no_key(company):
    """A10: trusted, but not for this host."""
    with company_service(company) as server:
        error = told(f"https://127.0.0.1:{server.port}", ca_file=str(company / "ca.pem"))
    assert (type(error), server.asked) == (NoService, [])
    assert "certificate of 127.0.0.1 cannot be trusted" in str(error)
    assert "check the host of SVC_BASE_URL" in str(error)


def test_the_usual_authorities_stay_beside_svc_ca_file_alone(company):
    """SSL_CERT_FILE takes their place, as it does in other programs."""
    authority, usual = str(company / "ca.pem"), transport._trusted(both_keys()).get_ca_certs()
    both = transport._trusted(both_keys(ca_file=authority)).get_ca_certs()
    own = transport._trusted(both_keys(ssl_cert_file=authority)).get_ca_certs()
    assert len(both) == len(usual) + 1 > 2 and len(own) == 1


@pytest.mark.parametrize("name", ["ca_file", "ssl_cert_file"])
@pytest.mark.parametrize("content", ["no certificate", None], ids=["of text", "missing"])
def test_a_file_without_certificates_is_a_wrong_setting(tmp_path, name, content):
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    variable = {"ca_file": "SVC_CA_FILE", "ssl_cert_file": "SSL_CERT_FILE"}[name]
    with pytest.raises(ConfigError, match=f"{variable} names no file of certificates"):
        Client(both_keys(**{name: str(file)}))


# ---------- keys


def told_by(answer: Any, key_class: Any = None) -> ApiError:
    with pytest.raises(ApiError) as refused:
        client_of(FakeService(intercept=lambda request: answer)).me(key_class)
    return refused.value


@pytest.mark.parametrize(
    ("key_class", "shown"),
    [
        ("checkout", "checkout-class key svc_live_…1111"),
        ("payout", "payout-class key svc_payout_…2222"),
    ],
)
def test_a_refused_key_is_named_by_its_class_and_its_end(key_class, shown):
    """With two keys set, nobody has to guess; not even nine of its digits are shown."""
    error = told_by(refusal(401, "UNAUTHORIZED"), key_class)
    assert isinstance(error, KeyRefused) and f"/me with the {shown} (401" in str(error)
    assert not [key for key in (CHECKOUT_KEY, PAYOUT_KEY) if key[-9:] in str(error)]
