"""`svc.desk`: one panel in a notebook to close months and to look behind their figures."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from svc_analytics.arguments import check
from svc_analytics.closing.acceptances import COLUMNS_SHOWN
from svc_analytics.config import Settings
from svc_analytics.errors import install
from svc_analytics.formatting.display import Display, text_table
from svc_analytics.lake.lake import check_lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.log import LOG
from svc_analytics.messages import Message
from svc_analytics.notebook.agreement import Claim
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.books_box import BooksBox
from svc_analytics.notebook.desk.close_box import CloseBox
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.figure_box import FigureBox
from svc_analytics.notebook.desk.finding_box import FindingBox
from svc_analytics.notebook.desk.hand_over import HandOver
from svc_analytics.notebook.desk.month_tiles import MonthTiles
from svc_analytics.notebook.desk.record_box import RecordBox
from svc_analytics.notebook.errors import ipython_shell
from svc_analytics.notebook.outputs import display
from svc_analytics.render.standing import proof_lines
from svc_analytics.statements.statement import Statement

MOST_FINDINGS = 50  # on the page without a kernel
LACK = "the buttons of this desk need ipywidgets and anywidget: "


class Judging:
    """Judges one month after another; `show` is called in the thread after each."""

    def __init__(self, desk: DeskMonths, show: Callable[[], object]) -> None:
        self._desk, self._show = desk, show
        self._thread: Thread | None = None

    def start(self) -> None:
        """Judge what is not judged yet, unless that is being done."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all months are judged."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            while self._desk.judge_next():
                self._show()
        except Exception:  # a thread has nobody to tell: the next month that is chosen says it
            LOG.exception("the months could not be compared with the lake")


def desk(
    lake: Lakehouse,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    lang: str = "en",
    digits: str = "latin",
    settings: Settings | None = None,
) -> Desk:
    """Return the close desk: the months of a lake as tiles, and what there is to do with each.

    In a running notebook with ipywidgets, its buttons close a month, accept a finding, and lead
    from a figure to its records and their receipts. Elsewhere it is a page to read. `zone` and
    `calendar` are as in `svc.statement`, `lang` and `digits` as in its `save`: the desk, and the
    forms that it hands over, are in that language. `settings` are those of the environment unless
    given, and needed only to close.

    Returns:
        The desk, which a notebook displays; `statement` is that of the month that is shown.

    Raises:
        ConfigError: for a zone, a calendar or a language that does not exist, or a lake that holds
            nothing.
        LakeError: when there is no lake.

    Examples:
        >>> svc.desk(lake)  # doctest: +SKIP
    """
    check_lake(lake)
    check("settings", settings, (Settings, type(None)), "what svc.read_settings gives, or nothing")
    return Desk(DeskMonths(lake, zone, calendar, settings, Language(lang, digits)))


