"""Two statements in folders beside each other: two months by figure, two versions by record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.arguments import AnyPath, check_path
from svc_analytics.closing import seals, table_diff
from svc_analytics.closing.verification.contents import unknown_of
from svc_analytics.errors import DataError, LakeError
from svc_analytics.formatting.display import Display, DisplayTable, label, names_of
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import parse_bound
from svc_analytics.messages import Message
from svc_analytics.periods import noun_of
from svc_analytics.render.compared.figures import (
    Side,
    amount_scales,
    compare_sides,
    figures_by_coin,
)
from svc_analytics.render.compared.side_by_side import comparison_tables, head_lines
from svc_analytics.render.differences import RECORDS, differences_table
from svc_analytics.render.document import Reason, reasons_of
from svc_analytics.storage import statement_folder

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, dict[str, Decimal | None]]  # by coin and name
_FIGURES = ("summary", "figures")


@dataclass(frozen=True)
class StatementDiff(Displayable):
    """Two statements beside each other, and every difference between them.

    Examples:
        >>> svc.diff_statements("out/a", "out/b").rows  # doctest: +SKIP
    """

    old: seals.Manifest
    new: seals.Manifest
    sides: tuple[Side, Side] = field(repr=False)
    comparison: pa.Table = field(repr=False)  # figure by figure; of versions, what differs
    table: pa.Table = field(repr=False)
    lines: pa.Table | None = field(default=None, repr=False)  # of both, in which records are named
    altered: tuple[Message, ...] = ()  # what of the folders was changed since they were written

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure or record that differs, with the cause."""
        return to_frame(self.table)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per figure and coin: old, new, difference, percent; of versions, the cause."""
        return to_frame(self.comparison)

    @property
    def is_of_versions(self) -> bool:
        """Whether both are of one period: then records are compared, and have a cause."""
        return _is_one_period(self.old, self.new)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows differ, by table."""
        counted = pc.value_counts(self.table["table_name"]).to_pylist()
        return {row["values"]: row["counts"] for row in counted}

    def display(
        self, *, has_rows: bool | None = None, is_open: bool = False, exact: bool = False
    ) -> Display:
        """Return the report: the figures, and the changed rows of each table below them.

        By default, rows are those of two versions only: two months have no row in common.
        They are folded unless they are to be open.
        """
        tables = comparison_tables(self.comparison, *self.sides, is_exact=exact)
        wanted = self.is_of_versions if has_rows is None else has_rows
        rows = list(self._changed()) if wanted else []
        if is_open:
            return Display(self.title, self._lines(), [*tables, *rows])
        return Display(self.title, self._lines(), tables, folded=rows)

    def to_html(self, *, has_rows: bool | None = None, exact: bool = False) -> str:
        """Return the same as a page that stands alone, the rows of each table to open."""
        from svc_analytics.render.compared.forms import comparison_page  # loads matplotlib

        shown = self.display(has_rows=has_rows, exact=exact)
        return comparison_page(shown, names_of({"id": "", **self.new["merchant"]}))

    @property
    def title(self) -> str:
        """The two sides of the comparison, in a line of text."""
        names = " and ".join(side.name for side in self.sides)
        return f"{self.new['label']}: {names}" if self.is_of_versions else names

    def _lines(self) -> list[str]:
        lines = head_lines(*self.sides, has_percentage=not self.is_of_versions)
        lines += [f"altered: {text}" for text in self.altered]
        return lines if self.table.num_rows else [*lines, "no difference"]

    def _display(self) -> Display:
        return self.display()

    def _changed(self) -> Iterator[DisplayTable]:
        """Yield the differing rows of each table, records first; the figures are shown above."""
        shown = set(_keys(self.comparison))
        is_left = [
            row["table_name"] not in _FIGURES or (row["name"], row["currency"]) not in shown
            for row in self.table.to_pylist()
        ]
        rows = self.table.filter(pa.array(is_left, pa.bool_()))
        tables = pc.unique(rows["table_name"]).to_pylist()
        for name in sorted(tables, key=lambda name: (name != RECORDS, name)):
            own = rows.filter(pc.equal(rows["table_name"], name))
            what = "record" if name == RECORDS else "figure"
            more = "more " * (name in _FIGURES)  # than those above
            differ = "s differ" if len(own) > 1 else " differs"
            title = f"{name}: {len(own):,} {more}{what}{differ}"
            table = differences_table(own, title, lines=self.lines)
            yield replace(table, header=[label(what), *table.header[1:]], names=())


def _keys(comparison: pa.Table) -> list[tuple[str, str]]:
    columns = (comparison[name].to_pylist() for name in ("figure", "currency"))
    return list(zip(*columns, strict=True))


