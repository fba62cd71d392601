"""The records behind a figure, and one of them whole with its receipt's verdict."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from html import escape
from io import StringIO
from typing import Any

import pyarrow as pa

from svc_analytics.formatting import cells
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable, display_table, label, lined_up
from svc_analytics.formatting.status_line import StatusLine, attach, status_line_of
from svc_analytics.formatting.tables import write_csv
from svc_analytics.formatting.texts import escape_invisible
from svc_analytics.formatting.values import display_text
from svc_analytics.instants import readable_instant, to_micros
from svc_analytics.language.catalogue import WORDED, is_number
from svc_analytics.messages import MESSAGE_COLUMN, Message, stored_text, translated
from svc_analytics.notebook.desk import controls, records
from svc_analytics.notebook.desk.controls import Looks, PressTable, content_of
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.render.summary_page import SummaryPage
from svc_analytics.signing.receipt_tokens import VERDICT_WORDS
from svc_analytics.statements import explain
from svc_analytics.warehouse.figures import Figure, as_moved, find_figure, label_of, read_figures

UNVERIFIED = ("not_checked", "missing")  # verdicts of which there is nothing more to say
HEAD, RECORD = "svc-records", "svc-record"  # looks of the heading and of the record
_KINDS = {
    "payment": "Payment {names}",
    "payout": "Payout {names}",
    "refund": "Refund {names}",
    records.SET_ASIDE: "Set aside, as it was received: {names}",
}
_WITH_RECEIPT = "{TITLE} · receipt: {VERDICT}"
_FORMS = {
    "payment": "its payment",
    "payout": "its payout",
    "refund": "its refund",
    "receipt": "its receipt",
    records.SET_ASIDE: "what was received",
}


_LETTERS = ("receipt", "content")  # of a token and of a digest, which nobody reads
# The eight facts of a record: the form that each stands in, and its column.
_FACTS = {
    "payment": [
        *(("payment", name) for name in ("paid_at", "customer", "charged_amount", "fee_amount")),
        *(("payment", name) for name in ("net_amount", "usd_value", "status")),
        ("receipt", "verdict"),
    ],
    "refund": [
        *(("refund", "settled_at"), ("payment", "customer"), ("refund", "debited_amount")),
        *(("refund", "usd_value"), ("payment", "paid_at"), ("payment", "charged_amount")),
        *(("receipt", "verdict"), ("refund", "comment")),
    ],
    "payout": [
        *(("payout", name) for name in ("settled_at", "payer_id", "amount", "fee_amount")),
        *(("payout", name) for name in ("debited_amount", "usd_value", "status", "comment")),
    ],
    records.SET_ASIDE: [
        *(
            (records.SET_ASIDE, name)
            for name in ("occurred_at", "reference_id", "amount", "currency")
        ),
        *((records.SET_ASIDE, name) for name in ("kind", "payment_id", "first_seen_at", "reason")),
    ],
}


class RecordBox:
    """Records a page at a time: found and put in order by any column, over all of them."""

    def __init__(self, desk: DeskMonths) -> None:
        self._desk, self._looks = desk, desk.looks
        self._wanted: records.Wanted | None = None
        self._label = ""  # of the month that the records are of
        self._page: records.RecordPage | None = None
        self._chosen: int | None = None  # the place of a row
        self.leave: Any = lambda: None  # leads the keys back to where they came from
        self._parts_of: Sequence[records.FigurePart] = ()
        self.makeup = PressTable(self._press_part, "svc-made", leave=lambda: self.leave())
        self.head, self.record = controls.html("", HEAD), controls.html("", RECORD)
        self.hide = controls.button(desk.looks.text("Hide the records"), self.clear, "svc-link")
        say = desk.looks.text
        example = say("order, customer, receipt, amount")
        self.find = controls.field(say("find"), example, is_live=True)
        self.find.observe(self._find, "value")
        back, on, save = map(
            say, ("the page before", "the next page", "save these records as a CSV file")
        )
        self.back = controls.button(say("Previous"), lambda: self._turn(-1), tip=back)
        self.on = controls.button(say("Next"), lambda: self._turn(1), tip=on)
        self.csv = controls.button("CSV", self._save, tip=save)
        self._count = controls.html()
        self.table = PressTable(
            self._press, order=self._reorder, turn=self._turn, leave=lambda: self.leave()
        )
        turning = controls.row(self.find, self.back, self.on, self.csv, self._count)
        self._parts = controls.column(turning, self.table.box)
        parts = (self.hide, self.head, self.makeup.box, self._parts, self.record)
        self.box = controls.column(*parts, look="svc-behind")
        self.clear()

    def clear(self) -> None:
        """Show no record: another month is shown."""
        self._wanted, self._page = None, None
        self.head.value = self.record.value = ""
        self.table.show()
        self.makeup.show()
        self._parts.layout.display = self.hide.layout.display = "none"

    def renew(self) -> None:
        """Read again what is shown of this month; of another one nothing stays.

        A close ends in a thread of its own: somebody may look at records by then.
        """
        wanted = self._wanted if self._label == self._desk.tile.label else None
        if wanted is None:
            self.clear()
        elif wanted.coin:
            self._read(self._page.view if self._page else records.View())
        elif self._desk.statement:
            self._show_coins(SummaryPage(self._desk.statement), wanted)

    def drill(self, wanted: records.Wanted) -> None:
        """Show where a figure comes from: its value, how it is made, its SQL, and its records."""
        self.clear()
        self._label = self._desk.tile.label
        self.hide.layout.display = ""
        self._wanted, self.find.value = wanted, ""
        if wanted.coin:
            self._read(records.View())
            self.table.focus(f".{HEAD}")
        elif self._desk.statement:
            self._show_coins(SummaryPage(self._desk.statement), wanted)
            self.makeup.focus(f".{HEAD}")

    def _show_coins(self, page: SummaryPage, wanted: records.Wanted) -> None:
        """Show what each coin adds to a figure of all of them in USD."""
        name = wanted.figure
        value = as_moved(name, page.usd(name))
        self._show_head(wanted, value, find_figure(page.usd_name(name)).hint, cells.USD)
        self._show_parts(records.parts_in_usd(page, name))

    def _show_head(
        self, wanted: records.Wanted, value: Any, hint: str, kind: str, sql: str = ""
    ) -> None:
        text = value_text(value, kind, wanted.coin)
        title = Message(
            "{FIGURE}: {VALUE}", figure=translated(records.called(wanted)), value=translated(text)
        )
        parts = [
            self._looks.heading(title),
            f'<div class="svc-quiet">{self._looks.line(hint)}</div>',
        ]
        self.head.value = "".join([*parts, *[self._looks.sql(sql)] * bool(sql)])

    def _show_parts(self, parts: Sequence[records.FigurePart]) -> None:
        """Show what a figure is made of, before its records."""
        self._parts_of = parts
        coin = self._wanted.coin if self._wanted else ""
        shown = content_of(parts_table(parts, coin), "how it is made", self._looks)
        for row, part in zip(shown["rows"], parts, strict=True):
            row["press"] = part.wanted is not None
        self.makeup.show(shown if parts else {})

    def _press_part(self, place: int, _: int) -> None:
        if wanted := self._parts_of[place].wanted:
            self.drill(wanted)

    def show_record(self, record_id: str, kind: str = "") -> None:
        """Show a record whole: all its values, its payment's, and what the receipt proved."""
        with self._looks.telling(self.record):
            with self._desk.records() as of_month:
                by_kind = of_month.find(kind, record_id)
            lacks = Message("the lake has no record {record_id}", record_id=record_id)
            line = self._looks.line("" if by_kind else lacks)
            shown = self._card(by_kind) + self._all_values(by_kind) if by_kind else ""
            record = Message("Record {record_id}", record_id=record_id)
            title = _title(by_kind, record_id, self._looks) if by_kind else record
            head = self._looks.heading(title)
            self.record.value = f'<div class="svc-card">{head}{line}{shown}</div>'
            self.hide.layout.display = ""
            self.table.reveal(f".{RECORD}")

    def _press(self, row: int, _: int) -> None:
        if self._page is None:
            return
        self._chosen = row
        self._show_table(self._page)
        kind, record_id = self._page.record(row)
        if record_id:
            self.show_record(record_id, kind)

    def _turn(self, pages: int) -> None:
        """Read the next page or the one before, if there is one."""
        if self._page:
            skipped = self._page.view.skipped + pages * records.PAGE
            if 0 <= skipped < self._page.count:
                self._read(replace(self._page.view, skipped=skipped))

    def _find(self, _: Any) -> None:
        """Show the records that hold what is typed, letter by letter."""
        if self._page:
            text = self._looks.language.latin(self.find.value.strip())
            self._read(replace(self._page.view, text=text, skipped=0))

    def _reorder(self, place: int) -> None:
        """Put all records in the order of a column; pressed again, the other way round."""
        if self._page is None:
            return
        chosen = shown_columns(self._page)[place]
        is_again = self._order_of(self._page)[place] == "ascending"
        view = replace(self._page.view, column=chosen, is_descending=is_again, skipped=0)
        self._read(view)

    def _save(self) -> None:
        """Let the browser save all records that hold the text as CSV, every digit."""
        if self._page is None or self._wanted is None:
            return
        text = StringIO()
        with self._desk.records() as of_month:
            write_csv([of_month.all(self._wanted, self._page.view)], text)
        name = records.called(self._wanted).lower().replace(",", "").replace(" ", "-")
        self.table.save(f"{name}-{self._desk.tile.label}.csv", text.getvalue())

    def _read(self, view: records.View) -> None:
        """Read a page of the records, and show it."""
        wanted = self._wanted
        if wanted is None:
            return
        with self._looks.telling(self.head):
            with self._desk.records() as of_month:
                page = of_month.behind(wanted, view)
            self._page, self._chosen = page, None
            self._show(page, wanted)

    def _show(self, page: records.RecordPage, wanted: records.Wanted) -> None:
        kind = cells.kind_of_unit(page.figure.unit)
        self._show_head(wanted, page.value, page.figure.hint, kind, page.sql)
        if not page.view.text:
            self._show_parts(page.parts)
        self._parts.layout.display = ""
        first, last = page.view.skipped + 1, page.view.skipped + len(page.table)
        self.back.disabled, self.on.disabled = first == 1, last >= page.count
        counts = {"first": f"{first:,}", "last": f"{last:,}", "count": f"{page.count:,}"}
        span = Message("records {first} to {last} of {count}", **counts)
        self._count.value = self._looks.line(span if page.count else "no record", is_announced=True)
        self._show_table(page)

    def _show_table(self, page: records.RecordPage) -> None:
        coin = self._wanted.coin if self._wanted else ""
        shown, orders = record_table(page, self._status_line, coin), self._order_of(page)
        content = content_of(shown, "records", self._looks, orders=orders, chosen=self._chosen)
        self.table.show(content | {"count": page.count})

    def _order_of(self, page: records.RecordPage) -> list[str]:
        """Return how each column is ordered; at first, they are in the order of their time."""
        columns = shown_columns(page)
        chosen = page.view.column or next(iter(columns), "")
        way = "descending" if page.view.is_descending else "ascending"
        return [way if name == chosen else "none" for name in columns]

    @property
    def _status_line(self) -> StatusLine:
        statement = self._desk.statement
        return StatusLine() if statement is None else status_line_of(statement.tables["summary"])

    def _card(self, tables: dict[str, pa.Table]) -> str:
        """Return the eight facts that people ask of a record."""
        [kind, *_] = tables
        parts = [part for form, name in _FACTS[kind] for part in self._fact(tables.get(form), name)]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        terms = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in pairs)
        return f"<dl>{terms}</dl>{self._looks.line(_reason_of(tables.get('receipt')))}"

    def _fact(self, table: pa.Table | None, name: str) -> tuple[str, str]:
        """Return the name and the value of a fact, as HTML."""
        value = None if table is None else table[name][0].as_py()
        if name == "customer" and table is not None and value is None:
            return self._fact(table, "payer_id")  # as the service knows whom the shop did not name
        if isinstance(value, datetime):
            text: str = self._desk.tile.period.moment(to_micros(value))
        elif table is None or value is None:
            text = cells.DASH
        else:
            coin = f" {table['currency'][0].as_py()}" * name.endswith("_amount")
            number = _cell(value, table.schema.field(name)).text.removeprefix(cells.ROUNDED)
            text = f"{number}{coin}"
        is_ours = name in WORDED or isinstance(text, Message) or is_number(text.partition(" ")[0])
        shown = (
            self._looks.html(text) if is_ours else f"<bdi>{escape(escape_invisible(text))}</bdi>"
        )
        return self._looks.html(label_of(name)), shown

    def _all_values(self, tables: dict[str, pa.Table]) -> str:
        """Return all values of a record, to open; the letters of a token are to open once more."""
        forms = "".join(self._record_html(form, table) for form, table in tables.items())
        return self._looks.folded("all values", f'<div class="svc-forms">{forms}</div>')

    def _record_html(self, form: str, table: pa.Table) -> str:
        """Return a record as a table of names and values: every digit, but USD at two places."""
        [row] = table.slice(0, 1).to_pylist()
        facts = [
            [Cell(label_of(field.name), is_fixed=True), _cell(row[field.name], field)]
            for field in table.schema
            if field.name not in _LETTERS
        ]
        shown = DisplayTable(_FORMS[form], ["Name", "Value"], facts)
        letters = [(name, row[name]) for name in _LETTERS if row.get(name)]
        folded = [
            self._looks.folded(label_of(name), f"<pre>{escape(text)}</pre>")
            for name, text in letters
        ]
        return f"<div>{self._looks.table(shown)}{''.join(folded)}</div>"


