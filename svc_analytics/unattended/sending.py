"""Send a notice by mail, to a webhook, or to a command."""

import json
import os
import smtplib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Any

from svc_analytics.config import is_loopback
from svc_analytics.environment import PREFIX
from svc_analytics.unattended.attachments import Attachment
from svc_analytics.unattended.notices import Notice
from svc_analytics.unattended.notifiers import Notifier, Undelivered
from svc_analytics.unattended.settings import Watching
from svc_analytics.unattended.web import TIMEOUT, call

MOST_MAILED = 20_000_000  # bytes of files: more than most mail servers take is left out
_PATIENCE = 60  # seconds for a command
_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True)
class Sender:
    """Sends notices of one run; `facts` of the run go to webhooks and commands."""

    facts: dict[str, Any]
    watching: Watching

    def send(self, notifier: Notifier, notice: Notice, files: Sequence[Attachment]) -> None:
        """Send a notice with its files; raise `Undelivered` unless it is taken."""
        if notifier.is_mail:
            _mail(notifier, _letter(notifier, notice, files), self.watching)
        elif notifier.scheme == "exec":
            _run(notifier.command, self._document(notice, files, has_paths=True))
        elif notifier.scheme.startswith("slack+"):
            call(notifier.parts.geturl(), self.watching, _encoded({"text": _slack_text(notice)}))
        else:
            call(notifier.address, self.watching, self._document(notice, files))

    def _document(
        self, notice: Notice, files: Sequence[Attachment], *, has_paths: bool = False
    ) -> bytes:
        described = [each.to_json(has_path=has_paths) for each in files]
        return _encoded({**notice.to_json(), **self.facts, "files": described})


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def _slack_text(notice: Notice) -> str:
    text = "\n".join([f"*{notice.subject}*", *notice.lines])
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _letter(notifier: Notifier, notice: Notice, files: Sequence[Attachment]) -> EmailMessage:
    """Make the mail, with the files that are not too large to be mailed."""
    letter = EmailMessage(policy=SMTP)
    [sender], receivers = notifier.people("from"), notifier.people("to")
    letter["From"], letter["To"], letter["Subject"] = sender, ", ".join(receivers), notice.subject
    letter["Date"], letter["Auto-Submitted"] = formatdate(), "auto-generated"
    letter["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2] or None)
    fitting, size, lines = [], 0, [*notice.lines]
    for each in files:
        size += len(each.content)
        fitting += [each] * (size <= MOST_MAILED)
        is_left = "" if size <= MOST_MAILED else ", too large to be mailed: it is in the folder"
        lines.append(f"{each.name}: SHA-256 {each.sha256}{is_left}")
    letter.set_content("\n".join([notice.subject, "", *lines, ""]))
    for each in fitting:
        main, _, sub = each.kind.partition("/")
        letter.add_attachment(each.content, maintype=main, subtype=sub, filename=each.name)
    return letter


def _mail(notifier: Notifier, letter: EmailMessage, watching: Watching) -> None:
    """Hand a mail to its server; a password travels only where it is encrypted."""
    parts = notifier.parts
    host, port = str(parts.hostname), parts.port or _PORTS[notifier.scheme]
    try:
        if notifier.scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                host, port, timeout=TIMEOUT, context=watching.trusted()
            )
        else:
            server = smtplib.SMTP(host, port, timeout=TIMEOUT)
        with server:
            _greet(server, notifier, host, watching)
            server.send_message(letter, notifier.people("from")[0], notifier.people("to"))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from None


def _greet(server: smtplib.SMTP, notifier: Notifier, host: str, watching: Watching) -> None:
    """Encrypt where the server can, and log in where that is asked for."""
    is_own = is_loopback(host)  # whose certificate nobody has signed
    server.ehlo_or_helo_if_needed()
    if notifier.scheme == "smtp" and not is_own and server.has_extn("starttls"):
        server.starttls(context=watching.trusted())
    elif notifier.scheme == "smtp" and not is_own and notifier.login:
        raise Undelivered("it does not encrypt, so no password is sent: use smtps://")
    if notifier.login:
        server.login(*notifier.login)


def _run(command: str, document: bytes) -> None:
    """Run a command with a notice on its standard input, without the settings of this run."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
    try:
        done = subprocess.run(  # noqa: S603  (the command that the settings name)
            [command],
            input=document,
            capture_output=True,
            timeout=_PATIENCE,
            env=environ,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Undelivered(type(error).__name__) from None
    if done.returncode:
        raise Undelivered(f"it ended with {done.returncode}")
