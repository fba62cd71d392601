"""Tell the notifiers what each was not told before."""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.errors import SvcError
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.unattended.attachments import Attachment, attachments
from svc_analytics.unattended.notices import Notice, sealed_notice
from svc_analytics.unattended.notifiers import Notifier, Undelivered
from svc_analytics.unattended.sending import Sender
from svc_analytics.unattended.settings import Watching
from svc_analytics.unattended.told import Told

_WELL = Notice("well", "well", "it is well again", ("nothing waits for a person now",))


@dataclass
class Teller:
    """Tells of one run; what a notifier did not take is told again by the next one."""

    told: Told
    facts: dict[str, Any]  # of the run, for webhooks and commands
    watching: Watching
    warn: Callable[[str, Exception], None]

    def tell_seals(
        self, sealed: Mapping[str, seals.Sealed], lake: Lake, language: Language
    ) -> None:
        """Tell of each statement that was sealed, with its files."""
        for seal, (folder, manifest) in sealed.items():
            waiting = [
                one
                for one in self.watching.notifiers
                if seal not in self.told.listeners[one.key].seals
            ]
            notice, files = sealed_notice(folder, manifest), []
            if any(one.carries_files for one in waiting):
                files = self._files(lake, folder, manifest, language)
            for notifier in waiting:
                if self._deliver(notifier, notice, files):
                    self.told.listeners[notifier.key].seals.append(seal)
                    self.told.save()

    def tell_states(self, command: str, *, is_done: bool) -> None:
        """Tell of each state that is new, and once when none is left."""
        current = {one.key: one for one in self.told.command(command).states}
        for notifier in self.watching.notifiers:
            states = self.told.listeners[notifier.key].states
            had = states.get(command, [])
            if had and is_done and not current and self._deliver(notifier, _WELL):
                had = []
            new = [
                key
                for key, one in current.items()
                if key not in had and self._deliver(notifier, one)
            ]
            states[command] = ([key for key in had if key in current] if current else had) + new
            self.told.save()
        self.told.save()

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
        """Tell one notifier; say whether it was taken."""
        title = f"svc-analytics {self.facts['command']}: {notice.subject}"
        whole = Notice(notice.key, notice.event, title, notice.lines)
        sender = Sender(self.facts | {"machine": socket.gethostname()}, self.watching)
        try:
            sender.send(notifier, whole.hiding(self.watching.secrets), files)
        except Undelivered as error:
            self.warn(f"{notifier.name} was not told", error)
            return False
        return True
