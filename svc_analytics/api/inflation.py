"""Unfold gzipped answers a piece at a time: a few kilobytes may unfold to gigabytes."""

import zlib
from collections.abc import Iterable, Iterator

from svc_analytics.api.responses import RetryableError
from svc_analytics.messages import Message

PIECE = 256 * 1024  # bytes at most that are unfolded before their size is looked at
_GZIP = 16 + zlib.MAX_WBITS


def inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Unzip the pieces of a body, of one member or several.

    Raises `RetryableError` if it is damaged, or its end is missing.
    """
    member = None
    try:
        for piece in pieces:
            rest, output = piece, b""
            while rest or len(output) == PIECE:  # more of what was taken in may wait
                member = member or zlib.decompressobj(_GZIP)
                output = member.decompress(rest, PIECE)
                yield output
                rest = member.unconsumed_tail
                if member.eof:
                    rest, output, member = member.unused_data, b"", None
    except zlib.error as error:
        raise RetryableError(Message("service.damaged")) from error
    if member:
        raise RetryableError(Message("service.cut_off"))
