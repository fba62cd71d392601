"""Stamps of sealed statements, where SVC_TSA_URL names an authority."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from svc_analytics.closing import seals
from svc_analytics.closing.result import CloseResult
from svc_analytics.errors import ConfigError, LakeError, text_of
from svc_analytics.messages import Message
from svc_analytics.proofs.checkpoint import FILE, checkpoint_text
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.storage import Storage, add_file, merge_into

_NOT_STAMPED = "not stamped: {ERROR}; mend that, and run {command}, or close again"


@dataclass
class Stamper:
    """Has the months of a run stamped; where that fails it says so once, and nothing waits."""

    storage: Storage
    is_stopped: bool = False

    def stamp(self, closed: CloseResult) -> CloseResult:
        """Have a sealed month stamped; what comes back says so, or notes why it is not."""
        if self.is_stopped or closed.seal is None:
            return closed
        is_stamped, note = self.stamp_folder(closed.folder)
        return replace(closed, is_stamped=is_stamped).with_notes([note] if note else [])

    def stamp_folder(self, folder: Path) -> tuple[bool, Message | None]:
        """Have a sealed folder stamped unless it is; tell whether it is now, or why it is not."""
        try:
            return self._stamp(folder), None
        except (ConfigError, LakeError, OSError) as error:
            self.is_stopped = True
            command = f"svc-analytics sign {folder}"
            return False, Message(_NOT_STAMPED, ERROR=text_of(error), command=command)

    def _stamp(self, folder: Path) -> bool:
        authority = Authority.read()
        if not authority.url or checkpoint_text(seals.read_manifest(folder)) is None:
            return False
        if not has_stamp(folder):
            files = authority.stamp((folder / FILE).read_bytes())
            merge_into(self.storage, partial(self._add, folder, files))
        return True

    def _add(self, folder: Path, files: dict[str, bytes]) -> None:
        for name, content in files.items():  # the reply last: without its query it is torn
            add_file(self.storage, folder / name, content)
