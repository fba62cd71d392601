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
from svc_analytics.messages import Message

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

    text: Message
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
            text = Message("service.no_host", host=host)
            return Trouble(text, Message("service.check", name=name))
        values = {"host": host, "reason": cause.strerror}
        return Trouble(Message("service.not_looked_up", **values))
    if cause is not None and cause.errno == errno.ECONNREFUSED:
        text = Message("service.no_listener", place=place)
        return Trouble(text, Message("service.check_port", name=name))
    return None


def proxy_trouble(answer: str, settings: Settings) -> Trouble:
    """Return the trouble of a proxy that opens no way; its answer begins with the status."""
    status = answer.partition(" ")[0]
    values = {"proxy": _PROXY, "address": _BASE_URL, "place": _place(settings.base_url)}
    proxy = _place(settings.proxy)
    text = Message("service.proxy" if status else "service.no_proxy", place=proxy, status=status)
    if status == "407":
        return Trouble(text, Message("service.proxy_login", **values), is_lasting=True)
    if status.startswith("4"):
        return Trouble(text, Message("service.proxy_forbids", **values), is_lasting=True)
    return Trouble(text, Message("service.proxy_fails", **values))


def _tls_trouble(error: ssl.SSLError, address: str) -> Trouble | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        values = {"host": _host(address), "reason": error.verify_message}
        advice = _certificate_advice(error.verify_code)
        return Trouble(Message("service.no_trust", **values), advice, is_lasting=True)
    if error.reason in _IN_THE_CLEAR:
        text = Message("service.no_tls", place=_place(address))
        return Trouble(text, Message("service.check_port", name=_BASE_URL))
    return None


def _certificate_advice(code: int) -> Message:
    if code in _OTHER_NAMES:
        return Message("service.check_host", name=_BASE_URL)
    return Message("service.clock" if code in (_NOT_YET, _EXPIRED) else "service.authority")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _place(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 443)}"