def _title(tables: dict[str, pa.Table], record_id: str, looks: Looks) -> str:
    """Return a record's kind, the names that people know it by, and its receipt's verdict."""
    [kind, *_] = tables
    rows = {name: table.slice(0, 1).to_pylist()[0] for name, table in tables.items()}
    known = rows.get("payment", rows[kind])
    names = [*filter(None, (known.get("receipt_no"), known.get("reference_id")))] or [record_id]
    verdicts = [rows["receipt"]["verdict"]] if "receipt" in rows else []
    is_of_payment = kind == "refund" and "payment" in rows
    known_by = " \N{MIDDLE DOT} ".join(names)
    title = Message("Refund of {names}" if is_of_payment else _KINDS[kind], names=known_by)
    for each in verdicts:
        verdict = translated(VERDICT_WORDS.get(each, each))
        title = Message(_WITH_RECEIPT, title=translated(title), verdict=verdict)
    return title


def _reason_of(receipt: pa.Table | None) -> str:
    """Return why a receipt's verdict is as it is: what it says, and what the record says."""
    rows = receipt.slice(0, 1).to_pylist() if receipt is not None else []
    reason = rows[0]["reason"] if rows and rows[0]["verdict"] not in UNVERIFIED else None
    return stored_text(reason, rows[0].get(MESSAGE_COLUMN)) if reason else ""


