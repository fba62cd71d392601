"""Tokens in Parquet: memory that does not grow with the file, and files that lie (H6)."""

import io
import os
import random
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import DataError
from svc_analytics.receipts import parquet_pages
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.signing.receipts import MAX_TOKEN_LENGTH
from tests.support.receipt_material import FACTS, signed

A, B = (signed(FACTS | {"receipt_no": f"SVC-{n}"}) for n in range(2))
LONG = "x" * 1_000_000


def read(path: Path) -> list[str | None]:
    return [token for batch in read_sources([str(path)]) for token in batch.tokens]


def written(path: Path, tokens: list[str | None], **options: Any) -> Path:
    pq.write_table(pa.table({"n": range(len(tokens)), "receipt": tokens}), path, **options)
    return path


FORMS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False},
    "by number": {"use_dictionary": True},
    "not compressed": {"use_dictionary": False, "compression": "none"},
    "zstd": {"use_dictionary": False, "compression": "zstd"},
    "second version": {"use_dictionary": False, "data_page_version": "2.0"},
    "with checksums": {"use_dictionary": False, "write_page_checksum": True},
    "without statistics": {"use_dictionary": False, "write_statistics": False},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_page_too_large_to_hold_is_refused_by_its_header(
    tmp_path: Path, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that names the file, the column and the sizes; nothing of it is unfolded."""
    path = written(tmp_path / "a.parquet", [A, LONG, B], **form)
    assert read(path) == [A, LONG[: MAX_TOKEN_LENGTH + 1], B]
    monkeypatch.setattr(parquet_pages, "LARGEST_PAGE", 500_000)
    with pytest.raises(DataError, match=r"a\.parquet has a page of 0 MiB in column receipt"):
        read(path)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_tokens(tmp_path: Path, form: dict[str, Any]) -> None:
    """Thousands on many pages and in several row groups, with rows that hold none."""
    tokens = [None if n % 7 == 0 else f"{A}{n % 50}" for n in range(3_000)]
    path = written(
        tmp_path / "a.parquet", tokens, row_group_size=1_100, data_page_size=5_000, **form
    )
    assert read(path) == tokens


def test_a_long_text_in_many_rows_is_held_once(tmp_path: Path) -> None:
    """A megabyte by its number in five thousand rows is five gigabytes, if it is copied."""
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 2_500, pa.int32()), [LONG, A])
    pq.write_table(pa.table({"receipt": texts}), path)
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    try:
        tokens = read(path)
    finally:
        pa.set_memory_pool(usual)
    assert tokens == [LONG[: MAX_TOKEN_LENGTH + 1], A] * 2_500
    assert counted.max_memory() < 32 * len(LONG)


def test_rows_that_are_large_together_are_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred pages of a megabyte each are no page too large; together they are."""
    path = written(
        tmp_path / "a.parquet", [A, LONG, LONG, LONG, B], use_dictionary=False,
        data_page_size=1_000, write_batch_size=1,
    )  # fmt: skip
    chunk = pq.read_metadata(path).row_group(0).column(1)
    with path.open("rb") as file:
        assert parquet_pages.rows_at_a_time(file, chunk, "a") == parquet_pages.ROWS
        monkeypatch.setattr(parquet_pages, "TOGETHER", 2_000_000)
        assert parquet_pages.rows_at_a_time(file, chunk, "a") == 1
    assert read(path) == [A, *[LONG[: MAX_TOKEN_LENGTH + 1]] * 3, B]


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet is read from its end: what cannot be wound back waits on the disk."""
    content = written(tmp_path / "a.parquet", [A, None, B] * 5_000).read_bytes()
    out, into = os.pipe()

    def pour() -> None:
        with os.fdopen(into, "wb") as pipe:
            pipe.write(content)

    Thread(target=pour, daemon=True).start()
    with os.fdopen(out, "rb") as stdin:
        monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": stdin}))
        assert read(Path("-")) == [A, None, B] * 5_000


def test_a_file_that_lies_is_rows_or_one_clear_error(tmp_path: Path) -> None:
    """Bytes of pages and their headers changed at random."""
    whole = written(tmp_path / "a.parquet", [f"{A}{n}" for n in range(40)], compression="none")
    content, dice = whole.read_bytes(), random.Random(5)
    end = content.index(b"PAR1", 4) - int.from_bytes(content[-8:-4], "little") - 4
    for _ in range(150):
        torn = bytearray(content)
        torn[dice.randrange(4, end)] ^= 1 << dice.randrange(8)
        (tmp_path / "b.parquet").write_bytes(torn)
        try:
            read(tmp_path / "b.parquet")
        except DataError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("header", [b"", b"\xff" * 99, b"\x15" * 70_000, b"\x1c" * 99, b"\x19\xff"])
def test_a_header_that_is_none_is_said(header: bytes) -> None:
    """Cut off, endless, nested without end: no loop, no crash."""
    made = type("Chunk", (), {"data_page_offset": 4, "dictionary_page_offset": None,
                              "total_compressed_size": 1 << 40, "path_in_schema": "a"})  # fmt: skip
    with pytest.raises(DataError, match="Parquet"):
        parquet_pages.rows_at_a_time(io.BytesIO(b"PAR1" + header), made, "a")
