"""A package of a statement as it came: a zip file that every program unpacks alike, or none."""

import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO
from unicodedata import normalize

from svc_analytics.errors import LakeError
from svc_analytics.render.folder import MANIFEST

_READING = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
_ODD = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f]|[. ](?:/|\Z)|\A/|//')  # what no name may hold
_HEAD, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s4H2LH")  # of an entry, and of all
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FLAGS = 0x80E  # how well it was packed, that its sizes stand behind it, a name in UTF-8
_SIZED_BEHIND, _IN_UTF8 = 0x8, 0x800
_OTHERWISE = {0x0001, 0x7075}  # facts of an entry that state another size, or another name


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the sealed folder of a package; raise `LakeError` where a file is none."""
    with TemporaryDirectory() as place:
        try:
            with zipfile.ZipFile(path) as archive:
                name = _sealed_folder(path, archive, shutil.disk_usage(place).free)
                archive.extractall(place)
        except _READING as error:
            raise LakeError(_refusal(path, str(error))) from error
        yield Path(place) / name


def beside(folder: Path) -> list[str]:
    """Name the files of a package that are neither of the sealed folder nor of its forms."""
    place = folder.parent
    names = {path.relative_to(place) for path in place.rglob("*") if path.is_file()}
    own = re.compile(rf"{re.escape(folder.name)}(-forms(-[A-Z]+)?)?")
    return sorted(name.as_posix() for name in names if not own.fullmatch(name.parts[0]))


def _sealed_folder(path: Path, archive: zipfile.ZipFile, room: int) -> str:
    """Tell which folder is the statement; refuse what two programs may unpack differently."""
    entries = archive.infolist()
    names = [PurePosixPath(entry.filename) for entry in entries]
    folders = [name.parts[0] for name in names if name.parts[1:] == (MANIFEST,)]
    if len(folders) != 1:
        raise LakeError(_refusal(path, f"it holds {len(folders)} statements"))
    if not _is_named_once(entries):
        raise LakeError(_refusal(path, "it names a file twice, or one outside of its folder"))
    if not (all(map(_is_plain, entries)) and _is_laid_out_once(path, archive)):
        raise LakeError(_refusal(path, "two programs may unpack it differently"))
    if sum(entry.file_size for entry in entries) > room:
        raise LakeError(f"there is no room to unpack {path}: unpack it elsewhere, name its folder")
    return folders[0]


def _is_named_once(entries: list[zipfile.ZipInfo]) -> bool:
    """Whether no name is odd, and none is another's, or its folder, to any system."""
    names = [_alike(entry.orig_filename) for entry in entries]
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    is_once = len({name.rstrip("/") for name in names}) == len(names)
    return is_once and not (folders & {*names} or any(map(_ODD.search, names)))


def _alike(name: str) -> str:
    return normalize("NFC", normalize("NFC", name).casefold())


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file or a folder, packed and spelt as every program knows."""
    kinds = (0, stat.S_IFDIR if entry.is_dir() else stat.S_IFREG)
    is_spelt = entry.orig_filename.isascii() or entry.flag_bits & _IN_UTF8
    is_packed = entry.compress_type in _METHODS and not entry.flag_bits & ~_FLAGS
    return bool(is_spelt and is_packed and stat.S_IFMT(entry.external_attr >> 16) in kinds)


def _is_laid_out_once(path: Path, archive: zipfile.ZipFile) -> bool:
    """Whether the entries fill the file, each as the list at its end says."""
    entries, at = archive.infolist(), 0
    with path.open("rb") as file:
        for entry in sorted(entries, key=lambda each: each.header_offset):
            is_same = at == entry.header_offset and _is_listed(file, entry)
            if not is_same or _OTHERWISE & {*_tags(entry.extra)}:
                return False
            at = file.tell()
        size, count = path.stat().st_size - _END.size, len(entries)
        file.seek(size)
        end = (b"PK\5\6", 0, 0, count, count, size - at, at, 0)
        return at == archive.start_dir and _END.unpack(file.read()) == end


def _is_listed(file: BinaryIO, entry: zipfile.ZipInfo) -> bool:
    """Whether an entry begins as it is listed; the file is then read up to its end."""
    file.seek(entry.header_offset)
    mark, _, flags, method, _, _, *sizes, named, more = _HEAD.unpack(file.read(_HEAD.size))
    name, tags = file.read(named).decode(), {*_tags(file.read(more))}
    listed = [entry.CRC, entry.compress_size, entry.file_size]
    end = file.seek(entry.compress_size, os.SEEK_CUR)
    if flags & _SIZED_BEHIND and sizes == [0, 0, 0]:
        behind = struct.pack("<4s3L", b"PK\7\10", *listed)
        start = 0 if file.read(4) == behind[:4] else 4
        file.seek(end)
        sizes = listed if file.read(len(behind) - start) == behind[start:] else sizes
    known = (b"PK\3\4", entry.flag_bits, entry.compress_type, entry.orig_filename, listed)
    return (mark, flags, method, name, sizes) == known and not tags & _OTHERWISE


def _tags(extra: bytes) -> Iterator[int]:
    """Yield the kinds of facts that an entry has beside those of every entry."""
    while extra:
        tag, size = struct.unpack("<2H", extra[:4])
        yield tag
        extra = extra[4 + size :]


def _refusal(path: Path, reason: str) -> str:
    advice = "ask for it again, or unzip it and run python verify.py in its folder"
    return f"{path} is no package of a statement ({reason}): {advice}"
