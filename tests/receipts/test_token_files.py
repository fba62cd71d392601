"""Files of tokens: every form people keep them in, and every way such files are broken."""

import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.receipts.duplicates import IDENTICAL, SAME_PAYMENT, DuplicateFinder
from svc_analytics.receipts.token_files import Batch, read_sources
from tests.support.receipt_material import FACTS, signed
from tests.support.unit_material import examples

A, B, C = (signed(FACTS | {"receipt_no": f"SVC-{n}"}) for n in range(3))
Rows = list[tuple[int, str | None]]


def rows(path: Path, content: str | bytes, column: str | None = None) -> Rows:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(data)
    return [
        row
        for batch in read_sources([str(path)], column)
        for row in zip(batch.lines, batch.tokens, strict=True)
    ]


FILES: dict[str, tuple[str, str | bytes, Rows]] = {
    "csv with a header": ("a.csv", f"id,receipt\n1,{A}\n2,{B}\n", [(2, A), (3, B)]),
    "csv without a header": ("a.csv", f"1,{A}\n2,{B}\n", [(1, A), (2, B)]),
    "csv of another name": ("a.csv", f"id,beleg\n1,{A}\n", [(2, A)]),
    "semicolons": ("a.csv", f"id;token;n\r\n1;{A};x\r\n", [(2, A)]),
    "tabs in UTF-16": ("a.tsv", f"id\treceipt\n1\t{A}\n".encode("utf-16"), [(2, A)]),
    "a BOM": ("a.csv", b"\xef\xbb\xbf" + f"receipt\n{A}\n".encode(), [(2, A)]),
    "quoted": ("a.csv", f'id,receipt\n"1, or 2","{A}"\n', [(2, A)]),
    "a row too short": ("a.csv", f"id,receipt\n1\n2,{B}\n", [(2, None), (3, B)]),
    "a quote never closed": ("a.csv", f'id,receipt\n"1,{A}\n2,{B}\n', [(2, A), (3, B)]),
    "not UTF-8": ("a.csv", b"id,receipt\n\xff\xfe," + A.encode() + b"\n", [(2, A)]),
    "text": ("a.txt", f"{A}\n\n{B}\n", [(1, A), (3, B)]),
    "links": ("a.txt", f"https://shop.example/?receipt={A}&payment_id=1\n", [(1, A)]),
    "prose": ("a.txt", f"I paid, see {A} and {B}.\nno token\n", [(1, A), (1, B), (2, "no token")]),
    "without a suffix": ("tickets", f"receipt\n{A}\n", [(2, A)]),
    "ndjson": ("a.ndjson", f'{{"token":"{A}"}}\n{{"x":"{B}"}}\n"{C}"\n', [(1, A), (2, B), (3, C)]),
    "broken ndjson": ("a.jsonl", f'{{"token":1}}\n{"[" * 9999}\n"{C}"', [(1, None), (2, None), (3, C)]),  # noqa: E501
    "a header alone": ("a.csv", "id,receipt\n", []),
    "a separator that is told": ("a.csv", f"sep=;\nid;receipt\n1;{A}\n", [(3, A)]),
    "titles": ("a.csv", f"October\n\nid,receipt\n1,{A}\n", [(4, A)]),
    "titles, and a header of another name": ("a.csv", f"October\n\nid;beleg\n1;{A}\n", [(4, A)]),
    "links in a column": ("a.csv", f"id,receipt\n1,https://s.example/?receipt={A}&payment_id=1\n", [(2, A)]),  # noqa: E501
    "links that are encoded": ("a.csv", f"receipt\nhttps://s.example/?receipt={A.replace('.', '%2E')}\n", [(2, A)]),  # noqa: E501
    "quotes and brackets": ("a.csv", f"receipt\n<{A}>\n\u200b{B}\n\u201c{C}\u201d\n", [(2, A), (3, B), (4, C)]),  # noqa: E501
    "brackets in text": ("a.txt", f"<{A}>\n'{B}'\n", [(1, A), (2, B)]),
    "a link in ndjson": ("a.ndjson", f'{{"url":"https://s.example/?receipt={A}"}}\n', [(1, A)]),
    "a named column that is empty": ("a.csv", f"receipt,note\n,{A}\n,{B}\n", [(2, A), (3, B)]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), FILES.values(), ids=FILES.keys())
