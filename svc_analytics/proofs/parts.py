"""The roots of the parts of sealed trees, kept so that the proof of a line hashes one part alone.

They can be made again of the lines, so no backup has them and no package. A root of 1,024 salted
lines tells nothing of any; it is for the lake's owner alone all the same, as the secret is.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from svc_analytics.files import make_folder
from svc_analytics.proofs.merkle import HASH, PART
from svc_analytics.storage import Storage

FOLDER = ".parts"


def keep_parts(storage: Storage, entry: dict[str, Any], roots: Sequence[bytes]) -> None:
    """Keep the roots of a sealed tree's whole parts under its own, if it has any.

    A lake that cannot be written goes without: every proof then hashes all lines.
    """
    path = storage.folder / FOLDER / entry["root"]
    with suppress(OSError):
        if roots:
            make_folder(path.parent, 0o700)
            with storage.write(path, suffix=f".{os.getpid()}", is_durable=False) as temporary:
                temporary.touch(mode=0o600)
                temporary.write_bytes(b"".join(roots))


def read_parts(lake: Path, entry: dict[str, Any]) -> Sequence[bytes]:
    """Read the roots of a sealed tree's whole parts; none where they are missing or torn.

    Whether they are true shows when the tree's root is made of them.
    """
    try:
        content = (lake / FOLDER / entry["root"]).read_bytes()
    except OSError:
        return ()
    roots = [content[at : at + HASH] for at in range(0, len(content), HASH)]
    return roots if len(content) == entry["size"] // PART * HASH else ()
