"""A statement's folder: its tables in every chosen format, and the manifest."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed, system_refusals
from svc_analytics.external_rates import currency_code
from svc_analytics.files import UNREADABLE, hash_file, restore_folders
from svc_analytics.formatting.status_line import detach
from svc_analytics.formatting.tables import csv_pairs
from svc_analytics.formatting.values import drop_pages
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.log import LOG
from svc_analytics.messages import Message, translated
from svc_analytics.render.datapackage import column_meaning, write_datapackage
from svc_analytics.render.document import Document
from svc_analytics.render.formats import DOCUMENTS
from svc_analytics.storage import Storage, open_storage
from svc_analytics.warehouse.figures import definitions_table

Seal = Callable[[Path, dict[str, Any]], str]  # of a folder that is written, by its manifest
Note = Callable[[str], None]  # told what is being done now
MANIFEST = "manifest.json"
FORMAT = 2  # of manifests; one without a number is 1, as before 0.2.0
DEFINITIONS = "definitions.csv"  # what each figure means: words, no table of the statement
ROW_GROUP = 1 << 17  # rows of a row group of Parquet: only these are in memory at a time


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
    table = detach(table.cast(pa.schema(fields, table.schema.metadata)))
    options = {"compression": "zstd", "write_page_checksum": True}
    with (
        path.open("wb") as file,  # Arrow itself opens no path that a locale cannot write
        pq.ParquetWriter(file, table.schema, **options) as writer,
    ):
        for start in range(0, max(len(table), 1), ROW_GROUP):
            group = table.slice(start, ROW_GROUP).combine_chunks()
            drop_pages()
            writer.write_table(group, ROW_GROUP)


def _commented(field: pa.Field, table: str) -> pa.Field:
    comment = column_meaning(table, field.name)
    return field.with_metadata({"comment": comment}) if comment else field.remove_metadata()


# These hold one table; the formats of DOCUMENTS hold a whole statement.
TABLE_FORMATS: dict[str, Callable[[pa.Table, Path], str | None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}
FORMATS = (*TABLE_FORMATS, *DOCUMENTS)


@dataclass(frozen=True)
class Output:
    """How a statement is written: its formats, its language, and who hears of each step."""

    formats: tuple[str, ...]
    language: Language = ENGLISH
    note: Note = lambda text: None

    def check(self) -> None:
        """Raise `ConfigError` for an unknown format, for none, or one that cannot be made."""
        if not self.formats:
            raise ConfigError(f"no format given: choose from {', '.join(FORMATS)}")
        for name in self.formats:
            if name not in FORMATS:
                raise ConfigError(f"no format {name!r}: choose from {', '.join(FORMATS)}")
            if name in DOCUMENTS:
                DOCUMENTS[name].require()

    def fitting(self, statement: Document) -> "Output":
        """Return it without the forms that a statement of this status or period has not."""
        unfit = {*_unfit(self.formats, statement)}
        return replace(self, formats=tuple(name for name in self.formats if name not in unfit))


def check_currency(currency: str | None, formats: Collection[str]) -> None:
    """Raise `ConfigError` for what is no other currency, and where no form would show it."""
    if currency is None:
        return
    check("currency", currency, str, 'the code of a currency, such as "EUR"')
    currency_code(currency)
    readable = [form.name for form in DOCUMENTS.values() if form.is_worded]
    if not {*readable} & {*formats}:
        forms = ", ".join(readable)
        raise ConfigError(f"only {forms} show another currency: add one of them to the formats")


def _unfit(formats: tuple[str, ...], statement: Document) -> list[str]:
    """Return the forms that are of a final month alone, where a statement is none."""
    if statement.status == "final" and not statement.period.is_longer:
        return []
    return [name for name in formats if name in DOCUMENTS and DOCUMENTS[name].is_of_final_month]


def write_folder(
    statement: Document,
    out: Path,
    output: Output,
    chain: Mapping[str, Any] | None = None,
    seal: Seal | None = None,
    storage: Storage | None = None,
) -> Path:
    """Write a statement's files and manifest, all of them or nothing.

    `chain` are the manifest's entries about other months and versions; `seal` makes the
    seal of the finished folder and its manifest, None leaves it unsealed. `storage` is that of its
    lake, by default of the lake that `out` lies in: a statement in a bucket is replaced only if it
    is the one that stands there now.
    """
    output.check()
    for name in _unfit(output.formats, statement):
        period, status = statement.period, statement.status
        values = {
            "label": period.folder,
            "status": translated(status),
            "noun": translated(period.noun),
        }
        raise PeriodNotClosed(Message("form.of_final_month", name=name, **values))
    out = out.absolute()
    storage = storage or open_storage(out.parent.parent)
    refusals = system_refusals(LakeError, f"cannot write {out}", "nothing there was changed")
    with refusals, storage.merging():
        restore_folders(out.parent)
        check_replaceable(out)
        with storage.write_folder(out) as folder:
            _fill(folder, statement, output, chain or {}, seal)
    LOG.info("wrote the statement of %s, %s, to %s", statement.period.folder, statement.status, out)
    return out


def _fill(
    folder: Path,
    statement: Document,
    output: Output,
    chain: Mapping[str, Any],
    seal: Seal | None,
) -> None:
    """Write a statement's files, then the manifest that names and seals them."""
    rows, hashes = _write_tables(statement, folder, output.formats)
    manifest = statement.manifest({}, hashes) | dict(chain)
    statement = statement.as_version(manifest["version"]) if seal else statement
    facts = printed(manifest, is_sealed=bool(seal))
    if statement.state and not seal:  # of its month, of which this folder is no version
        facts["state"] = statement.state.to_json()
    rows |= _write_documents(statement, facts, folder, output)
    rows |= write_datapackage(statement, folder, rows)
    if not output.language.is_english:  # so that the same pages can be rendered again
        manifest["language"] = asdict(output.language)
    if statement.external:  # likewise; a seal is never made of such a statement
        manifest["rates"] = statement.external.rates.to_json()
    manifest["files"] = {
        name: {"sha256": hash_file(folder / name), "rows": count} for name, count in rows.items()
    }
    manifest["seal"] = seal(folder, manifest) if seal else None
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def printed(manifest: Mapping[str, Any], *, is_sealed: bool) -> dict[str, Any]:
    """Return the facts of a manifest that its documents print.

    They cannot print the tree and the seal, which are made behind them; only whether there is one.
    """
    own = ("format", "files", "tree", "seal")
    facts = {name: value for name, value in manifest.items() if name not in own}
    return facts | {"is_sealed": is_sealed}


