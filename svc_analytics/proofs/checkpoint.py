"""The checkpoint of a sealed statement: what is signed and stamped.

All of it follows from the manifest, so a checkpoint that was altered is seen without a key.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.files import make_folder
from svc_analytics.messages import Message
from svc_analytics.proofs.tree import HASH, PART, SCHEME, Lines, Tree, read_lines
from svc_analytics.storage import Storage

FILE = "checkpoint"
SIGNATURE, QUERY, STAMP = f"{FILE}.sig", f"{FILE}.tsq", f"{FILE}.tsr"
CHAIN, CHAIN_SIGNATURE = "chain.json", "chain.json.sig"  # of all checkpoints of a lake
BESIDE = (FILE, SIGNATURE, QUERY, STAMP)  # beside the manifest, which names none of them
_HEX = "[0-9a-f]{64}"
_FORM = re.compile(
    rf"svc-analytics/[^\n]+\n(0|[1-9][0-9]{{0,17}})\n{_HEX}\nseal {_HEX}\n"
    rf"version [1-9][0-9]*\nprevious ({_HEX}|none)\nsalt {re.escape(SCHEME)}\n"
    rf"(header {_HEX}\n)?"
)


def require_checkpoint(text: str) -> None:
    """Raise `LakeError` where a text is no checkpoint of a statement."""
    if not _FORM.fullmatch(text):
        raise LakeError("it is no checkpoint of a statement")


def tree_of(
    folder: Path, manifest: dict[str, Any], secret: bytes, storage: Storage | None = None
) -> dict[str, Any]:
    """Make the manifest's entry `tree` of a statement's lines; a lake keeps the roots of parts."""
    tree, lines = Tree(), read_lines(folder, manifest, secret)
    for first, texts in lines.texts():
        tree.extend(lines.leaves(first, texts))
    entry = entry_of(tree, lines, manifest)
    if storage:
        keep_parts(storage, entry, tree.wholes)
    return entry


def entry_of(tree: Tree, lines: Lines, manifest: dict[str, Any]) -> dict[str, Any]:
    """Make the manifest's entry of a tree of all lines: their number, root and headings.

    A manifest that was sealed before headings had a hash keeps its entry without one.
    """
    facts = {"size": tree.size, "root": tree.root().hex(), "salt": SCHEME}
    if "header" not in manifest.get("tree", {"header": None}):
        return facts
    return {**facts, "header": sha256(lines.header).hexdigest()}


def checkpoint_text(manifest: dict[str, Any]) -> str | None:
    """Write the checkpoint of a sealed manifest; None where it has no tree."""
    tree = manifest.get("tree")
    if not manifest.get("seal") or not isinstance(tree, dict):
        return None
    lines = [
        f"svc-analytics/{manifest['merchant'].get('id')}/{manifest['label']}",
        tree.get("size"),
        tree.get("root"),
        f"seal {manifest['seal']}",
        f"version {manifest['version']}",
        f"previous {manifest.get('previous_seal') or 'none'}",
        f"salt {tree.get('salt')}",
        *([f"header {tree['header']}"] if "header" in tree else []),
    ]
    return "".join(f"{line}\n" for line in lines)


def checkpoint_fault(folder: Path, manifest: dict[str, Any]) -> Message | None:
    """Say what is wrong with the checkpoint in a sealed folder; None where it fits its manifest."""
    expected, path = checkpoint_text(manifest), folder / FILE
    if expected is None:
        return Message("seal.no_tree", name=FILE) if path.exists() else None
    if path.is_symlink() or not path.is_file():
        return Message("seal.missing", name=FILE)
    is_same = path.read_bytes() == expected.encode()
    return None if is_same else Message("seal.other_checkpoint", name=FILE)


def write_checkpoint(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the checkpoint of a sealed manifest into its folder."""
    if text := checkpoint_text(manifest):
        (folder / FILE).write_text(text, encoding="utf-8", newline="\n")


# ---------- The roots of the parts of sealed trees
# Kept so that the proof of a line hashes one part alone.
# They can be made again of the lines, so no backup has them and no package. A root of 1,024 salted
# lines tells nothing of any; it is for the lake's owner alone all the same, as the secret is.


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