def _cell(value: Any, field: pa.Field) -> Cell:
    if isinstance(value, datetime):
        return Cell(readable_instant(value), is_fixed=True, at=value)
    is_usd = value is not None and cells.kind_of(field) == cells.USD
    text = cells.readable_text(value, cells.USD) if is_usd else display_text(value)
    return Cell(text, is_fixed=is_number(text) or field.name in WORDED)


# What a column of contributions is called for the eye, so that its numbers are of their kind.
_CALLED = {
    cells.USD: "usd_contribution",
    cells.RATE: "contribution_rate",
    cells.RATIO: "contribution_rate",
}
# The columns of a record that stand in a line; beside what it adds in USD, its amount too.
_LISTED = {
    *explain.MOMENTS,
    *("kind", "order_reference", "customer", "usd_value", "balance"),
    *(explain.CONTRIBUTION, explain.NUMERATOR, explain.DENOMINATOR),
}
_MINUTES = len("2026-10-02 09:11")


def value_text(value: Any, kind: str, coin: str) -> str:
    """Return the value of a figure with its unit: every digit, but USD at two places."""
    if value is None:
        return "unknown"
    if isinstance(value, datetime):
        return readable_instant(value)
    number, unit = _number(value, kind).text, cells.unit_name(kind, coin)
    return Message("{number} {UNIT}", number=number, unit=translated(unit)) if unit else number