def test_tokens_are_found(tmp_path, name, content, expected):
    """With the line a person will look for them in; a broken line stops nothing."""
    got = rows(tmp_path / name, content)
    assert [(line, token and token.rstrip(".")) for line, token in got] == expected


def test_a_column_can_be_named(tmp_path):
    """Where several hold tokens; one that is not there is refused with those that are."""
    content = f"receipt,older\n{A},{B}\n"
    assert rows(tmp_path / "a.csv", content, "older") == [(2, B)]
    with pytest.raises(ConfigError, match=r"no column 'newer'.*receipt, older"):
        rows(tmp_path / "a.csv", content, "newer")


TWO: dict[str, tuple[str, str]] = {
    "csv": ("a.csv", f"receipt,older\n{A},{B}\n"),
    "csv without a header": ("a.csv", f"{A},{B}\n"),
    "in different rows": ("a.csv", f"receipt,older\n{A},\n,{B}\n"),
    "two columns of one name": ("a.csv", f"receipt,receipt\n{A},{B}\n"),
    "ndjson": ("a.ndjson", f'{{"receipt":"{A}","older":"{B}"}}\n'),
}


@pytest.mark.parametrize(("name", "content"), TWO.values(), ids=TWO.keys())
def test_nobody_chooses_among_two_columns_of_tokens(tmp_path, name, content):
    """A forged token in the second one would never be seen."""
    with pytest.raises(ConfigError, match=r"has receipt tokens in .*name one with --column"):
        rows(tmp_path / name, content)


def test_a_name_that_two_columns_have_names_none(tmp_path):
    """Not the first one, without a word."""
    with pytest.raises(ConfigError, match="2 columns named 'receipt'"):
        rows(tmp_path / "a.csv", f"receipt,receipt\n{A},{B}\n", "receipt")


NO_TOKENS: dict[str, tuple[str, bytes]] = {
    "empty": ("a.csv", b""),
    "an invoice": ("a.csv", b"no,amount\n1,12.50\n2,13.00\n"),
    "receipt numbers": ("a.csv", b"receipt\nSVC-000017\nSVC-000018\n"),
    "prose": ("a.txt", b"Dear Sara,\nplease find the receipts attached.\n"),
    "other JSON": ("a.ndjson", b'{"amount":"1.50"}\n'),
    "a workbook": ("a.csv", b"PK\x03\x04rest"),
    "a PDF": ("a.txt", b"%PDF-1.7\n"),
    "a page": ("a.csv", b"<!DOCTYPE html><p>receipt"),
    "a picture": ("a", b"\x89PNG\r\n"),
    "bytes": ("a.txt", bytes(range(256))),
}


@pytest.mark.parametrize(("name", "content"), NO_TOKENS.values(), ids=NO_TOKENS.keys())
def test_a_file_without_a_token_is_refused_by_name(tmp_path, name, content):
    """Its lines are no malformed receipts."""
    with pytest.raises(ConfigError, match=rf"{name}.* holds? (no )?receipt tokens"):
        rows(tmp_path / name, content)


def test_a_broken_token_among_others_is_one_malformed_row(tmp_path):
    """The file is a list of tokens all the same."""
    assert rows(tmp_path / "a.txt", f"{A}\nv1.broken\n") == [(1, A), (2, "v1.broken")]
    assert rows(tmp_path / "b.txt", "v1.broken\n") == [(1, "v1.broken")]


def test_a_line_of_megabytes_is_cut(tmp_path):
    """Bounded in memory, counted as one line, and the next line is read."""
    found = rows(tmp_path / "a.txt", "A" * 5_000_000 + f"\n{A}\n")
    assert [line for line, _ in found] == [1, 2] and found[1][1] == A
    assert len(found[0][1] or "") <= 1 << 20


