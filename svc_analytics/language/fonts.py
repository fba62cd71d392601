"""The fonts of Persian pages and pictures: those of this machine, in one order."""

from functools import cache
from pathlib import Path

# Ahead of its Persian font a machine may have one that is made for Latin letters alone.
FAMILIES = (
    *("Vazirmatn", "Noto Sans", "Noto Sans Arabic", "Noto Naskh Arabic", "Segoe UI", "Tahoma"),
    "DejaVu Sans",
)
OF_PICTURES = "DejaVu Sans"  # comes with matplotlib, and has every letter of Persian
_WITHOUT_PERSIAN = {"Noto Sans"}
_OTHERS = ("Amiri", "Scheherazade New", "Arial", "Times New Roman")


def css_families(last: str = FAMILIES[-1]) -> str:
    """Return the families as a style sheet names them, the last one narrower if need be.

    >>> css_families("DejaVu Sans Condensed").split(", ")[-3:]
    ['"Tahoma"', '"DejaVu Sans Condensed"', '"DejaVu Sans"']
    """
    names = dict.fromkeys((*FAMILIES[:-1], last, FAMILIES[-1]))
    return ", ".join(f'"{name}"' for name in names)


def has_persian_font() -> bool:
    """Return whether a font with Persian letters is installed for every program.

    The one that comes with matplotlib is for pictures only: a page cannot use it.
    """
    import matplotlib as mpl  # takes long to load

    own, known = Path(mpl.get_data_path()), {*FAMILIES, *_OTHERS} - _WITHOUT_PERSIAN
    return any(
        name in known and not file.is_relative_to(own)
        for name, files in _installed().items()
        for file in files
    )


@cache
def _installed() -> dict[str, list[Path]]:
    """Return the files of each family that matplotlib knows of."""
    from matplotlib.font_manager import fontManager  # takes long to load

    files: dict[str, list[Path]] = {}
    for entry in fontManager.ttflist:
        files.setdefault(entry.name, []).append(Path(entry.fname))
    return files
