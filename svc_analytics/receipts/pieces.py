"""Tokens that were wrapped: the rows that are pieces of one, told by their reasons."""

from collections.abc import Sequence

from svc_analytics.messages import Message
from svc_analytics.receipts.token_files import Batch
from svc_analytics.signing.receipts import Verdict
from svc_analytics.signing.token_form import MAX_TOKEN_LENGTH, has_token_form


def notes_on_pieces(batch: Batch, verdicts: Sequence[Verdict]) -> list[Message | None]:
    """Return a note for each row that is a piece of a token, else None.

    A piece is malformed, and is right behind the piece before it. Nothing is joined: the
    verdict on the whole is for whoever has joined it.
    """
    notes: list[Message | None] = [None] * len(batch.lines)
    row = 0
    while row < len(notes):
        end = _end_of_token(batch, verdicts, row)
        if end is None:
            row += 1
            continue
        notes[row] = Message("receipt.first_piece", line=batch.lines[end - 1])
        for piece in range(row + 1, end):
            notes[piece] = Message("receipt.later_piece", line=batch.lines[row])
        row = end
    return notes


def _end_of_token(batch: Batch, verdicts: Sequence[Verdict], start: int) -> int | None:
    """Return behind which row the token ends whose first piece is in a row, if there is one."""
    text = ""
    for row in range(start, len(batch.lines)):
        piece = batch.tokens[row]
        if not piece or verdicts[row].verdict != "malformed" or len(text) > MAX_TOKEN_LENGTH:
            return None
        text += piece
        if row == start and not piece.startswith("v1."):
            return None
        if row > start and has_token_form(text):
            return row + 1
    return None