def parts_table(parts: Sequence[records.FigurePart], coin: str) -> DisplayTable:
    """Return the parts of a figure: names, how many records, and what each adds."""
    heads = {"records": "count", "without a USD value": "unpriced"}
    shown = {
        head: name for head, name in heads.items() if any(getattr(each, name) for each in parts)
    }
    rows = [
        [
            Cell(each.name, is_fixed=True),
            *(cells.number_cell(getattr(each, name), cells.COUNT) for name in shown.values()),
            _number(each.value, cells.kind_of_unit(each.unit)),
        ]
        for each in parts
    ]
    units = {cells.unit_name(cells.kind_of_unit(each.unit), coin) for each in parts}
    return DisplayTable(
        "", ["made of", *shown, *(units if len(units) == 1 else [""])], lined_up(rows)
    )


def shown_columns(page: records.RecordPage) -> list[str]:
    """List the columns of a line of records; the record itself shows them all."""
    listed = {*_LISTED, *["amount"] * (cells.kind_of_unit(page.figure.unit) == cells.USD)}
    kinds = [each for each in page.parts if each.count is not None]
    listed -= {"kind"} if len(kinds) < 2 else set()
    return [name for name in explain.record_columns(page.table, page.figure) if name in listed]


def record_table(page: records.RecordPage, status_line: StatusLine, coin: str) -> DisplayTable:
    """Return a page of records as a table; its last row is what all of them make."""
    columns, kind = shown_columns(page), cells.kind_of_unit(page.figure.unit)
    called = [_CALLED.get(kind, name) if name == explain.CONTRIBUTION else name for name in columns]
    chosen = attach(page.table.select(columns).rename_columns(called), status_line)
    heads = [_head(name, page.figure, coin) for name in columns]
    exact = display_table(chosen, exact=True, label_of=_label)
    both = exact.rows, display_table(chosen, label_of=_label).rows
    rows = [
        [_shown(name, short if name.startswith("usd_") else whole) for name, whole, short in row]
        for row in (zip(called, *each, strict=True) for each in zip(*both, strict=True))
    ]
    *rows, footer = lined_up([*rows, _footer(page, columns)])
    return replace(exact, header=heads, rows=rows, footer=footer)


