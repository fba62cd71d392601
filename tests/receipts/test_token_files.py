"""Files of tokens: every form people keep them in, and every way such files are broken.

Columns of theirs in the answer: none lost, none mistaken for one of our own.
"""

import io
import json
import sys
import tracemalloc
from collections.abc import Collection
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.formatting.tables import write_csv
from svc_analytics.receipts.token_files import Batch, read_sources
from svc_analytics.receipts.verify_files import (
    IDENTICAL,
    OUTPUT,
    SAME_PAYMENT,
    DuplicateFinder,
    choose,
    open_passed,
    verify_receipts,
)
from tests.support.receipt_material import FACTS, SECRET, signed
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


CHOOSE, NONE = (
    r"has receipt tokens in .*name one with --column",
    "{name}.* holds? (no )?receipt tokens",
)
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    # A forged token in the second column would never be seen.
    "two columns": ("a.csv", f"receipt,older\n{A},{B}\n", CHOOSE),
    "two without a header": ("a.csv", f"{A},{B}\n", CHOOSE),
    "two in different rows": ("a.csv", f"receipt,older\n{A},\n,{B}\n", CHOOSE),
    "two columns of one name": ("a.csv", f"receipt,receipt\n{A},{B}\n", CHOOSE),
    "two of ndjson": ("a.ndjson", f'{{"receipt":"{A}","older":"{B}"}}\n', CHOOSE),
    # Lines of these are no malformed receipts.
    "empty": ("a.csv", b"", NONE),
    "an invoice": ("a.csv", b"no,amount\n1,12.50\n2,13.00\n", NONE),
    "receipt numbers": ("a.csv", b"receipt\nSVC-000017\nSVC-000018\n", NONE),
    "prose": ("a.txt", b"Dear Sara,\nplease find the receipts attached.\n", NONE),
    "other JSON": ("a.ndjson", b'{"amount":"1.50"}\n', NONE),
    "a workbook": ("a.csv", b"PK\x03\x04rest", NONE),
    "a PDF": ("a.txt", b"%PDF-1.7\n", NONE),
    "a page": ("a.csv", b"<!DOCTYPE html><p>receipt", NONE),
    "a picture": ("a", b"\x89PNG\r\n", NONE),
    "bytes": ("a.txt", bytes(range(256)), NONE),
}


