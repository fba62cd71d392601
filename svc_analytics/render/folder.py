"""A statement's folder: its tables in every chosen format, and the manifest."""

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import copy_of, hash_file, sync_file, sync_folder
from svc_analytics.formatting.mapped_tables import drop_pages
from svc_analytics.formatting.standing import detach
from svc_analytics.formatting.tables import csv_pairs
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.render.document import Document
from svc_analytics.render.figures import meaning
from svc_analytics.render.formats import DOCUMENTS, READ_BY_PEOPLE, require_pdf
from svc_analytics.warehouse.definitions import definitions_table

Note = Callable[[str], None]  # told what is being done now
MANIFEST = "manifest.json"
DEFINITIONS = "definitions.csv"  # what each figure means: words, no table of the statement
STALE = 3600  # seconds
WHOLE_GROUP = 1 << 20  # rows: a shorter table is one row group of Parquet
_GROUP = 1 << 17  # rows of a row group of a longer one: only these are in memory at a time


def write_csv(table: pa.Table, path: Path) -> str:
    """Write a table as UTF-8 CSV that a spreadsheet may open.

    Returns the hash of the same without what was escaped for spreadsheets: its control total.
    """
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for text, safe in csv_pairs(table):
            content = text.encode()
            digest.update(content)
            file.write(content if safe is text else safe.encode())
    return digest.hexdigest()


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table of a statement as Parquet, each column with its meaning as a comment."""
    fields = [_commented(field, path.stem) for field in table.schema]
    write_bare_parquet(table.cast(pa.schema(fields, table.schema.metadata)), path)


def _commented(field: pa.Field, table: str) -> pa.Field:
    comment = meaning(table, field.name)
    return field.with_metadata({"comment": comment}) if comment else field.remove_metadata()


def write_bare_parquet(table: pa.Table, path: Path, rows: int | None = None) -> None:
    """Write a table as Parquet, decimals as they are, in row groups of so many rows."""
    table = detach(table)
    rows = rows or (_GROUP if len(table) > WHOLE_GROUP else WHOLE_GROUP)
    options = {"compression": "zstd", "write_page_checksum": True}
    with (
        path.open("wb") as file,  # Arrow itself opens no path that a locale cannot write
        pq.ParquetWriter(file, table.schema, **options) as writer,
    ):
        for start in range(0, max(len(table), 1), rows):
            group = table.slice(start, rows).combine_chunks()
            drop_pages()
            writer.write_table(group, rows)


# These hold one table; the formats of DOCUMENTS hold a whole statement.
TABLE_FORMATS: dict[str, Callable[[pa.Table, Path], str | None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}
FORMATS = (*TABLE_FORMATS, *DOCUMENTS)


def check_formats(formats: tuple[str, ...], language: Language = ENGLISH) -> None:
    """Raise `ConfigError` for an unknown format, for none at all, or one that cannot be made."""
    if not formats:
        raise ConfigError(f"no format given: choose from {', '.join(FORMATS)}")
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"no format {name!r}: choose of {', '.join(FORMATS)}")
    if "pdf" in formats:
        require_pdf(language)


def write_folder(
    statement: Document,
    out: Path,
    formats: tuple[str, ...],
    chain: Mapping[str, Any] | None = None,
    seal: Callable[[dict[str, Any]], str] | None = None,
    note: Note = lambda text: None,
    language: Language = ENGLISH,
) -> Path:
    """Write a statement's files and manifest, all of them or nothing.

    `chain` are the manifest's entries about other months and versions; `seal` makes the
    seal of the finished manifest, None leaves it unsealed.
    """
    check_formats(formats, language)
    out = out.absolute()
    # Not named by its process: in containers, each run has the number of a killed one.
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}.writing")
    try:
        with _merging(out):
            recover(out)
            check_replaceable(out)
            remove_stale(out.parent, out.name)
            temporary.mkdir(parents=True)
            _fill(temporary, statement, formats, chain or {}, seal, note, language)
            _swap(temporary, out)
    except OSError as error:
        message = f"cannot write {out}: {error.strerror or error}; nothing there was changed"
        raise LakeError(message) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return out


def _merging(out: Path) -> AbstractContextManager[None]:
    """Within, a statement in a bucket is replaced only if it is the one that stands there now."""
    copy = copy_of(out)
    return copy.merging() if copy else nullcontext()


def _fill(
    folder: Path,
    statement: Document,
    formats: tuple[str, ...],
    chain: Mapping[str, Any],
    seal: Callable[[dict[str, Any]], str] | None,
    note: Note,
    language: Language,
) -> None:
    """Write a statement's files, then the manifest that names and seals them."""
    rows, hashes = _write_tables(statement, folder, formats)
    manifest = statement.manifest({}, hashes) | dict(chain)
    facts = printed(manifest, is_sealed=bool(seal))
    rows |= _write_documents(statement, facts, folder, formats, note, language)
    if not language.is_english:  # so that the same pages can be rendered again
        manifest["language"] = {"code": language.code, "digits": language.digits}
    manifest["files"] = {
        name: {"sha256": hash_file(folder / name), "rows": count} for name, count in rows.items()
    }
    manifest["seal"] = seal(manifest) if seal else None
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def printed(manifest: Mapping[str, Any], *, is_sealed: bool) -> dict[str, Any]:
    """Return the facts of a manifest that its documents print.

    They cannot print the seal, which covers their own hashes; only whether there is one.
    """
    facts = {name: value for name, value in manifest.items() if name not in ("files", "seal")}
    return facts | {"is_sealed": is_sealed}


