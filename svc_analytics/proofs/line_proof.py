"""The proof of one line: its text, and the hashes that lead from it to the checkpoint.

Of the other lines it holds no text, no salt and no id: hashes alone.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.log import LOG
from svc_analytics.proofs import checkpoint, verify
from svc_analytics.proofs.tree import PART, Line, Lines, Tree, cells_of, read_lines
from svc_analytics.storage import Storage

_ID, _KIND = b"record_id", b"kind"
_OTHER_IDS = (b"entry_id", b"receipt_no", b"reference_id", b"session_id")
MOST = 1 << 16  # bytes of a proof: most have less than 4096
_TEXTS = ("line", "header", "salt", "receipt", "checkpoint")


@dataclass(frozen=True)
class SingleProof:
    """What a proof of one line holds, by the names of its JSON."""

    line: str
    line_number: int
    header: str
    salt: str
    receipt: str
    hashes: tuple[str, ...]  # those beside its way, from the leaf to the root
    checkpoint: str
    signature: str | None

    @classmethod
    def require(cls, content: bytes) -> None:
        """Raise `LakeError` with what a content lacks of a proof; whether it holds is not asked."""
        if len(content) > MOST:
            raise LakeError(f"it has more than {MOST} bytes")
        facts = _parse_object(content)
        for name in cls.__dataclass_fields__:
            if name not in facts:
                raise LakeError(f"it lacks {name}")
        _check_types(facts)
        checkpoint.require_checkpoint(facts["checkpoint"])

    def to_json(self) -> str:
        """Write it as JSON with a fact in each line: blanks would take room from the proof."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",\n", ":")) + "\n"


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        facts = verify.parse_json(content)
    except verify.Result as result:
        raise LakeError(str(result.args[1])) from result
    except (ValueError, RecursionError) as error:
        raise LakeError("it is not JSON") from error
    if not isinstance(facts, dict):
        raise LakeError("it is no object of JSON")
    return facts


def _check_types(facts: dict[str, Any]) -> None:
    """Refuse facts that are of another type than those of a proof."""
    hashes, number, signature = facts["hashes"], facts["line_number"], facts["signature"]
    for name in _TEXTS:
        if not _is_text(facts[name]):
            raise LakeError(f"its {name} is no text")
    if type(number) is not int:
        raise LakeError("its line_number is no whole number")
    if not (signature is None or _is_text(signature)):
        raise LakeError("its signature is no text")
    if not isinstance(hashes, list):
        raise LakeError("its hashes are no list")
    for each in (facts["salt"], facts["receipt"], *hashes):
        if not (isinstance(each, str) and re.fullmatch(verify.HASH, each)):
            raise LakeError(f"{each!r:.40} is no hash of 64 hexadecimal digits")


def _is_text(value: object) -> bool:
    """Whether a value is text that can be written: JSON may hold half of a character."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()


@dataclass
class _Search:
    """The lines of a record, found while the tree grows over all lines."""

    lines: Lines
    record: bytes
    tree: Tree = field(default_factory=Tree)
    matches: list[Line] = field(default_factory=list)
    other: str | None = None  # whose receipt number, or other id, was given instead

    def grow(self, roots: Sequence[bytes] = ()) -> None:
        """Go through all lines; those of whole parts without the record are not hashed.

        `roots` are those of the first whole parts, so far as they are known.
        """
        known = chain(roots, repeat(None))
        for root, (first, texts) in zip(known, self.lines.texts(), strict=False):
            if root and len(texts) == PART and self.record not in b"\n".join(texts):
                self.tree.add_part(root)
            else:
                self.tree.extend(self.lines.leaves(first, texts), self._look(first, texts))

    def fits(self, manifest: dict[str, Any]) -> bool:
        """Whether the tree is the one that was sealed."""
        return bool(checkpoint.entry_of(self.tree, self.lines, manifest) == manifest["tree"])

    def _look(self, first: int, texts: list[bytes]) -> list[int]:
        """Find lines of the record in a part; tell their places there."""
        before = len(self.matches)
        for number, text in enumerate(texts, first):
            if self.record in text:
                self._look_at(number, text)
        return [line.number - first for line in self.matches[before:]]

    def _look_at(self, number: int, text: bytes) -> None:
        cells = dict(zip(self.lines.names, cells_of(text), strict=False))
        if cells[_ID] == self.record:
            self.matches.append(self.lines.line(number, text))
        elif self.other is None:
            near = [name for name in _OTHER_IDS if cells.get(name) == self.record]
            self.other = f"{near[0].decode()} of record {cells[_ID].decode()}" if near else None


def prove_line(
    folder: Path,
    manifest: dict[str, Any],
    secret: bytes,
    record: str,
    number: int | None = None,
    storage: Storage | None = None,
) -> SingleProof:
    """Prove the line of a record; of several, the one with that number.

    With what its lake keeps of the tree, few lines are hashed: others may have been altered since.

    Raises `ConfigError` where there is no such line, or more than one, and `LakeError` where the
    lines and the secret are not those that were sealed.
    """
    search = _search(folder, manifest, secret, record.encode(errors="replace"), storage)
    line = _choose(search, manifest["label"], number)
    signature = folder / checkpoint.SIGNATURE
    return SingleProof(
        line=line.text.decode(),
        line_number=line.number,
        header=search.lines.header.decode(),
        salt=line.salt.hex(),
        receipt=line.receipt.hex(),
        hashes=tuple(each.hex() for each in search.tree.paths[line.number - 1]),
        checkpoint=(folder / checkpoint.FILE).read_text(encoding="utf-8"),
        signature=signature.read_text(encoding="utf-8") if signature.is_file() else None,
    )


def _search(
    folder: Path, manifest: dict[str, Any], secret: bytes, record: bytes, storage: Storage | None
) -> _Search:
    """Find the lines of a record and their paths, by the roots that are kept or of all lines."""
    if storage and (roots := checkpoint.read_parts(storage.folder, manifest["tree"])):
        search = _Search(read_lines(folder, manifest, secret), record)
        search.grow(roots)
        # Of a record that is not there, only a tree of all lines tells that it never was.
        if search.fits(manifest) and (search.matches or search.other):
            return search
        LOG.info("all lines of %s are hashed again", folder)
    search = _Search(read_lines(folder, manifest, secret), record)
    search.grow()
    if not search.fits(manifest):
        message = (
            f"the lines of {folder}, or the secret of its lake, are not those that were sealed"
        )
        raise LakeError(f"{message}: restore both from a copy")
    if storage:
        checkpoint.keep_parts(storage, manifest["tree"], search.tree.wholes)
    return search


def _choose(search: _Search, label: str, number: int | None) -> Line:
    """Take the one line that is meant, or say what to give instead."""
    record, lines = search.record.decode(), {line.number: line for line in search.matches}
    if not lines:
        hint = "give an id of the column record_id of its lines"
        if search.other:
            hint = f"it is the {search.other}, so give that id"
        raise ConfigError(f"{label} has no line of record {record}: {hint}")
    if number is None and len(lines) == 1:
        return search.matches[0]
    if number not in lines:
        places = ", ".join(
            f"{each.number} ({_kind_of(search.lines, each)})" for each in search.matches
        )
        raise ConfigError(f"record {record} has the lines {places}: choose one with --line")
    return lines[number]


def _kind_of(lines: Lines, line: Line) -> str:
    return cells_of(line.text)[lines.names.index(_KIND)].decode()
