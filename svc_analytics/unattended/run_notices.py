"""Send each notifier the notices of a run that it has not had."""

import json
import os
import smtplib
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.config import is_loopback
from svc_analytics.environment import PREFIX
from svc_analytics.errors import SvcError
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.unattended.attachments import Attachment, attachments
from svc_analytics.unattended.notice_log import NoticeLog
from svc_analytics.unattended.notices import Notice, sealed_notice
from svc_analytics.unattended.notifiers import Notifier, Undelivered
from svc_analytics.unattended.settings import Watching
from svc_analytics.unattended.web import TIMEOUT, call

MOST_MAILED = 20_000_000  # bytes of files: more than most mail servers take is left out
_PATIENCE = 60  # seconds for a command
_GONE = "gone"  # a state that was told and is over, which was not told yet
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


@dataclass
class RunNotices:
    """The notices of one run; the next one sends again what a notifier did not take."""

    log: NoticeLog
    facts: dict[str, Any]  # of the run, for webhooks and commands
    watching: Watching
    warn: Callable[[str, Exception], None]

    def send_seals(
        self, sealed: Mapping[str, seals.Sealed], lake: Lake, language: Language
    ) -> None:
        """Send a notice of each statement that was sealed, with its files."""
        for seal, (folder, manifest) in sealed.items():
            waiting = [
                one
                for one in self.watching.notifiers
                if seal not in self.log.listeners[one.key].seals
            ]
            notice, files = sealed_notice(folder, manifest), []
            if any(one.carries_files for one in waiting):
                files = self._files(lake, folder, manifest, language)
            for notifier in waiting:
                if self._deliver(notifier, notice, files):
                    self.log.listeners[notifier.key].seals.append(seal)
                    self.log.save()

    def send_states(self, command: str, well: Notice | None) -> None:
        """Send a notice of each state that is new, and when none is left `well`, if that is due."""
        current = {one.key: one for one in self.log.command(command).states}
        for notifier in self.watching.notifiers:
            states = self.log.listeners[notifier.key].states
            had = states.get(command, [])
            if had and well and not current and self._deliver(notifier, well):
                had = []
            heard = [key for key in had if key in current]
            heard += [
                key
                for key, one in current.items()
                if key not in had and self._deliver(notifier, one)
            ]
            states[command] = heard or [_GONE] * bool(had)
            self.log.save()
        self.log.save()

    def _files(
        self, lake: Lake, folder: Path, manifest: seals.Manifest, language: Language
    ) -> list[Attachment]:
        try:
            return attachments(lake, folder, manifest, language)
        except SvcError as error:
            self.warn(f"the notice of {manifest['label']} goes without its files", error)
            return []

    def _deliver(
        self, notifier: Notifier, notice: Notice, files: Sequence[Attachment] = ()
    ) -> bool:
        """Send a notice to one notifier; say whether it was taken."""
        title = f"svc-analytics {self.facts['command']}: {notice.subject}"
        whole = Notice(notice.key, notice.event, title, notice.lines)
        sender = Sender(self.facts | {"machine": socket.gethostname()}, self.watching)
        try:
            sender.send(notifier, whole.hiding(self.watching.secrets), files)
        except Undelivered as error:
            self.warn(f"{notifier.name} was not told", error)
            return False
        return True
