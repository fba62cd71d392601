"""The fonts of Persian pages and pictures: those of this machine, in one order."""

# Ahead of its Persian font a machine may have one that is made for Latin letters alone.
FAMILIES = (
    *("Vazirmatn", "Noto Sans", "Noto Sans Arabic", "Noto Naskh Arabic", "Segoe UI", "Tahoma"),
    "DejaVu Sans",
)
OF_PICTURES = "DejaVu Sans"  # comes with matplotlib, and has every letter of Persian


def css_families(last: str = FAMILIES[-1]) -> str:
    """Return the families as a style sheet names them, the last one narrower if need be.

    >>> css_families("DejaVu Sans Condensed").split(", ")[-3:]
    ['"Tahoma"', '"DejaVu Sans Condensed"', '"DejaVu Sans"']
    """
    names = dict.fromkeys((*FAMILIES[:-1], last, FAMILIES[-1]))
    return ", ".join(f'"{name}"' for name in names)
