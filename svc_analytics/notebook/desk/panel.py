"""`svc.desk`: one panel in a notebook to close months and to look behind their figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock, Thread
from typing import Any

from svc_analytics.arguments import check
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, SvcError, install
from svc_analytics.formatting.display import Display, text_table
from svc_analytics.instants import in_words, now
from svc_analytics.lake.lake import check_lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.log import LOG
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.close_box import BooksBox, CloseBox, HandOver
from svc_analytics.notebook.desk.controls import Looks, PressTable, content_of, without_rules
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.finding_box import FindingBox, summary_table
from svc_analytics.notebook.desk.match_box import MatchBox
from svc_analytics.notebook.desk.record_box import RecordBox
from svc_analytics.notebook.desk.records import StatementTable, Wanted, statement_tables
from svc_analytics.notebook.errors import ipython_shell
from svc_analytics.notebook.picked import Claim, display, heading
from svc_analytics.periods import GREGORIAN, parse_month
from svc_analytics.render.document import proof_lines
from svc_analytics.render.month_state import SIGNS, MonthState
from svc_analytics.statements.statement import Statement

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
    month: str | None = None,
    zone: str = "UTC",
    calendar: str | None = None,
    lang: str = "en",
    digits: str = "latin",
    settings: Settings | None = None,
) -> Desk:
    """Return the close desk: the months of a lake as tiles, and what there is to do with each.

    In a running notebook with ipywidgets, its buttons close a month, accept a finding, and lead
    from a figure to its records and their receipts. Elsewhere it is a page to read. It opens on
    `month`, or on the one to close next. `zone` and
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
    chosen = None if month is None else parse_month(month, now(), zone, calendar)
    calendar = chosen.calendar if chosen else calendar
    months = DeskMonths(lake, zone, calendar, settings, Language(lang, digits))
    if chosen and chosen.label not in [tile.label for tile in months.tiles]:
        raise ConfigError(f"the lake has nothing of {chosen.label}")
    if chosen:
        months.choose(chosen.label)
    return Desk(months)


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
        looks, page, proof = self._months.looks, self._page(), self._proof(self._months.statement)
        lines = "".join(map(looks.line, proof[1:]))
        rests = looks.folded("what its figures rest on", lines) if proof else ""
        shown = replace(page, lines=[line for line in page.lines if line not in proof[1:]])
        return f'<div class="{controls.PLAIN}">{looks.page(shown)}{rests}</div>'

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
        is_english = self._months.looks.language.is_english
        tiles = self._months.tiles
        notes = [in_words(each.note) if is_english else each.note for each in tiles]
        named = zip(tiles, notes, strict=True)
        rows = [[each.period.title, each.word, note] for each, note in named]
        months = text_table("months", ["month", "state", "note"], rows)
        title = Message("Close desk of {names}", names=self._months.names)
        findings = self._months.findings
        listed = [summary_table(findings)] * bool(findings)
        chosen = self._months.statement
        shown = [] if chosen is None else chosen._display().tables
        lines = [self._lack, self._months.problem, *self._proof(chosen), self._months.agreement]
        return Display(title, [*filter(None, lines)], [*listed, *shown, months])

    def _proof(self, chosen: Statement | None) -> list[str]:
        """Return the statuses of a sealed month below its name; no line of any other."""
        proof = [] if chosen is None else proof_lines(chosen)
        return [chosen.period.title, *proof] if chosen and proof else []


# What the desk says when it lost Python, in the browser, which alone is left then.
_WORDS = {
    "lost": "Python was restarted or has ended, so this desk is no longer connected. The lake is "
    "sound, and what you typed is kept.",
    "away": "The connection is lost. It is tried again by itself; what you typed is kept.",
    "again": "Run the desk again",
    "running": "The desk is run again. If it stays so, choose Run All Cells in the menu Run.",
}