def diff_statements(a: AnyPath, b: AnyPath) -> StatementDiff:
    """Compare two statements in folders: two versions of a month, or two months.

    Of two versions it shows the figures that differ side by side with the cause, and the
    changed rows of each table to open. Of two months it shows every figure of every coin, with
    the difference and the percentage; differences between months have no cause.

    Returns:
        A `StatementDiff`, which displays itself: `.rows` is a frame with a row for each figure
        and record that differs, `.altered` the files that were changed since written.

    Raises:
        LakeError: for a folder that holds no statement.
        ConfigError: when a folder is no path.

    Examples:
        >>> svc.diff_statements("statements/2026-10", "statements/2026-10-v2")  # doctest: +SKIP
    """
    for name, folder in (("a", a), ("b", b)):
        check_path(name, folder, seals.EXAMPLE)
    folders = [statement_folder(each).absolute() for each in (a, b)]
    old, new = manifests = list(map(seals.read_manifest, folders))
    files = [manifest["files"] for manifest in manifests]
    tables = list(map(table_diff.read_tables, folders, files))
    differences = table_diff.compare(
        table_diff.in_older_form(tables[1], tables[0]), table_diff.in_older_form(*tables)
    )
    is_one = _is_one_period(old, new)
    names = _names(old, new)
    figures_of = map(_figures, folders, tables)
    ages = [None if is_one else _age(manifest) for manifest in manifests]
    before, after = map(_side, manifests, figures_of, names, ages)
    comparison = compare_sides(before, after)
    comparison = attach(comparison, StatusLine(scales=amount_scales(comparison)))
    if is_one:
        comparison = _with_cause(comparison, differences)
    else:
        column = differences.schema.get_field_index("cause")
        no_cause = pa.nulls(len(differences), pa.string())
        differences = differences.set_column(column, "cause", no_cause)
    known = [each["lines"] for each in tables if "lines" in each]
    lines = pa.concat_tables(known, promote_options="default") if known else None
    altered = [
        Message("{name}: {TEXT}", name=folder, text=text)
        for folder, manifest in zip(folders, manifests, strict=True)
        for text in _alterations(folder, manifest)
    ]
    return StatementDiff(old, new, (before, after), comparison, differences, lines, tuple(altered))


def _is_one_period(old: seals.Manifest, new: seals.Manifest) -> bool:
    return (old["label"], old["zone"]) == (new["label"], new["zone"])


def _names(old: seals.Manifest, new: seals.Manifest) -> list[str]:
    """Return the heads of the two columns: months, or versions of one."""
    if not _is_one_period(old, new):
        return [manifest["label"].partition("@")[0] for manifest in (old, new)]
    if old["version"] == new["version"]:
        return ["old", "new"]
    return [f"version {manifest['version']}" for manifest in (old, new)]


def _figures(folder: Path, tables: table_diff.Tables) -> Figures:
    """Return a folder's figures by coin; raise `LakeError` naming the table with no number."""
    by_coin: Figures = {}
    for name in (name for name in _FIGURES if name in tables):
        try:
            for coin, figures in figures_by_coin({name: tables[name]}).items():
                by_coin.setdefault(coin, {}).update(figures)
        except DataError as error:
            message = f"the table {name} of {folder} holds a figure that is no number: {error}"
            raise LakeError(message) from error
    return by_coin


def _age(manifest: seals.Manifest) -> int:
    """Return how long after its period a statement was made; two versions need no age."""
    return parse_bound(manifest["as_of"]) - seals.sealed_period(manifest).end


def _side(manifest: seals.Manifest, figures: Figures, name: str, age: int | None) -> Side:
    """Return a folder's statement as a side of a comparison, as its manifest has it."""
    reasons = reasons_of(manifest)
    return Side(
        name=name,
        status=manifest["status"],
        status_line=_status_line(manifest, reasons),
        read_to=manifest["as_of"],
        reasons=reasons,
        unknown=unknown_of(manifest),
        figures=figures,
        is_running=_was_running(manifest, reasons),
        noun=noun_of(manifest["label"]),
        age=age,
    )


def _was_running(manifest: seals.Manifest, reasons: tuple[Reason, ...]) -> bool:
    """Whether the period was not over: of a manifest without messages, what it was read up to."""
    if any(isinstance(reason.text, Message) for reason in reasons):
        return any(reason.is_unfinished for reason in reasons)
    is_over = seals.sealed_period(manifest).end <= parse_bound(manifest["as_of"])
    return manifest["status"] != "final" and not is_over


def _status_line(manifest: seals.Manifest, reasons: tuple[Reason, ...]) -> str:
    """Return a folder's period, zone and status in one line; a version is one that is sealed."""
    calendar = "" if manifest["calendar"] == "gregorian" else f" ({manifest['calendar']})"
    label = manifest["label"].partition("@")[0]
    head = f"{label}{calendar}, {manifest['zone']}"
    if manifest["seal"]:
        return f"{head}, version {manifest['version']} · sealed as {manifest['seal']}"
    first = f": {reasons[0].text}" if reasons else ""
    return f"{head} · {manifest['status']}, not sealed, read up to {manifest['as_of']}{first}"


def _with_cause(comparison: pa.Table, differences: pa.Table) -> pa.Table:
    """Return the figures that differ, with the cause of each."""
    causes = {
        (row["name"], row["currency"]): row["cause"]
        for row in differences.to_pylist()
        if row["table_name"] in _FIGURES
    }
    keys = _keys(comparison)
    figures = comparison.append_column("cause", pa.array(map(causes.get, keys), pa.string()))
    return figures.filter(pa.array([key in causes for key in keys], pa.bool_()))


def _alterations(folder: Path, manifest: seals.Manifest) -> list[Message]:
    """List what of a statement does not fit its hashes, its own tables or its lake's register."""
    texts = seals.alterations(folder, manifest)
    texts += table_diff.contradicting_tables(folder, manifest["files"])
    if manifest["seal"] and seals.lake_around(folder):
        contradiction = seals.read_register(folder.parent).contradicts(manifest)
        texts += [contradiction] if contradiction else []
    return texts
