"""Whether this machine has a font with the letters of Persian."""

from functools import cache
from pathlib import Path

FAMILIES = (
    *("Vazirmatn", "Noto Naskh Arabic", "Noto Sans Arabic", "Tahoma", "DejaVu Sans"),
    *("Amiri", "Scheherazade New", "Arial", "Times New Roman"),
)


@cache
def has_persian_font() -> bool:
    """Return whether a font with Persian letters is installed for every program.

    The one that comes with matplotlib is for pictures only: a page cannot use it.
    """
    import matplotlib as mpl  # takes long to load
    from matplotlib.font_manager import fontManager

    own = Path(mpl.get_data_path())
    return any(
        entry.name in FAMILIES and not Path(entry.fname).is_relative_to(own)
        for entry in fontManager.ttflist
    )