def test_parquet_is_read_by_rows(tmp_path):
    """Its one text column, or the one that has the name of a token."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3], "note": ["x"] * 3, "receipt": [A, None, B]}), path)
    assert rows(path, path.read_bytes()) == [(1, A), (2, None), (3, B)]
    with pytest.raises(SvcError, match="not a Parquet file"):
        rows(path, b"PAR1 torn PAR1")


def test_parquet_may_hold_its_texts_by_number(tmp_path):
    """What a category of pandas becomes; found as any column of texts is."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2], "beleg": pa.array([A, A]).dictionary_encode()}), path)
    assert rows(path, path.read_bytes()) == [(1, A), (2, A)]


def test_a_batch_of_long_lines_is_a_small_batch(tmp_path, monkeypatch):
    """Fifty thousand lines of a megabyte are not held at once; ordinary ones are."""
    monkeypatch.setattr("svc_analytics.receipts.token_files.BATCH_TEXT", 10_000)
    path = tmp_path / "a.txt"
    path.write_text("".join("A" * 4_000 + f"{n}\n" for n in range(7)) + f"{B}\n" * 10)
    batches = list(read_sources([str(path)]))
    assert [len(batch.lines) for batch in batches] == [3, 3, 11]
    assert [line for batch in batches for line in batch.lines] == list(range(1, 18))


@pytest.mark.thorough
def test_rows_of_many_long_lines_are_not_held_together(tmp_path):
    """A quote that opens on every line joins no fifty megabytes, nor are a hundred rows kept."""
    line = '"' + "a," * 400_000 + "\n"
    path = tmp_path / "a.csv"
    path.write_text(f"receipt,n\n{A},1\n" + line * 40 + f"{B},1\n")
    tracemalloc.start()
    found = [token for batch in read_sources([str(path)]) for token in batch.tokens]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] == A and found[-1] == B and peak < 60_000_000


def test_stdin_says_by_its_content_what_it_is(monkeypatch):
    """For pipes: JSON, CSV and text have no suffix there."""
    for content in (f'{{"receipt":"{A}"}}\n', f"receipt,n\n{A},1\n", f"{A}\n"):
        buffer = io.BufferedReader(io.BytesIO(content.encode()))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": buffer}))
        assert [batch.tokens for batch in read_sources(["-"])] == [[A]]


@examples
@example(b"PAR1", "a.txt")
@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.txt", "a.ndjson", "a.tsv", "a"]))
def test_arbitrary_bytes_are_rows_or_one_clear_error(tmp_path_factory, content, name):
    """At worst, no column of tokens can be found, or what begins like Parquet is none."""
    try:
        found = rows(tmp_path_factory.getbasetemp() / name, content)
    except ConfigError as error:
        assert "--column" in str(error)  # or it holds none at all
    except DataError as error:
        assert content.startswith(b"PAR1") and "not a Parquet file" in str(error)
    else:
        assert all(token is None or isinstance(token, str) for _, token in found)


def test_duplicates_are_pointed_out_across_batches():
    """The same token twice, and two tokens of one payment, with the place of the first."""
    finder = DuplicateFinder()
    first = finder.notes_on(Batch("a.csv", [2, 3, 4], [A, B, A]), ["p", "q", "p"])
    second = finder.notes_on(Batch("b.csv", [7, 8, 9], [C, None, B]), ["p", None, "q"])
    assert first == [None, None, "the same token is in a.csv line 2"]
    assert second == [
        "another token for this payment is in a.csv line 2",
        None,
        "the same token is in a.csv line 3",
    ]
    assert [note and note.code for note in second] == [SAME_PAYMENT, None, IDENTICAL]


def test_many_duplicates_are_found_as_by_a_dictionary():
    """However batches fall, each duplicate names the first place."""
    tokens: list[Any] = [f"token {n * n % 97}" for n in range(1_000)]
    finder, expected, notes = DuplicateFinder(), [], []
    first: dict[str, int] = {}
    for number, token in enumerate(tokens, 1):
        place = f"the same token is in s line {first[token]}" if token in first else None
        expected.append(place)
        first.setdefault(token, number)
    for start in range(0, 1_000, 70):
        part = tokens[start : start + 70]
        lines = list(range(start + 1, start + 1 + len(part)))
        notes += finder.notes_on(Batch("s", lines, part), [None] * len(part))
    assert notes == expected
