"""The forms of a notice, ever smaller: for who does not take it as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from svc_analytics.unattended.attachments import Attachment
from svc_analytics.unattended.notices import Notice

_LONGEST = 150  # letters of a subject, and of each line, in a smaller form
_MOST_LINES = 10

Form = tuple[Notice, Sequence[Attachment], tuple[str, ...]]  # with what is not in it


def forms(notice: Notice, title: str, files: Sequence[Attachment], steps: int) -> Iterator[Form]:
    """Yield a notice with its files, without the largest ones, shorter, then bare.

    So many `steps` leave out a file each, where it is sent and not only named. The last form has
    nothing but its event behind the title, for whom a word of it offends.
    """
    by_size = sorted(files, key=lambda each: len(each.content))
    for count in range(len(files), len(files) - steps - 1, -1):
        left = tuple(f"{each.name}, SHA-256 {each.sha256}" for each in by_size[count:])
        yield notice, [each for each in files if each in by_size[:count]], left
    subject, lines = notice.subject[:_LONGEST], notice.lines[:_MOST_LINES]
    short = replace(notice, subject=subject, lines=tuple(line[:_LONGEST] for line in lines))
    if short != notice:
        yield short, files[steps:], ("a part of its words",)
    yield replace(notice, subject=f"{title}{notice.event}", lines=()), (), ("its words",)


def saying(form: Form, why: str) -> Notice:
    """Return the notice of a form, which says what was left out, and why."""
    notice, _, left = form
    lines = tuple(f"left out: {each}: {why}; the lake has it" for each in left)
    return replace(notice, lines=(*notice.lines, *lines))
