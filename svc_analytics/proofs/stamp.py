"""Stamps by RFC 3161: an authority signs that a checkpoint was there, and when.

It is sent the hash of the checkpoint, a number that nobody can foresee, and nothing else.
"""

import re
import shutil
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from svc_analytics.environment import here
from svc_analytics.errors import ConfigError
from svc_analytics.messages import Message
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, STAMP

SETTING = "SVC_TSA_URL"
_TIMEOUT = 20  # seconds for a connection, and for each part of the reply
_PATIENCE = 60  # seconds for all of it
_LONGEST = 1 << 20  # bytes of a reply: one with its certificates has some thousands
_UNTRUSTED = 3  # a stamp of the text is there, and nobody was named who may stamp
_NO_OPENSSL = "stamp.no_program"
_HEADERS = {"Content-Type": "application/timestamp-query", "User-Agent": "svc-analytics"}


@dataclass(frozen=True)
class Authority:
    """The address of an authority that stamps, and how it is reached; empty where none is set."""

    url: str = ""
    proxy: str = field(default="", repr=False)
    trusted: tuple[str, str] = ("", "")  # files, as SSL_CERT_FILE and SVC_CA_FILE name them

    @classmethod
    def read(
        cls, environ: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> "Authority":
        """Read SVC_TSA_URL, which holds no secret, and the settings of every call.

        >>> Authority.read({"SVC_TSA_URL": "https://tsa.example"}).url
        'https://tsa.example'
        """
        source = here(environ, folder)
        files = source.environ.get("SSL_CERT_FILE", ""), source.text("SVC_CA_FILE")
        return cls(source.text(SETTING), source.text("SVC_PROXY"), files)

    def stamp(self, content: bytes) -> dict[str, bytes]:
        """Have a checkpoint stamped: the query and the reply, by the names of their files.

        Raises `ConfigError` where openssl or the authority is missing, or the reply is no stamp
        of this query.
        """
        self.require()
        with TemporaryDirectory() as name:
            place = Path(name)
            (place / FILE).write_bytes(content)
            words = ("-data", str(place / FILE), "-sha256", "-cert", "-out", str(place / QUERY))
            _openssl("ts", "-query", *words)
            (place / STAMP).write_bytes(self._post((place / QUERY).read_bytes()))
            _check(place)
            return {name: (place / name).read_bytes() for name in (QUERY, STAMP)}

    def require(self) -> None:
        """Raise `ConfigError` where the address is none, or `openssl` is missing."""
        if not self.url.startswith(("https://", "http://")):
            raise ConfigError(Message("stamp.no_address", name=SETTING))
        if shutil.which("openssl") is None:
            raise ConfigError(Message(_NO_OPENSSL))

    def _post(self, query: bytes) -> bytes:
        import httpx  # which takes a moment, and only a stamp needs it here

        until, reply = time.monotonic() + _PATIENCE, b""
        try:
            with httpx.stream(
                "POST",
                self.url,
                content=query,
                headers=_HEADERS,
                timeout=_TIMEOUT,
                verify=self._context(),
                proxy=self.proxy or None,
                trust_env=False,
            ) as response:
                if response.status_code != httpx.codes.OK:
                    values = {"name": SETTING, "status": response.status_code}
                    raise ConfigError(Message("stamp.answered", **values))
                for part in response.iter_bytes():
                    reply += part
                    if len(reply) > _LONGEST or time.monotonic() > until:
                        raise ConfigError(Message("stamp.endless", name=SETTING))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            why = type(error).__name__  # its text may name a password of the proxy
            raise ConfigError(Message("stamp.away", name=SETTING, why=why)) from error
        return reply

    def _context(self) -> ssl.SSLContext:
        from svc_analytics.api.transport import trusted_by  # loads the client of the service

        return trusted_by(*self.trusted)


def has_stamp(folder: Path) -> bool:
    """Whether a sealed folder has a stamp of its checkpoint, by whatever authority."""
    *_, code = verify.outcome(verify.check_stamp, folder, None)
    return bool(code == _UNTRUSTED)


def _check(place: Path) -> None:
    """Refuse a reply that is no stamp of the query; whom to trust, its reader says later.

    Its own certificates are taken for trusted: they tell whether it is whole.
    """
    reply, token, known = (str(place / name) for name in (STAMP, "token", "known"))
    stated = _openssl("ts", "-reply", "-in", reply, "-text")
    if "Status: Granted" not in stated:
        said = re.findall("(?:Status description|Failure info): (.+)", stated)
        reason = "; ".join(said) or "no reason"
        raise ConfigError(Message("stamp.refused", name=SETTING, reason=reason))
    _openssl("ts", "-reply", "-in", reply, "-token_out", "-out", token)
    _openssl("pkcs7", "-inform", "DER", "-in", token, "-print_certs", "-out", known)
    asked = ("-queryfile", str(place / QUERY), "-CAfile", known, "-partial_chain")
    _openssl("ts", "-verify", "-in", reply, *asked)
    if not has_stamp(place):
        raise ConfigError(Message("stamp.other_reply", reason="its form is not strict"))


def _openssl(*words: str) -> str:
    try:
        done = verify.run("openssl", *words)
    except verify.Result as error:
        raise ConfigError(Message(_NO_OPENSSL)) from error
    if done.returncode:
        text = done.stderr.decode(errors="replace")
        reasons = re.findall("error:[^:]*:[^:]*:[^:]*:([^:\n]+)", text) or ["no reason"]
        code = "stamp.other_reply" if "-in" in words else "stamp.no_query"
        raise ConfigError(Message(code, reason=reasons[-1].strip()))
    return done.stdout.decode(errors="replace")
