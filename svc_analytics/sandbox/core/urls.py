"""URLs of webhooks: public https or this machine, judged in every spelling of the host."""

import ipaddress
import re
from urllib.parse import quote, urlsplit

MAX_URI = 2048  # characters
# No backslash, which browsers read as a slash; no percent sign in the host.
_URL = re.compile(
    r"(https?)://(?:[^@/?#\\\[\]]*@)?(\[[0-9A-Fa-f:.]+\]|[^@:/?#\\\[\]%]+)"
    r"(?::([0-9]{0,5}))?(?:[/?#][^\\]*)?\Z",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
# A name that ends so is an address to whoever follows the URL standard of browsers.
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)\Z")
_MAX_NAME = 253  # characters of a DNS name
# Names that no public DNS server answers for.
_PRIVATE_NAMES = (
    *("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home"),
    *("lan", "home.arpa", "svc", "onion", "invalid"),
)
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
# Not private to every version of Python, or ways to write an IPv4 address: Teredo and
# others (2001::/23), 6to4.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/3"),
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    )
)


def is_public_https(url: object) -> bool:
    """Tell whether a webhook URL is valid https and its host is public.

    >>> [is_public_https(f"https://{host}/") for host in ("shop.example", "10.0.0.1", "0x7f.1")]
    [True, False, False]
    """
    host = _host(url, "https")
    if host is None:
        return False
    try:
        return _is_public_address(ipaddress.ip_address(host))
    except ValueError:
        return _is_public_name(host)


def loopback_url(value: object) -> bool:
    """Tell whether a value is an http URL on this machine."""
    host = _host(value, "http")
    return host is not None and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine's loopback.

    The client has such a check too: the sandbox shares none of its code on purpose.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "a.example")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def request_target(url: str) -> str:
    """Return the path and query of a URL in ASCII, as they are sent.

    >>> request_target("http://127.0.0.1:9/é?a=%20ß#top")
    '/%C3%A9?a=%20%C3%9F'
    """
    parts = urlsplit(url)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return re.sub(r"[^!-~]+", lambda other: quote(other[0]), path)


def _host(url: object, scheme: str) -> str | None:
    """Return the host of a URL of a scheme in lower case; None if it is no good URL."""
    # Control and format characters and blanks are not printable; a plain blank is.
    if not isinstance(url, str) or len(url) > MAX_URI or not url.isprintable() or " " in url:
        return None
    match = _URL.match(url)
    if not match or match[1].lower() != scheme or not 0 < int(match[3] or 1) < 2**16:
        return None
    return match[2].strip("[]").lower()


def _is_public_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.version == 6 and address not in _PUBLIC_V6:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC)


def _is_public_name(host: str) -> bool:
    try:
        name = host.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        return False
    labels = name.split(".")
    if len(labels) == 1 or len(name) > _MAX_NAME or not all(map(_LABEL.match, labels)):
        return False
    is_private = f".{name}".endswith(tuple(f".{private}" for private in _PRIVATE_NAMES))
    return not is_private and not _NUMBER.match(labels[-1])
