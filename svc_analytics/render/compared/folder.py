"""The folder of a comparison: its page, its workbook, its tables and its JSON document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.errors import ConfigError, LakeError, system_refusals
from svc_analytics.files import restore_folders
from svc_analytics.formatting.display import Display, label
from svc_analytics.formatting.status_line import status_line_of
from svc_analytics.formatting.tables import to_json
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import MESSAGE_COLUMN
from svc_analytics.render.compared.side_by_side import MovedTables
from svc_analytics.render.folder import write_csv
from svc_analytics.storage import open_storage
from svc_analytics.warehouse.figures import label_of

NAME = "comparison"  # of its documents, and of its first table
TABLES = ("changes", "parts", "records")  # of a comparison that says why


@dataclass(frozen=True)
class Compared:
    """The material of a comparison's forms."""

    shown: Display  # both periods side by side
    names: str  # of the merchant
    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any]  # what its JSON document says
    zone: str
    made_at: int  # UTC microseconds: up to when its records were read
    language: Language = ENGLISH  # of its page and its workbook
    change: pa.Table | None = None  # of each coin in USD: what its chart draws
    moved: MovedTables | None = None  # what moved, where that was asked for
    words: Mapping[str, str] = field(default_factory=dict)  # of the parts of what moved

    @property
    def page(self) -> Display:
        """What its page shows: the sums of all coins, what moved, then coin by coin."""
        if not self.moved:
            return self.shown
        shown, moved = self.shown, self.moved
        first, others = shown.tables[:1], shown.tables[1:]
        tables = [*first, *moved.bridges, *moved.sentences, *others]
        return Display(shown.title, [*shown.lines, moved.line], tables, moved.records)

    @property
    def sheets(self) -> dict[str, pa.Table]:
        """Its tables, with words for their figures and parts."""
        return {name: self._named(table) for name, table in self.tables.items()}

    def _named(self, table: pa.Table) -> pa.Table:
        if "label" in table.column_names:
            return table
        table = _renamed(table, "figure", label_of)
        return _renamed(table, "part", lambda part: self.language.text(self.words[part]))


def _renamed(table: pa.Table, name: str, change: Callable[[str], str]) -> pa.Table:
    """Return a table with each text of a column changed, if it has the column."""
    if name not in table.column_names:
        return table
    texts = [change(text) for text in table[name].to_pylist()]
    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


def _write_tables(compared: Compared, folder: Path) -> None:
    for name, table in compared.tables.items():
        plain = table.select([each for each in table.column_names if each != MESSAGE_COLUMN])
        write_csv(plain, folder / f"{name}.csv")


def _write_page(compared: Compared, folder: Path) -> None:
    from svc_analytics.render.compared.forms import comparison_page  # loads matplotlib

    text = comparison_page(compared.page, compared.names, compared.language, compared.change)
    (folder / f"{NAME}.html").write_text(text, encoding="utf-8", newline="\n")


def _write_json(compared: Compared, folder: Path) -> None:
    text = f"{to_json(compared.facts)}\n"
    (folder / f"{NAME}.json").write_text(text, encoding="utf-8", newline="\n")


def _write_workbook(compared: Compared, folder: Path) -> None:
    """Write what the page says, then a sheet for each table; the same gives the same."""
    from svc_analytics.render.compared.forms import write_moved, write_sides
    from svc_analytics.render.workbook.cells import open_workbook
    from svc_analytics.render.workbook.tables import write_table

    path, title = folder / f"{NAME}.xlsx", compared.language.text(compared.shown.title)
    with open_workbook(path, title, compared.made_at, compared.language) as pen:
        pen.running = f"{pen.spoken.text(compared.shown.title)} · {compared.names}"
        status_line = status_line_of(compared.sheets[NAME])
        write_sides(pen, compared.shown, compared.names, compared.change, status_line)
        if compared.moved:
            write_moved(pen, compared.shown.title, compared.moved, status_line)
        for name, table in compared.sheets.items():
            write_table(pen, label(name), table, status_line, compared.zone, is_printed=True)


_FORMS: dict[str, Callable[[Compared, Path], None]] = {
    "csv": _write_tables,
    "html": _write_page,
    "json": _write_json,
    "xlsx": _write_workbook,
}


def check_forms(formats: Sequence[str]) -> None:
    """Raise `ConfigError` for a form that a comparison does not have, or for none."""
    for name in formats or [""]:
        if name not in _FORMS:
            raise ConfigError(f"no format {name!r}: choose from {', '.join(_FORMS)}")


def write_compared(compared: Compared, out: Path, formats: Sequence[str]) -> Path:
    """Write the forms of a comparison into a folder of its own, all of them or nothing.

    It replaces an earlier comparison there, and nothing else.
    """
    check_forms(formats)
    out = out.absolute()
    with system_refusals(LakeError, f"cannot write {out}", "nothing there was changed"):
        restore_folders(out.parent)
        _check_replaceable(out)
        with open_storage(out.parent).write_folder(out) as folder:
            for name in dict.fromkeys(formats):
                _FORMS[name](compared, folder)
    return out


def _check_replaceable(out: Path) -> None:
    """Raise `LakeError` for a folder with anything but files of a comparison."""
    own = {f"{NAME}.{name}" for name in _FORMS} | {f"{name}.csv" for name in (NAME, *TABLES)}
    if out.exists() and not (out.is_dir() and {each.name for each in out.iterdir()} <= own):
        raise LakeError(f"{out} holds something else than a comparison: choose another folder")