def _head(name: str, figure: Figure, coin: str) -> str:
    """Name a column; nothing is called what it adds that adds nothing."""
    if name == "usd_value":
        return "USD"
    if name != explain.CONTRIBUTION:
        return label_of(name)
    kind = cells.kind_of_unit(figure.unit)
    if not figure.is_sum:
        return "Value" if kind in (cells.COIN, cells.COUNT) else "Rate"
    return cells.unit_name(kind, coin) or label(explain.CONTRIBUTION)


def _shown(name: str, cell: Cell) -> Cell:
    """Return a cell: an instant to the minute; words of ours are marked, to be translated."""
    if name in explain.MOMENTS and not cell.note:
        return replace(cell, text=f"{cell.text[:_MINUTES]}Z", is_fixed=True)
    return replace(cell, is_fixed=True) if name in WORDED else cell


def _number(value: Any, kind: str) -> Cell:
    return cells.number_cell(value, kind, is_exact=kind != cells.USD)


def _label(name: str) -> str:
    return label(explain.CONTRIBUTION) if name in _CALLED.values() else label_of(name)


def _footer(page: records.RecordPage, columns: list[str]) -> list[Cell]:
    """Return the sums of what the records add; of a figure that is no sum, its value."""
    figure = page.figure
    is_chosen = not (page.view.text or figure.operands)  # of its records, such as a median
    totals = page.totals or ({explain.CONTRIBUTION: page.value} if is_chosen else {})
    units = {explain.CONTRIBUTION: figure.unit} | {
        part: read_figures()[name].unit
        for part, name in zip(
            (explain.NUMERATOR, explain.DENOMINATOR), figure.operands, strict=False
        )
    }
    sums = [_value_cell(totals.get(name), units.get(name, "")) for name in columns[1:]]
    return [Cell(_footer_name(page), is_fixed=True), *sums]


def _footer_name(page: records.RecordPage) -> str:
    if not page.totals:
        return "" if page.view.text or page.figure.operands else page.figure.label
    if page.view.text:
        return "Total found"
    return "Total" if page.value is not None else "Total at hand"


def _value_cell(value: Any, unit: str) -> Cell:
    if value is None:
        return Cell("")
    if isinstance(value, datetime):
        return Cell(readable_instant(value), at=value)
    return _number(value, cells.kind_of_unit(unit))