@pytest.mark.parametrize(("name", "content", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_of_which_no_column_is_that_of_tokens_is_refused(tmp_path, name, content, said):
    """By its name, once; and a name that two columns have names none, not the first one."""
    with pytest.raises(ConfigError, match=said.format(name=name)):
        rows(tmp_path / name, content)
    with pytest.raises(ConfigError, match="2 columns named 'receipt'"):
        rows(tmp_path / "a.csv", f"receipt,receipt\n{A},{B}\n", "receipt")


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


def pipe(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    """Let stdin be a pipe with this text."""
    buffer = io.BufferedReader(io.BytesIO(content.encode()))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": buffer}))


def test_stdin_says_by_its_content_what_it_is(monkeypatch):
    """For pipes: JSON, CSV and text have no suffix there."""
    for content in (f'{{"receipt":"{A}"}}\n', f"receipt,n\n{A},1\n", f"{A}\n"):
        pipe(monkeypatch, content)
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


# ---------- columns of the input in the answer


Kept = list[dict[str, str | None]]


def kept(path: Path, wanted: bool | Collection[str] = True) -> Kept:
    """The columns to keep, row by row, under the names that they have in the answer."""
    with open_passed([str(path)], None, wanted, OUTPUT.names) as (sources, columns):
        return [
            dict(zip(columns.renamed, cells, strict=True))
            for batch in read_sources(sources, None, columns.names)
            for cells in batch.cells
        ]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


KEPT_FILES: dict[str, tuple[str, str | bytes, Kept]] = {
    "csv": ("a.csv", f"ticket,receipt\n7,{A}\n,{B}\n",
            [{"ticket": "7", "receipt": A}, {"ticket": None, "receipt": B}]),
    "semicolons, BOM, quotes": ("a.csv", f'\ufeffticket;receipt;note\r\n7;{A};"a; ""b"""\r\n',
            [{"ticket": "7", "receipt": A, "note": 'a; "b"'}]),
    "without a header": ("a.csv", f"7,{A}\n", [{"column 1": "7", "column 2": A}]),
    "names twice or none": ("a.csv", f"receipt,n,n,\n{A},1,2,3\n",
            [{"receipt": A, "n": "1", "n (2)": "2", "column 4": "3"}]),
    "a row too long": ("a.csv", f"receipt,note\n{A},well, well\n",
            [{"receipt": A, "note": "well, well"}]),
    "a row too short": ("a.csv", f"receipt,note\n{A}\n", [{"receipt": A, "note": None}]),
    "names of ours": ("a.csv", f"receipt,payment_id,input.payment_id\n{A},x,y\n",
            [{"receipt": A, "input.input.payment_id": "x", "input.payment_id": "y"}]),
    "text": ("a.txt", f"ticket 7: {A} thanks\n", [{"text": f"ticket 7: {A} thanks"}]),
    "ndjson": ("a.ndjson",
            f'{{"token":"{A}","n":0.10}}\n[1]\n{{"token":"{B}","late":{{"a":[1]}}}}\n',
            [{"token": A, "n": "0.10", "late": None}, {"token": None, "n": None, "late": None},
             {"token": B, "n": None, "late": '{"a":[1]}'}]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "expected"), KEPT_FILES.values(), ids=KEPT_FILES.keys()
)
def test_every_column_is_kept(tmp_path, name, content, expected):
    """Every cell, as it is written, in the row of its token."""
    assert kept(written(tmp_path / name, content)) == expected


def test_parquet_keeps_every_digit_of_every_type(tmp_path):
    """Amounts, instants, lists and texts by number become texts; nothing is rounded."""
    row: dict[str, Any] = {
        "receipt": A, "amount": Decimal("0.100000000000000001"), "n": 7, "tags": [1, 2],
        "at": datetime(2026, 10, 5, 9, 30, tzinfo=UTC), "is_open": True, "nothing": None,
    }  # fmt: skip
    table = pa.Table.from_pylist([row] * 3)
    table = table.append_column("agent", pa.array(["Ana", "Bo", "Ana"]).dictionary_encode())
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    found = kept(tmp_path / "a.parquet")
    assert [each.pop("agent") for each in found] == ["Ana", "Bo", "Ana"]
    assert found[2] == {
        "receipt": A, "amount": "0.100000000000000001", "n": "7", "tags": "[1, 2]",
        "at": "2026-10-05T09:30:00Z", "is_open": "true", "nothing": None,
    }  # fmt: skip


def test_columns_can_be_named(tmp_path):
    """In the order given, in capitals or not; one that is not there is refused, with a hint."""
    path = written(tmp_path / "a.csv", f"Ticket,Agent,receipt\n7,Ana,{A}\n")
    assert [list(row.items()) for row in kept(path, ["agent", "ticket"])] == [
        [("Agent", "Ana"), ("Ticket", "7")]
    ]
    with pytest.raises(ConfigError, match=r"a\.csv has no column 'tikcet' to keep: did you mean"):
        kept(path, ["tikcet"])
    with pytest.raises(ConfigError, match=r"it has Ticket, Agent, receipt"):
        kept(path, ["x"])


def test_files_with_other_columns_have_nothing_there(tmp_path):
    """One answer of several files: a column that a file lacks is empty in its rows."""
    paths = [written(tmp_path / "a.csv", f"ticket,receipt\n7,{A}\n"),
             written(tmp_path / "b.ndjson", f'{{"receipt":"{B}","agent":"Bo"}}\n')]  # fmt: skip
    wanted = ["ticket", "agent"]
    with open_passed(list(map(str, paths)), None, wanted, OUTPUT.names) as (sources, columns):
        cells = [batch.cells for batch in read_sources(sources, None, columns.names)]
    assert cells == [(("7", None),), ((None, "Bo"),)]


def test_stdin_is_kept_too(monkeypatch, tmp_path):
    """A pipe cannot be read twice: it waits on the disk."""
    pipe(monkeypatch, f"receipt,n\n{A},1\n")
    with open_passed(["-"], None, ["n"], OUTPUT.names) as (sources, columns):
        found = list(read_sources(sources, None, columns.names))
    assert [(batch.source, batch.cells) for batch in found] == [("stdin", (("1",),))]


@examples
@given(st.lists(st.sampled_from(["verdict", "input.verdict", "input.input.verdict", "x"])))
def test_no_two_columns_have_one_name(names):
    """However the input names its columns, the answer's are different."""
    found = choose(names, True, OUTPUT.names, "a.csv")
    assert len({*found.renamed, *OUTPUT.names}) == len(found.names) + len(OUTPUT.names)
    assert set(found.names) == set(names)


def test_a_csv_of_kept_columns_runs_no_formula(tmp_path):
    """Neither a cell nor a column's name."""
    path = written(tmp_path / "a.csv", f"receipt,=1+1\n{A},@cmd\n")
    with open_passed([str(path)], None, ["=1+1"], OUTPUT.names) as (sources, columns):
        batch = next(iter(read_sources(sources, None, columns.names)))
    table = columns.fill(pa.table({"line_no": [2]}), batch.cells)
    text = io.StringIO()
    write_csv([table], text)
    assert text.getvalue() == "line_no,'=1+1\n2,'@cmd\n"


def test_long_cells_make_small_batches(tmp_path):
    """A hundred megabytes of notes are never held together."""
    path = tmp_path / "a.csv"
    with path.open("w") as file:
        file.write("receipt,note\n")
        file.writelines(f"{A},{'x' * 1_000_000}\n" for _ in range(100))
    tracemalloc.start()
    with open_passed([str(path)], None, ["note"], OUTPUT.names) as (sources, columns):
        rows = sum(len(batch.cells) for batch in read_sources(sources, None, columns.names))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 100 and peak < 150_000_000


def test_a_frame_keeps_its_own_types(tmp_path):
    """From Python: a number stays a number, and what clashes is named as the input's."""
    frame = pd.DataFrame({"receipt": [A, "x"], "ticket": [7, 8], "reason": ["late", None]})
    secrets, lake = [SECRET], tmp_path / "none"
    found = verify_receipts(frame, secrets, lake=lake, keep=True, progress=False)
    assert list(found.columns)[7:] == ["receipt", "ticket", "input.reason"]
    assert found["ticket"].tolist() == [7, 8] and found["ticket"].dtype == frame["ticket"].dtype
    named = verify_receipts(frame, secrets, lake=lake, keep=["ticket"], progress=False)
    assert list(named.columns)[7:] == ["ticket"] and len(named) == 2
    with pytest.raises(ConfigError, match="no columns to keep"):
        verify_receipts([A], secrets, lake=lake, keep=True)


def test_a_token_in_pieces_is_told_by_them(tmp_path):
    """Two rows of a frame were one token; a cut one among others is no piece."""
    rows = [A, B[:300], B[300:], A[:-20], "a word"]
    found = verify_receipts(rows, [SECRET], lake=tmp_path / "none", progress=False)
    reasons = list(found["reason"])
    assert reasons[1].endswith("; joined with what follows up to line 3 it has the form")
    assert reasons[2].endswith("; a piece of the token that begins in line 2")
    assert reasons[3] == "the signature is cut short: 23 of 43 characters"
    assert list(found["verdict"]) == ["not_checked", *["malformed"] * 4]


def test_a_wrapped_token_is_whole(tmp_path):
    """Two lines of a file are one token, and a word in a list is a row as before."""
    path = written(tmp_path / "a.txt", "\n".join([A, B[:300], B[300:], A[:-20], "a word"]))
    found = verify_receipts(str(path), [SECRET], lake=tmp_path / "none", progress=False)
    assert list(found["line_no"]) == [1, 2, 4, 5]
    assert list(found["verdict"]) == [*["not_checked"] * 2, *["malformed"] * 2]


def test_half_a_character_stops_nothing(tmp_path):
    """A line of JSON that no text can be made of has no token and no cells."""
    lines = [json.dumps({"token": A, "n": "\ud800"}), json.dumps({"token": B, "n": "ok"})]
    found = kept(written(tmp_path / "a.ndjson", "\n".join(lines)))
    assert found == [{"token": None, "n": None}, {"token": B, "n": "ok"}]