class Panel:
    """The widgets of the desk; whatever is done, all of them follow."""

    def __init__(self, desk: DeskMonths, keep: Any) -> None:
        self._desk, self._keep = desk, keep
        self.records = RecordBox(desk)
        self.figures = FigureBox(desk, self.records.drill)
        self.findings = FindingBox(desk, self.records.show_record, self._accepted)
        self.match = MatchBox(desk, self.records.show_record)
        self.handover = HandOver(desk)
        self.books = BooksBox(desk)
        self.closing = CloseBox(desk, self.handover, self.books, self.follow)
        self.head = controls.html("", "svc-quiet")
        self.months = MonthTiles(desk, self.choose)
        self.judging = Judging(desk, self._show_months)
        self.closing.moved = self._show_months
        words = {name: desk.looks.text(text) for name, text in _WORDS.items()}
        self.keeper = controls.scripted("keeper.js")(content=words)
        self.keeper.on_msg(lambda _, message, __: self._hear(message))
        self.records.leave = self.figures.table.focus
        row = controls.row(self.figures.box, self.records.box, look="svc-split")
        parts = [part.box for part in (self.months, self.closing, self.findings, self.match)]
        style = controls.html(controls.STYLE)
        look = f"svc-desk svc-{desk.looks.language.direction}"
        self.box = controls.column(style, self.keeper, self.head, *parts, row, look=look)
        self._show_head()
        self.judging.start()

    def choose(self, label: str) -> None:
        """Show another month; while one is closed, which reads the lake too, only afterwards."""
        if self.closing.is_running:
            self._desk.choose_later(label)
            self.closing.show()
            self.months.show()
            return
        self.closing.clear()
        self._forget()
        self.closing.note(
            Message("reading {MONTH}", month=translated(self._desk.month(label).title))
        )
        self._desk.choose(label)
        self.closing.note("")
        self.follow()

    def _forget(self) -> None:
        """Take away what was said and made of another month."""
        for part in (self.findings, self.match, self.handover, self.books):
            part.clear()

    def _accepted(self) -> None:
        """Take away what was said before a finding was accepted, which holds no more."""
        self.closing.clear()
        self.follow()

    def follow(self) -> None:
        """Show the months, the findings and the figures as they are now."""
        if self.keeper.content["label"] != self._desk.tile.label:  # a close led on to the next
            self._forget()
        self._show_head()
        for part in (self.months, self.closing, self.findings, self.figures):
            part.show()
        self.records.renew()
        self._keep()
        self.judging.start()

    def _hear(self, message: dict[str, Any]) -> None:
        """Send a form, show the month that was shown before, or look at the lake."""
        if message["does"] == "send":
            for form in (self.findings.sent, self.match.sent):
                form.send(message["button"], message["typed"])
            return
        label = message.get("label", self._desk.tile.label)
        if label in self.months.tiles and label != self._desk.tile.label:
            self.choose(label)
        else:
            self.look()

    def look(self) -> None:
        """Show what the lake holds now, if others have changed it: another tab, or a timer."""
        if not self.closing.is_running and self._desk.is_outdated:
            self._desk.refresh()
            self.follow()
            self.closing.note(Message("The lake was changed elsewhere; this is what it holds now."))

    def _show_head(self) -> None:
        desk = self._desk
        self.head.value = desk.looks.line(desk.names, desk.zone, desk.read_to)
        self.keeper.content = self.keeper.content | {"label": desk.tile.label}

    def _show_months(self) -> None:
        self.months.show()
        self._keep()


def panel_of(desk: DeskMonths, keep: Any) -> Panel | None:
    """Return the panel; None without ipywidgets: then the page to read stands alone."""
    try:
        return Panel(desk, keep)
    except ModuleNotFoundError:
        return None


MOST_TILES = 12
_ENGLISH = Looks()
_SHORT = 3  # letters of a month's name


class MonthTiles:
    """A tile for each month of the last year, the oldest first, and a list of all."""

    def __init__(self, desk: DeskMonths, choose: Callable[[str], object]) -> None:
        self._desk, self._choose, self._is_quiet = desk, choose, False
        self._lock = Lock()  # they are judged in a thread
        self._tiles = controls.row(look="svc-months")
        self.tiles: dict[str, Any] = {}
        self.earlier = controls.choice(desk.looks.text("all months"), {})
        self.earlier.observe(self._pick, "value")
        self.box = controls.column(self._tiles, self.earlier)
        self.show()

    def show(self) -> None:
        """Show the months as they are now; the tiles keep the place that a key had reached."""
        with self._lock:
            self._show()

    def _show(self) -> None:
        chosen, looks = self._desk.tile.label, self._desk.looks
        newest = {tile.label for tile in self._desk.tiles[:MOST_TILES]} | {chosen}
        shown = [tile for tile in reversed(self._desk.tiles) if tile.label in newest]
        if [*self.tiles] != [tile.label for tile in shown]:
            self.tiles = {tile.label: self._tile(tile.label) for tile in shown}
            self._tiles.children = tuple(self.tiles.values())
        for tile in shown:
            button = self.tiles[tile.label]
            button.description = tile_text(tile, looks)
            said = tile.over if tile.kind in ("due", "late") else without_rules(tile.note)
            title, note = map(translated, (tile.period.title, said))
            button.tooltip = looks.text("{TITLE}: {NOTE}", title=title, note=note)
            button._dom_classes = _looks(tile, is_chosen=tile.label == chosen)
        self._is_quiet = True
        self.earlier.options = [(_named(tile, looks), tile.label) for tile in self._desk.tiles]
        self.earlier.value = chosen
        self._is_quiet = False
        self.earlier.layout.display = "" if len(self._desk.tiles) > MOST_TILES else "none"

    def _tile(self, label: str) -> Any:
        return controls.button(label, lambda: self._choose(label))

    def _pick(self, event: Any) -> None:
        if not self._is_quiet:
            self._choose(event["new"])


