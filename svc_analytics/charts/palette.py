"""The colours of charts, and what stands for each of them on a dark page."""

INK, SOFT, RULE, PAPER = "#1c2733", "#54616e", "#dde2e7", "#ffffff"
BLUE, RUST = "#2f4b6e", "#b5563f"  # they differ in lightness too
# One coin beside another, the largest first: dark and light take turns in a grey print.
SERIES = (BLUE, "#d98e2b", "#7a9e7e", "#9aa7b8", "#7d5a86", "#c9b78f")
UP = SERIES[2]
_DARK = {
    INK: "#ececea",
    SOFT: "#b0b0ac",
    RULE: "#3d4247",
    PAPER: "#161616",
    BLUE: "#7fa3d1",
    RUST: "#e0836b",
    "#d98e2b": "#e3a14a",
    "#7a9e7e": "#8fb894",
    "#9aa7b8": "#8391a5",
    "#7d5a86": "#b491be",
    "#c9b78f": "#a8966c",
}
_SHADES = 5  # of a share, from a light one to BLUE


def shade(depth: int) -> str:
    """Return the colour of a share: 0 is the paper, 5 the darkest.

    >>> shade(0), shade(5)
    ('#ffffff', '#2f4b6e')
    """
    return _between(PAPER, BLUE, depth)


def dark_styles(where: str) -> str:
    """Return the style sheet that gives pictures, in elements of the selector, their dark colours.

    A picture has its light colours in itself, so that it is whole without any style sheet.
    """
    shades = {shade(n): _between(_DARK[PAPER], _DARK[BLUE], n) for n in range(1, _SHADES)}
    return "\n".join(
        f'{where} :is([style*="{name}: {light}"], [{name}="{light}"]) '
        f"{{ {name}: {dark} !important; }}"
        for light, dark in (_DARK | shades).items()
        for name in ("fill", "stroke")
    )


def _between(lightest: str, darkest: str, depth: int) -> str:
    parts = (
        (int(low, 16) * (_SHADES - depth) + int(high, 16) * depth) // _SHADES
        for low, high in zip(_bytes(lightest), _bytes(darkest), strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _bytes(colour: str) -> list[str]:
    return [colour[n : n + 2] for n in (1, 3, 5)]
