"""A table of a statement that is not what was written: one clear line names its file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics import diff_statements, verify_statement
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.errors import LakeError
from tests.support.closings import Closer
from tests.support.rings import sample

Damage = Callable[[bytes], bytes]
HEAD = b"period,currency,"
CSV: dict[str, Damage] = {
    "is empty": lambda body: b"",
    "line 2 has 1 cells": lambda body: body.replace(b"\n2026-10", b"\n9\n2026-10", 1),
    "line 3 has": lambda body: body[: body.rindex(b",")],
    "has no column currency": lambda body: body.replace(HEAD, b"period,coin,"),
    "stands twice": lambda body: body.replace(HEAD, b"currency,currency,"),
    "can't decode": lambda body: body.replace(b"usdt", b"\xff\xfe"),
    "unexpected end of data": lambda body: body.replace(b"usdt", b'"usdt'),
    "no number": lambda body: body.partition(b"\n")[0] + b"\n" + body,
}
PARQUET: dict[str, Damage] = {
    "bytes": lambda body: b"",
    "footer": lambda body: body[:-1],
    "magic": lambda body: b"period,currency\n" * 9,
}


def damaged(closer: Closer, suffix: str, damage: Damage) -> tuple[Path, Path]:
    """October as it was sealed, and the same with its summary damaged."""
    folder = closer.sealed(formats=(suffix,))
    path = folder / f"summary.{suffix}"
    body = path.read_bytes()
    assert damage(body) != body
    path.write_bytes(damage(body))
    return folder, path


@pytest.mark.parametrize("text", sample(CSV, 9))
def test_a_damaged_csv_is_named(closer: Closer, text: str) -> None:
    """No reader takes it for another table, and none ends in a fault of its own."""
    folder, path = damaged(closer, "csv", CSV[text])
    with pytest.raises(LakeError, match=text) as caught:
        diff_statements(folder, folder)
    assert str(folder) in str(caught.value) and path.stem in str(caught.value)
    check_other_doors(closer, folder, path.name)


@pytest.mark.parametrize("text", sample(PARQUET, 3))
def test_a_damaged_parquet_file_is_named(closer: Closer, text: str) -> None:
    """Cut short, empty, or of another kind."""
    folder, path = damaged(closer, "parquet", PARQUET[text])
    with pytest.raises(LakeError, match=r"summary\.parquet cannot be read"):
        diff_statements(folder, folder)
    check_other_doors(closer, folder, path.name)


def check_other_doors(closer: Closer, folder: Path, name: str) -> None:
    """The seal gives it away to whoever verifies, packs or builds upon it."""
    assert verify_statement(folder).broken == (f"{name} differs from the seal",)
    with pytest.raises(LakeError, match=f"{name} differs from the seal"):
        pack_folder(folder)
    with pytest.raises(LakeError, match=f"{name} differs from the seal"):
        closer.close()
