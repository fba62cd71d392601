"""Tokens in Parquet: memory that does not grow with the file, and files that lie (H6)."""

import io
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import DataError
from svc_analytics.receipts import parquet_tokens
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.signing.receipt_tokens import MAX_TOKEN_LENGTH
from tests.support.receipt_material import FACTS, signed

A, B = (signed(FACTS | {"receipt_no": f"SVC-{n}"}) for n in range(2))
LONG = "v1." + "x" * 999_997


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
    "lengths first": {
        "use_dictionary": False,
        "column_encoding": {"receipt": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "prefixes shared": {
        "use_dictionary": False,
        "column_encoding": {"receipt": "DELTA_BYTE_ARRAY"},
    },
    "without statistics": {"use_dictionary": False, "write_statistics": False},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_page_too_large_to_hold_is_refused_by_its_header(tmp_path, form, monkeypatch):
    """One line that names the file, the column and the sizes; nothing of it is unfolded."""
    path = written(tmp_path / "a.parquet", [A, LONG, B], **form)
    assert read(path) == [A, LONG[: MAX_TOKEN_LENGTH + 1], B]
    monkeypatch.setattr(parquet_tokens, "LARGEST_PAGE", 500_000)
    with pytest.raises(DataError, match=r"a\.parquet has a page of 0 MiB in column receipt"):
        read(path)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_tokens(tmp_path, form):
    """Thousands on many pages and in several row groups, with rows that hold none."""
    tokens = [None if n % 7 == 0 else f"{A}{n % 50}" for n in range(3_000)]
    path = written(
        tmp_path / "a.parquet", tokens, row_group_size=1_100, data_page_size=5_000, **form
    )
    assert read(path) == tokens


KINDS = {
    "bytes": pa.binary(),
    "many bytes": pa.large_binary(),
    "views of bytes": pa.binary_view(),
    "many texts": pa.large_string(),
    "views": pa.string_view(),
    "numbered texts": pa.dictionary(pa.int32(), pa.string()),
    "numbered bytes": pa.dictionary(pa.int32(), pa.binary()),
}


@pytest.mark.parametrize("is_alone", [False, True], ids=["beside a text", "alone"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_tokens_are_read_whatever_the_type_of_their_texts(tmp_path, kind, is_alone):
    """Also as bytes, as a database may write them; a long one is cut as everywhere."""
    tokens = [A, None, LONG, B] * 3
    columns = {"x" if is_alone else "receipt": pa.array(tokens).cast(kind)}
    others = {} if is_alone else {"note": ["a text"] * len(tokens)}
    pq.write_table(pa.table(others | columns), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [A, None, LONG[: MAX_TOKEN_LENGTH + 1], B] * 3


def test_bytes_of_one_length_and_bytes_that_are_no_text_are_no_other_rows(tmp_path):
    """What is not UTF-8 is a text that is no token: its row is malformed, and not missing."""
    token = A.encode()
    kind = pa.binary(len(token))
    column = pa.array([token, b"\xff" * len(token), None], kind)
    pq.write_table(pa.table({"receipt": column}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [A, "\ufffd" * len(token), None]


def test_bytes_are_not_taken_for_tokens_where_a_text_is_there(tmp_path):
    """The only column of texts holds the tokens, whatever hashes stand beside it."""
    columns = {"x": [A, B], "hash": pa.array([b"\x01", b"\x02"])}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [A, B]


def header(kind: int, size: int, values: int = 1, encoding: int = 0) -> bytes:
    """Write a page's header in Thrift's compact protocol: the page itself has no bytes."""
    own = [b"\x15" + number(each) for each in (kind, size, 0)]  # fields 1, 2, 3
    within = b"\x15" + number(values) + b"\x15" + number(encoding) + b"\0"
    return b"".join(own) + b"\x2c" + within + b"\0"  # field 5, a struct


def number(value: int) -> bytes:
    coded, out = value << 1 ^ value >> 63, bytearray()
    while coded > 127:
        out.append(coded & 127 | 128)
        coded >>= 7
    return bytes([*out, coded])


def plan(headers: list[bytes]) -> parquet_tokens.ReadPlan:
    content = b"PAR1" + b"".join(headers)
    made = type("Chunk", (), {"data_page_offset": 4, "dictionary_page_offset": None,
                "total_compressed_size": len(content) - 4, "path_in_schema": "a"})  # fmt: skip
    return parquet_tokens.plan_reading(io.BytesIO(content), made, "a")


@contextmanager
def memory_counted() -> Iterator[pa.MemoryPool]:
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    try:
        yield counted
    finally:
        pa.set_memory_pool(usual)


def test_a_long_text_in_many_rows_is_held_once(tmp_path):
    """A megabyte by its number in five thousand rows is five gigabytes, if it is copied."""
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 2_500, pa.int32()), [LONG, A])
    pq.write_table(pa.table({"receipt": texts}), path)
    with memory_counted() as counted:
        tokens = read(path)
    assert tokens == [LONG[: MAX_TOKEN_LENGTH + 1], A] * 2_500
    assert counted.max_memory() < 32 * len(LONG)


def test_rows_that_share_a_long_prefix_are_read_few_at_a_time(tmp_path):
    """Each repeats the megabyte of the one before in a few bytes; 200 are 200 megabytes."""
    path = written(tmp_path / "a.parquet", [LONG] * 200, **FORMS["prefixes shared"])
    assert path.stat().st_size < 2 * len(LONG)
    with memory_counted() as counted:
        assert read(path) == [LONG[: MAX_TOKEN_LENGTH + 1]] * 200
    assert counted.max_memory() < 64 * len(LONG)


@pytest.mark.parametrize("distinct", [1, 5_000], ids=["by number", "each its own"])
def test_a_file_of_duckdbs_second_version_is_read(tmp_path, distinct):
    """Its texts are numbered, or their lengths come first; Arrow cannot number the latter."""
    query = f"select 'v1.' || md5((n % {distinct})::varchar) receipt from range(5000) r(n)"
    duckdb.sql(f"copy ({query}) to '{tmp_path}/a.parquet' (format parquet, parquet_version v2)")
    assert len(set(read(tmp_path / "a.parquet"))) == distinct


def test_a_long_numbered_text_beside_other_encodings_is_read_row_by_row():
    """Arrow could not number such a chunk, so each row would be a copy."""
    pages = [header(kind=2, size=9 << 20), header(kind=0, size=9, values=4, encoding=7)]
    assert plan(pages) == parquet_tokens.ReadPlan(rows=1, is_numbered=False)
    assert plan(pages[:1]) == parquet_tokens.ReadPlan(parquet_tokens.ROWS, is_numbered=True)


def test_what_pages_hold_is_added_up_once():
    """Pages without rows take no part, and none may count below nothing."""
    pages = [header(kind=0, size=1 << 20, values=0)] * 9_000
    assert plan(pages).rows == parquet_tokens.ROWS
    assert plan([header(kind=0, size=1 << 20)] * 17).rows == 1
    assert plan([header(kind=0, size=1 << 16)] * 9_000).rows == parquet_tokens.ROWS
    with pytest.raises(DataError, match="does not say its size"):
        plan([header(kind=0, size=9, values=-1)])


def test_rows_that_are_large_together_are_read_one_by_one(tmp_path, monkeypatch):
    """Two hundred pages of a megabyte each are no page too large; together they are."""
    path = written(
        tmp_path / "a.parquet", [A, LONG, LONG, LONG, B], use_dictionary=False,
        data_page_size=1_000, write_batch_size=1,
    )  # fmt: skip
    chunk = pq.read_metadata(path).row_group(0).column(1)
    with path.open("rb") as file:
        assert parquet_tokens.plan_reading(file, chunk, "a").rows == parquet_tokens.ROWS
        monkeypatch.setattr(parquet_tokens, "TOGETHER", 2_000_000)
        assert parquet_tokens.plan_reading(file, chunk, "a").rows == 1
    assert read(path) == [A, *[LONG[: MAX_TOKEN_LENGTH + 1]] * 3, B]


def test_a_pipe_is_read_as_a_file_is(tmp_path, monkeypatch):
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


def test_a_file_that_lies_is_rows_or_one_clear_error(tmp_path):
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


@pytest.mark.parametrize(
    "header",
    [b"", b"\xff" * 99, b"\x15" * 70_000, b"\x1c" * 99, b"\x19\xff", b"\x19" * 3_000],
)
def test_a_header_that_is_none_is_said(header):
    """Cut off, endless, nested without end: no loop, no crash."""
    made = type("Chunk", (), {"data_page_offset": 4, "dictionary_page_offset": None,
                              "total_compressed_size": 1 << 40, "path_in_schema": "a"})  # fmt: skip
    with pytest.raises(DataError, match="Parquet"):
        parquet_tokens.plan_reading(io.BytesIO(b"PAR1" + header), made, "a")