def write_files(
    statement: Document,
    facts: dict[str, Any],
    folder: Path,
    output: Output,
) -> dict[str, int]:
    """Write each table, then each whole document, in the chosen formats; return their rows.

    Beside tables lie the definitions of their figures, and the description of all columns.
    """
    rows, _ = _write_tables(statement, folder, output.formats)
    rows |= _write_documents(statement, facts, folder, output)
    return rows | write_datapackage(statement, folder, rows)


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
    statement: Document, facts: dict[str, Any], folder: Path, output: Output
) -> dict[str, int]:
    """Write each whole document; return their rows."""
    rows: dict[str, int] = {}
    for name in (name for name in dict.fromkeys(output.formats) if name in DOCUMENTS):
        output.note(Message("form.writing", name=name))
        form = DOCUMENTS[name]
        spoken = {"language": output.language} if form.is_worded else {}
        rows |= form.write(statement, facts, folder, **spoken)
    return rows


def check_replaceable(out: Path) -> None:
    """Raise `LakeError` for a folder with anything but an unsealed statement of ours."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        is_ours = isinstance(manifest, dict) and "content_digest" in manifest
    except UNREADABLE:
        is_ours = False
    if not is_ours:
        raise LakeError(
            f"{out} is not empty and not a statement: move it away, or choose another folder"
        )
    if manifest.get("seal"):
        raise LakeError(f"{out} is sealed and is never overwritten: choose another folder")
