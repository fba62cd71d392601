"""The parts of a page and of a workbook that only lay out what it says."""

import re

# Whatever else a file of another release has, today's must have too: a script, a macro, a link.
_LAYOUT = re.compile(
    r"<(a|abbr|b|bdi|bdo|body|br|caption|code|col|colgroup|dd|details|div|dl|dt|em|figcaption|figure"
    r"|footer|h[1-6]|head|header|hr|html|i|input|label|li|main|mark|meta|nav|ol|p|section|small|span"
    r"|strong|style|sub|summary|sup|table|tbody|td|tfoot|th|thead|time|title|tr|ul)>"
    r"|<(circle|clippath|defs|desc|ellipse|g|line|lineargradient|path|pattern|polygon|polyline|rect"
    r"|stop|svg|text|tspan|use)>"
    r"|autoFilter|brk|c|cols?|dimension|f|(even|odd)(Header|Footer)|headerFooter|ignoredErrors?|is"
    r"|mergeCells?|outlinePr|page(Margins|SetUpPr|Setup)|pane|printOptions|r|row|rowBreaks|selection"
    r"|sheet(Data|FormatPr|Pr|Views?)|t|tabColor|v|worksheet|xl/worksheets/sheet\d+\.xml"
    r"|(\[Content_Types\]\.xml|_rels/\.rels|xl/_rels/workbook\.xml\.rels|xl/theme/theme1\.xml) \w+"
)


def is_layout(part: str) -> bool:
    """Whether a part only lays out.

    >>> is_layout("<h4>"), is_layout("<script>")
    (True, False)
    """
    return _LAYOUT.fullmatch(part) is not None
