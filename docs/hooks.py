"""What the build of the site does besides Markdown: it makes the parts that code defines.

A page says where with a comment such as `<!-- made: figures -->`, which `reference.py` fills.
"""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from reference import MAKERS

_PLACE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the places of a page with what the code says today."""
    return _PLACE.sub(lambda found: MAKERS[found[1]](), markdown)
