"""Gzip unfolded by hand: whatever the pieces it comes in, the same bytes, a little at a time."""

import gzip
import random

import pytest

from svc_analytics.api.inflation import PIECE, inflate
from svc_analytics.api.responses import RetryableError

BODIES = {
    "nothing": b"",
    "a little": b"{}",
    "one piece": bytes(PIECE),
    "a byte more": bytes(PIECE + 1),
    "three pieces": bytes(3 * PIECE),
    "dense": random.Random(1).randbytes(PIECE + 5),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_bytes_come_back_whatever_the_cuts(body: bytes, size: int) -> None:
    """Two members, cut into chunks of any size; no piece is larger than it may be."""
    zipped = gzip.compress(body) + gzip.compress(body)
    pieces = list(inflate(zipped[at : at + size] for at in range(0, len(zipped), size)))
    assert b"".join(pieces) == body * 2
    assert max(map(len, pieces)) <= PIECE


def test_an_empty_answer_is_empty() -> None:
    """A refusal may have no body at all, and say gzip."""
    assert not list(inflate([]))


def test_junk_behind_is_damage() -> None:
    with pytest.raises(RetryableError, match="damaged"):
        list(inflate([gzip.compress(b"{}") + b"junk"]))
