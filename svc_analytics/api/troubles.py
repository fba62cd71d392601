"""Why a call reached no service: what the system, TLS or a proxy said, and what to look at.

Some of it passes by itself. Some never does. And some is a wrong setting, or passes: a host that
nobody knows, a port at which nothing listens; then the advice names the setting.
"""

import errno
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from svc_analytics.config import Settings

_BASE_URL, _PROXY = "SVC_BASE_URL", "SVC_PROXY"
_UNKNOWN_HOST = {getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")} - {None}
# What OpenSSL calls an answer that is no TLS; its releases differ.
_IN_THE_CLEAR = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
_NOT_YET, _EXPIRED, _OTHER_NAMES = 9, 10, (62, 63, 64)  # OpenSSL: X509_V_ERR_…
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Trouble:
    """A reason why a call does not reach the service; `advice` names what may be wrong here.

    One that `is_lasting` is not mended by waiting.
    """

    text: str
    advice: str = ""
    is_lasting: bool = False


def system_trouble(error: BaseException, settings: Settings) -> Trouble | None:
    """Return the trouble that the system or TLS told; None for one of no known kind."""
    cause = next((each for each in _causes(error) if isinstance(each, OSError)), None)
    name, address = (_PROXY, settings.proxy) if settings.proxy else (_BASE_URL, settings.base_url)
    host, place = _host(address), _place(address)
    if isinstance(cause, ssl.SSLError):
        return _tls_trouble(cause, settings.base_url)
    if isinstance(cause, socket.gaierror):
        if cause.errno in _UNKNOWN_HOST:
            return Trouble(f"no host is named {host}", f"check {name}")
        return Trouble(f"the name {host} cannot be looked up just now ({cause.strerror})")
    if cause is not None and cause.errno == errno.ECONNREFUSED:
        return Trouble(f"nothing listens at {place}", f"check the port of {name}")
    return None


def proxy_trouble(answer: str, settings: Settings) -> Trouble:
    """Return the trouble of a proxy that opens no way; its answer begins with the status."""
    status = answer.partition(" ")[0]
    text = f"the proxy {_place(settings.proxy)} answered {status or 'nothing'}"
    if status == "407":
        return Trouble(text, f"it wants another name and password in {_PROXY}", is_lasting=True)
    if status.startswith("4"):
        advice = f"it must be allowed to connect to {_place(settings.base_url)}, or check {_PROXY}"
        return Trouble(text, advice, is_lasting=True)
    return Trouble(text, f"check {_BASE_URL}, which the proxy may not find, and {_PROXY}")


def _tls_trouble(error: ssl.SSLError, address: str) -> Trouble | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the certificate of {_host(address)} cannot be trusted ({error.verify_message})"
        advice = _certificate_advice(error.verify_code)
        return Trouble(f"{text}; no key was sent", advice, is_lasting=True)
    if error.reason in _IN_THE_CLEAR:
        return Trouble(f"{_place(address)} speaks no TLS", f"check the port of {_BASE_URL}")
    return None


def _certificate_advice(code: int) -> str:
    if code in _OTHER_NAMES:
        return f"check the host of {_BASE_URL}"
    if code in (_NOT_YET, _EXPIRED):
        return "set this machine's clock, or ask the service for its new certificate"
    return "if your company has an authority of its own, give its certificate by SVC_CA_FILE"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _place(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 443)}"
