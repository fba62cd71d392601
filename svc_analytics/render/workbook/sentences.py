"""The sheet of a workbook with the sentences that people wrote on what moved."""

from svc_analytics.formatting.standing import Standing
from svc_analytics.render.document import Document
from svc_analytics.render.page.sentences import HEADS, NAMES, TITLE
from svc_analytics.render.workbook.cells import CellWriter
from svc_analytics.render.workbook.tables import set_up_print
from svc_analytics.warehouse.definitions import label_of

_WIDTHS = (34, 12, 14, 70, 18, 18)


def write_sentences(pen: CellWriter, statement: Document, standing: Standing) -> None:
    """Write the sheet, where there is a sentence, or one that was not read."""
    said, unread = statement.sentences, statement.unread_sentences
    if not (said or unread):
        return
    sheet = pen.sheet(TITLE)
    pen.words(sheet, 0, 0, TITLE, bold=True, font_size=14)
    pen.words(sheet, 1, 0, standing.text)
    for place, (head, width) in enumerate(zip(HEADS, _WIDTHS, strict=True)):
        sheet.set_column(place, place, width)
        pen.words(sheet, 3, place, head, bold=True, bottom=1)
    for row, each in enumerate(said, 4):
        pen.words(sheet, row, 0, label_of(each["figure"]))
        for place, name in enumerate(NAMES[1:], 1):
            pen.text(sheet, row, place, each[name], text_wrap=True, valign="top")
    for row, text in enumerate(unread, 5 + len(said)):
        pen.words(sheet, row, 0, text)
    set_up_print(pen, sheet, standing, is_wide=True)
