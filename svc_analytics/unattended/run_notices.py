"""Send each notifier the notices of a run that it has not had."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.verification.derived_forms import read_facts, write_forms
from svc_analytics.closing.verification.proof import require_unaltered
from svc_analytics.environment import PREFIX
from svc_analytics.errors import LakeError, SvcError
from svc_analytics.files import hash_file
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.render.folder import Output
from svc_analytics.render.formats import DOCUMENTS, has_typst
from svc_analytics.unattended.delivery import Attachment, call, mail_of, send_mail
from svc_analytics.unattended.notices import RECORDS, Notice, NoticeLog, bundled, sealed_notice
from svc_analytics.unattended.notifiers import Late, Notifier, TooMuch, Undelivered, Watching

_MOST_OF_SLACK = 40_000  # letters of a text: the rest would be cut off
_PATIENCE = 60  # seconds for a command
_GONE = "gone"  # a state that was told and is over, which was not told yet
_LONGEST = 150  # letters of a subject, and of each line, in a smaller form
_MOST_LINES = 10


def readable_forms() -> tuple[str, ...]:
    """Return the forms that go with a notice: PDF, or without Typst the page, and workbook."""
    return ("pdf" if has_typst() else "html", "xlsx")


def attachments(
    lake: Lake, folder: Path, manifest: seals.Manifest, language: Language
) -> list[Attachment]:
    """Return the readable forms of a sealed statement.

    Those that the seal lacks are written beside it, as `close` does. Raises `LakeError` for a
    file that is not as its digest says.
    """
    wanted = readable_forms()
    proof = require_unaltered(lake, folder, manifest)
    if proof.sealed is None:
        return []
    write_forms(proof.sealed, Output(wanted, language), lake.storage)
    files = {name: (folder, facts) for name, facts in manifest["files"].items()}
    derived = read_facts(proof.sealed.place).get("files", {})
    beside = {name: (proof.sealed.place, facts) for name, facts in derived.items()}
    files = beside | files if proof.sealed.is_proven else files | beside
    names = [name for form in wanted for name in DOCUMENTS[form].files if name in files]
    return [_attachment(files[name][0] / name, files[name][1]["sha256"]) for name in names]


def _attachment(path: Path, sha256: str) -> Attachment:
    if hash_file(path) != sha256:
        raise LakeError(f"{path} was altered, so it is not sent")
    return Attachment(path, sha256, path.read_bytes())


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def _slack_text(notice: Notice) -> str:
    text = "\n".join([f"*{notice.subject}*", *notice.lines])
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _run(command: str, document: bytes) -> None:
    """Run a command with a notice on its standard input, without the settings of this run."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
    try:
        done = subprocess.run(  # noqa: S603  (the command that the settings name)
            [command],
            input=document,
            stdout=subprocess.DEVNULL,  # what it leaves running may hold it open
            stderr=subprocess.DEVNULL,
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
    _late: dict[str, Late] = field(default_factory=dict)  # of addresses that took too long

    def send_seals(
        self, sealed: Mapping[str, seals.Sealed], lake: Lake, language: Language
    ) -> None:
        """Send a notice of each statement that was sealed, with its files."""
        for seal, (folder, manifest) in sealed.items():
            waiting = [
                one
                for one in self.watching.receivers
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
        for notifier in self.watching.receivers:
            states = self.log.listeners[notifier.key].states
            had = states.get(command, [])
            had = [key for key in had if key in current or not key.startswith(RECORDS)]
            if had and well and not current and self._deliver(notifier, well):
                had = []
            heard = [key for key in had if key in current]
            for notice, keys in bundled(one for key, one in current.items() if key not in had):
                heard += keys if self._deliver(notifier, notice) else []
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
        try:
            if error := self._late.get(notifier.address):
                raise error  # each further one would take as long
            refusal = self._send(notifier, notice, files)
        except Exception as error:  # whatever it is, the others are told
            if isinstance(error, Late):
                self._late[notifier.address] = error
            self.warn(f"{notifier.name} was not told", error)
            return False
        if refusal:
            self.warn(f"{notifier.name} was told in a smaller form", refusal)
        return True

    def _send(
        self, notifier: Notifier, notice: Notice, files: Sequence[Attachment]
    ) -> TooMuch | None:
        """Send a notice in the largest form that is taken; return why it is not the whole."""
        title, refusals = f"svc-analytics {self.facts['command']}: ", list[TooMuch]()
        whole = replace(notice, subject=f"{title}{notice.subject}")
        for form in forms(whole, title, files, len(files) if notifier.is_mail else 0):
            smaller = saying(form, str(refusals[0]) if refusals else "")
            try:
                self._hand_over(notifier, smaller.hiding(self.watching.secrets), form[1])
                return refusals[0] if refusals else None
            except TooMuch as error:
                refusals.append(error)
        raise refusals[0]

    def _hand_over(self, notifier: Notifier, notice: Notice, files: Sequence[Attachment]) -> None:
        """Send a notice with its files; raise `Undelivered` unless it is taken."""
        facts = self.facts | {"machine": socket.gethostname()}
        described = [each.to_json(has_path=notifier.scheme == "exec") for each in files]
        document = _encoded({**notice.to_json(), **facts, "files": described})
        # People may have several lakes and machines.
        place = f"lake: {facts['lake']}, on {facts['machine']}"
        placed = replace(notice, lines=(*notice.lines, place))
        if notifier.is_mail:
            send_mail(notifier, mail_of(notifier, placed, files), self.watching)
        elif notifier.scheme == "exec":
            _run(notifier.command, document)
        elif notifier.scheme.startswith("slack+"):
            text = _slack_text(placed)
            if len(text) > _MOST_OF_SLACK:
                raise TooMuch(f"Slack takes {_MOST_OF_SLACK:,} letters, not {len(text):,}")
            call(notifier.parts.geturl(), self.watching, _encoded({"text": text}))
        else:
            call(notifier.address, self.watching, document)


Form = tuple[Notice, Sequence[Attachment], tuple[str, ...]]  # with what is not in it


def forms(notice: Notice, title: str, files: Sequence[Attachment], steps: int) -> Iterator[Form]:
    """Yield a notice with its files, without the largest ones, shorter, then bare.

    So many `steps` leave out a file each, where it is sent and not only named. The last form has
    nothing but its event behind the title, for whom a word of it offends.
    """
    by_size = sorted(files, key=lambda each: len(each.content))
    for count in range(len(files), len(files) - steps - 1, -1):
        left = tuple(f"{each.name}, SHA-256 {each.sha256}" for each in by_size[count:])
        yield notice, [each for each in files if each in by_size[:count]], left
    subject, lines = notice.subject[:_LONGEST], notice.lines[:_MOST_LINES]
    short = replace(notice, subject=subject, lines=tuple(line[:_LONGEST] for line in lines))
    if short != notice:
        yield short, files[steps:], ("a part of its words",)
    yield replace(notice, subject=f"{title}{notice.event}", lines=()), (), ("its words",)


def saying(form: Form, why: str) -> Notice:
    """Return the notice of a form, which says what was left out, and why."""
    notice, _, left = form
    lines = tuple(f"left out: {each}: {why}; the lake has it" for each in left)
    return replace(notice, lines=(*notice.lines, *lines))
