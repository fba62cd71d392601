"""Columns of the input in the answer: none lost, none mistaken for one of our own."""

import io
import json
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
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.row_files import write_csv
from svc_analytics.receipts.kept_columns import choose, open_kept
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.receipts.verify_files import OUTPUT, verify_receipts
from tests.support.receipt_material import FACTS, SECRET, signed
from tests.support.unit_material import examples

A, B = (signed(FACTS | {"receipt_no": f"SVC-{n}"}) for n in range(2))
Rows = list[dict[str, str | None]]


def kept(path: Path, wanted: bool | Collection[str] = True) -> Rows:
    """The columns to keep, row by row, under the names that they have in the answer."""
    with open_kept([str(path)], None, wanted, OUTPUT.names) as (sources, columns):
        return [
            dict(zip(columns.renamed, cells, strict=True))
            for batch in read_sources(sources, None, columns.names)
            for cells in batch.cells
        ]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


FILES: dict[str, tuple[str, str | bytes, Rows]] = {
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


@pytest.mark.parametrize(("name", "content", "expected"), FILES.values(), ids=FILES.keys())
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
    with open_kept(list(map(str, paths)), None, wanted, OUTPUT.names) as (sources, columns):
        cells = [batch.cells for batch in read_sources(sources, None, columns.names)]
    assert cells == [(("7", None),), ((None, "Bo"),)]


def test_stdin_is_kept_too(monkeypatch, tmp_path):
    """A pipe cannot be read twice: it waits on the disk."""
    buffer = io.BufferedReader(io.BytesIO(f"receipt,n\n{A},1\n".encode()))  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": buffer}))
    with open_kept(["-"], None, ["n"], OUTPUT.names) as (sources, columns):
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
    with open_kept([str(path)], None, ["=1+1"], OUTPUT.names) as (sources, columns):
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
    with open_kept([str(path)], None, ["note"], OUTPUT.names) as (sources, columns):
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


def test_a_wrapped_token_is_told_by_its_pieces(tmp_path):
    """Two lines of a mail were one token; a cut one among others is no piece."""
    lines = [A, B[:300], B[300:], A[:-20], "a word"]
    path = written(tmp_path / "a.txt", "\n".join(lines))
    found = verify_receipts(str(path), [SECRET], lake=tmp_path / "none", progress=False)
    reasons = list(found["reason"])
    assert reasons[1].endswith("; joined with what follows up to line 3 it has the form")
    assert reasons[2].endswith("; a piece of the token that begins in line 2")
    assert reasons[3] == "the signature is cut short: 23 of 43 characters"
    assert list(found["verdict"]) == ["not_checked", *["malformed"] * 4]


def test_half_a_character_stops_nothing(tmp_path):
    """A line of JSON that no text can be made of has no token and no cells."""
    lines = [json.dumps({"token": A, "n": "\ud800"}), json.dumps({"token": B, "n": "ok"})]
    found = kept(written(tmp_path / "a.ndjson", "\n".join(lines)))
    assert found == [{"token": None, "n": None}, {"token": B, "n": "ok"}]
