"""The forms of a statement, as the program lists them: whoever adds one finds it tested."""

from svc_analytics.render.folder import FORMATS
from svc_analytics.render.formats import DOCUMENTS

# Every form that any statement has, and that needs no extra: PDF and books have tests of their own.
FORMS = tuple(
    name
    for name in FORMATS
    if name != "pdf" and not (name in DOCUMENTS and DOCUMENTS[name].is_of_final_month)
)
FOR_PROGRAMS = tuple(
    name for name in FORMS if not (name in DOCUMENTS and DOCUMENTS[name].is_worded)
)