def write_files(
    statement: Document,
    facts: dict[str, Any],
    folder: Path,
    formats: tuple[str, ...],
    note: Note = lambda text: None,
    language: Language = ENGLISH,
) -> dict[str, int]:
    """Write each table, then each whole document, in the chosen formats; return their rows.

    Beside tables lie the definitions of their figures.
    """
    rows, _ = _write_tables(statement, folder, formats)
    return rows | _write_documents(statement, facts, folder, formats, note, language)


def _write_tables(
    statement: Document, folder: Path, formats: tuple[str, ...]
) -> tuple[dict[str, int], dict[str, str]]:
    """Write each table; return the rows of each file, and the hashes of tables that are known."""
    rows, hashes = {}, {}
    for table_name, table in statement.tables.items():
        for suffix in (name for name in dict.fromkeys(formats) if name in TABLE_FORMATS):
            path = folder / f"{table_name}.{suffix}"
            if digest := TABLE_FORMATS[suffix](table, path):
                hashes[table_name] = digest
            rows[path.name] = table.num_rows
    if rows:
        write_csv(definitions_table(), folder / DEFINITIONS)
        rows[DEFINITIONS] = definitions_table().num_rows
    return rows, hashes


def _write_documents(
    statement: Document,
    facts: dict[str, Any],
    folder: Path,
    formats: tuple[str, ...],
    note: Note,
    language: Language,
) -> dict[str, int]:
    """Write each whole document; return their rows."""
    rows: dict[str, int] = {}
    for name in (name for name in dict.fromkeys(formats) if name in DOCUMENTS):
        note(f"writing {name}")
        spoken = {"language": language} if name in READ_BY_PEOPLE else {}
        rows |= DOCUMENTS[name](statement, facts, folder, **spoken)
    return rows


def check_replaceable(out: Path) -> None:
    """Raise `LakeError` for a folder with anything but an unsealed statement of ours."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        is_ours = isinstance(manifest, dict) and "content_digest" in manifest
    except (OSError, ValueError):
        is_ours = False
    if not is_ours:
        raise LakeError(f"{out} is not empty and not a statement: choose another folder")
    if manifest.get("seal"):
        raise LakeError(f"{out} is sealed and is never overwritten: choose another folder")


def recover(out: Path) -> None:
    """Put a folder back that a run killed within its swap has moved aside, or remove it."""
    for moved_aside in out.parent.glob(f".{out.name}.*.old"):
        if out.exists():  # its successor: what was moved aside is of no use any more
            shutil.rmtree(moved_aside, ignore_errors=True)
        else:
            moved_aside.rename(out)


def remove_stale(parent: Path, name: str = "*") -> None:
    """Remove temporary folders of killed runs: an hour is longer than any run."""
    for suffix in ("writing", "old"):
        for folder in parent.glob(f".{name}.*.{suffix}"):
            with suppress(FileNotFoundError):  # another run has just finished
                if time.time() - folder.stat().st_mtime > STALE:
                    shutil.rmtree(folder, ignore_errors=True)


def _swap(temporary: Path, out: Path) -> None:
    """Move a folder into place, synced; an old one takes its place, for the caller to remove."""
    for path in temporary.iterdir():  # a seal is written once and must survive a power cut
        sync_file(path)
    sync_folder(temporary)
    copy = copy_of(out)
    with copy.replacing_folder(temporary, out) if copy else nullcontext():
        _move(temporary, out)


def _move(temporary: Path, out: Path) -> None:
    old = temporary.with_suffix(".old")
    if out.exists():
        out.rename(old)
    try:
        temporary.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    with suppress(FileNotFoundError):
        old.rename(temporary)  # so that what a kill leaves of it is never put back
    sync_folder(out.parent)