class Desk:
    """The close desk of a lake."""

    def __init__(self, months: DeskMonths) -> None:
        self._months = months
        self._panel: Panel | None = None
        self._handle: Any = None
        self._lack = ""  # why there are no buttons, where there could be some

    @property
    def statement(self) -> Statement | None:
        """The statement of the month that is shown; None if it cannot be made."""
        return self._months.statement

    def check(self, **claims: Claim) -> str:
        """Compare figures of the statement with what its tables add up to, as pickers do.

        The desk says how it came out, of this month and of each that is chosen later.
        """
        return self._months.check(claims)

    def __repr__(self) -> str:
        return repr(self._page())

    def _repr_html_(self) -> str:
        return f'<div class="{looks.PLAIN}">{self._months.looks.page(self._page())}</div>'

    def _ipython_display_(self) -> None:
        """Display the page to read, and in a running notebook the panel in its place."""
        if self._panel is None and hasattr(ipython_shell(), "kernel"):
            self._panel = panel_of(self._months, self._keep)
            self._lack = LACK + install("lab") if self._panel is None else ""
        self._handle = display(self._to_read(), raw=True, display_id=True)
        if self._panel is not None:
            display(self._panel.box)

    def settle(self) -> None:
        """Wait until each month was compared with the lake; the page to read then says so."""
        if self._panel is None:
            while self._months.judge_next():
                pass
        else:
            self._panel.judging.wait()
        self._keep()

    def _keep(self) -> None:
        """Bring the page to read up to date: it is what a saved notebook shows."""
        if self._handle is not None:
            self._handle.update(self._to_read(), raw=True)

    def _to_read(self) -> dict[str, str]:
        """Return its page to read, as text and as HTML."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _page(self) -> Display:
        rows = [[tile.period.title, tile.word, tile.note] for tile in self._months.tiles]
        months = text_table("months", ["month", "state", "note"], rows)
        title = Message("Close desk of {names}", names=self._months.names)
        cells = [each.cells for each in self._months.findings]
        tables = [months]
        if cells:
            tables.append(text_table("findings", COLUMNS_SHOWN, cells[:MOST_FINDINGS]))
        chosen = self._months.statement
        shown = [] if chosen is None else chosen._display().tables
        lines = [self._lack, self._months.problem, *self._proof(chosen), self._months.agreement]
        return Display(title, [*filter(None, lines)], [*tables, *shown])

    def _proof(self, chosen: Statement | None) -> list[str]:
        """Return the statuses of a sealed month below its name; no line of any other."""
        proof = [] if chosen is None else proof_lines(chosen)
        return [chosen.period.title, *proof] if chosen and proof else []


class Panel:
    """The widgets of the desk; whatever is done, all of them follow."""

    def __init__(self, desk: DeskMonths, keep: Any) -> None:
        self._desk, self._keep = desk, keep
        self.records = RecordBox(desk)
        self.figures = FigureBox(desk, self.records.drill)
        self.findings = FindingBox(desk, self.records.show_record, self.follow)
        self.handing = HandOver(desk)
        self.books = BooksBox(desk)
        self.closing = CloseBox(desk, self.handing, self.books, self.follow)
        self.head = controls.html("", "svc-quiet")
        self.months = MonthTiles(desk, self.choose)
        self.judging = Judging(desk, self._show_months)
        self.records.leave = self.figures.table.focus
        row = controls.row(self.figures.box, self.records.box)
        row.add_class("svc-split")
        parts = [part.box for part in (self.months, self.closing, self.findings)]
        self.box = controls.column(controls.html(looks.STYLE), self.head, *parts, row)
        self.box.add_class("svc-desk")
        self.box.add_class(f"svc-{desk.looks.language.direction}")
        self._show_head()
        self.judging.start()

    def choose(self, label: str) -> None:
        """Show another month; while one is closed, which reads the lake too, only afterwards."""
        if self.closing.is_running:
            self._desk.choose_later(label)
            self.closing.show()
            self.months.show()
            return
        for part in (self.closing, self.findings, self.handing, self.books):
            part.clear()  # what was said there was said of another month
        self.closing.note(Message("reading {MONTH}", MONTH=self._desk.month(label).title))
        self._desk.choose(label)
        self.closing.note("")
        self.follow()

    def follow(self) -> None:
        """Show the months, the findings and the figures as they are now."""
        self._show_head()
        self.records.clear()
        for part in (self.months, self.closing, self.findings, self.figures):
            part.show()
        self._keep()
        self.judging.start()

    def _show_head(self) -> None:
        desk = self._desk
        self.head.value = desk.looks.line(desk.names, desk.zone, desk.read_to)

    def _show_months(self) -> None:
        self.months.show()
        self._keep()


def panel_of(desk: DeskMonths, keep: Any) -> Panel | None:
    """Return the panel; None without ipywidgets: then the page to read stands alone."""
    try:
        return Panel(desk, keep)
    except ModuleNotFoundError:
        return None