def tile_text(state: MonthState, looks: Looks = _ENGLISH) -> str:
    """Return the name of a month, its state in a sign and a word, and one thing of it more.

    >>> from svc_analytics.periods import month
    >>> print(tile_text(MonthState(month("2026-10"), "sealed", 0, version=2)))
    Oct 2026
    ✓ sealed
    version 2
    """
    period, kind = state.period, state.kind
    name = looks.text(period.title)
    word = looks.text(state.word if kind in ("due", "late") else kind)
    if looks.language.is_english:
        is_long = period.calendar == GREGORIAN
        name = f"{period.month_name[:_SHORT] if is_long else period.month_name} {period.label[:4]}"
        word = str(state.word) if kind == "due" else kind
    return f"{name}\n{SIGNS[kind]} {word}\n{looks.text(_detail(state))}"


def _named(state: MonthState, looks: Looks) -> str:
    return f"{looks.text(state.period.title)} {SIGNS[state.kind]} {looks.text(state.word)}"


def _detail(state: MonthState) -> Message:
    closes = state.period.day_name(state.closes_at)
    if state.kind == "running":
        return Message("closes {DAY}", day=translated(closes))
    if state.kind in ("sealed", "changed"):
        return Message("version {version}", version=state.version)
    if state.kind == "blocked":
        count = len(state.reasons)
        return Message("{count} reason" if count == 1 else "{count} reasons", count=count)
    return state.over


def _looks(state: MonthState, *, is_chosen: bool) -> tuple[str, ...]:
    return ("svc-tile", f"svc-{state.kind}", *(["svc-chosen"] if is_chosen else []))


_CHANGED = "What changed from version {old} to version {new}"


class FigureBox:
    """The tables of a statement, one at a time; buttons choose which."""

    def __init__(self, desk: DeskMonths, drill: Callable[[Wanted], object]) -> None:
        self._desk, self._drill, self._looks = desk, drill, desk.looks
        self._tables: dict[str, StatementTable] = {}
        self.head, self.table = controls.html(), PressTable(self._press, "svc-figures")
        self.which = controls.choice(desk.looks.text("show"), {})
        self.which.observe(lambda _: self._show_table(), "value")
        self.reasons = controls.html("", "svc-quiet")  # why figures are dashes
        self.box = controls.column(self.head, self.which, self.table.box, self.reasons)
        self.show()

    def show(self) -> None:
        """Show the statement of the month that is shown; what is wrong is one line."""
        statement = self._desk.statement
        self._tables = (
            {} if statement is None else {one.title: one for one in statement_tables(statement)}
        )
        if statement is None:
            self.head.value = self._looks.line(self._desk.problem, is_announced=True)
        else:
            first, opened, rests = heading(statement).parts
            unknown = [each.text for each in statement.unknown]
            state = [text for text in opened if text not in unknown]
            lines = [*state, *rests, self._desk.notes]
            folded = self._folded(clauses(*filter(None, (first, self._desk.agreement))), lines)
            why = self._folded("Why figures are unknown", unknown) if unknown else ""
            self.head.value = f'<div class="svc-quiet">{folded}{why}</div>{self._changes()}'
        chosen, titles = self.which.value, list(self._tables)
        if [title for _, title in self.which.options] != titles:
            self.which.options = [(self._looks.text(title), title) for title in titles]
            self.which.value = chosen if chosen in titles else next(iter(titles), None)
        self.which.layout.display = "" if titles else "none"
        self._show_table()

    def _folded(self, title: str, lines: Sequence[str]) -> str:
        return self._looks.folded(title, "".join(map(self._looks.line, lines)))

    @property
    def shown(self) -> StatementTable | None:
        """The table that is shown; None where there is no statement."""
        return self._tables.get(self.which.value or "")

    def _show_table(self) -> None:
        shown, looks = self.shown, self._looks
        self.reasons.value = "".join(map(looks.line, shown.table.reasons if shown else []))
        content = content_of(shown.table, shown.title, looks, names=shown.name) if shown else {}
        self.table.show(content)

    def _press(self, row: int, column: int) -> None:
        wanted = self.shown and self.shown.wanted(row, column)
        if self.shown and wanted:
            is_known = not self.shown.table.rows[row][column].note
            self._drill(replace(wanted, is_known=is_known))

    def _changes(self) -> str:
        """Return the changes from the version before, to open; where they cannot be read, why."""
        try:
            changes, tile = self._desk.changes, self._desk.tile
        except SvcError as error:  # a sealed file is damaged: the rest of the desk is not
            return self._looks.error(error)
        if changes is None:
            return ""
        count = len(tile.versions)
        title = Message(_CHANGED, old=count - 1, new=count)
        if tile.kind == "changed":
            title = Message("What changed since version {version}", version=count)
        return self._looks.folded(title, self._looks.page(changes.display(is_open=True)))
