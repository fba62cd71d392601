"""Tokens where people leave them: among words, in pages, nested, quoted, wrapped; all of several.

A file that holds none is refused once.
"""

import base64
import json
import quopri
import textwrap
from email.message import EmailMessage
from typing import Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.find_tokens import tokens_in
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.receipts.verify_files import verify_receipts
from svc_analytics.records import raw_json
from tests.receipts.test_token_files import A, B, C, Rows, rows
from tests.support.receipt_material import SECRET
from tests.support.unit_material import examples

LINK = "https://shop.example/thanks?receipt="


def wrapped(text: str, width: int = 76, mark: str = "") -> str:
    return "\n".join(mark + text[start : start + width] for start in range(0, len(text), width))


TEXTS: dict[str, tuple[str, list[str]]] = {
    "words": (f"I paid: {A}, see there", [A]),
    "the end of a sentence": (f"{A}.", [A]),
    "two": (f"{A}, {B}", [A, B]),
    "two without a blank": (f"{A};{B}|{C}", [A, B, C]),
    "twice": (f"{A} or {A}", [A]),
    "a page": (f"<p>{A}</p>", [A]),
    "a page with entities": (f"&lt;{A}&gt;&nbsp;{B}", [A, B]),
    "letters in tags": (f"<td>{A[:40]}<wbr>{A[40:80]}<b>{A[80:]}</b></td>", [A]),
    "lines of a page": (f"<div>{A[:70]}<br>{A[70:140]}<br/>\n{A[140:]}<br>Thanks</div>", [A]),
    "a link in a page": (f'<a href="{LINK}{A}&amp;payment_id=1">my receipt</a>', [A]),
    "a link and its text": (f'<a href="{LINK}{A}">{A}</a> {B}', [A, B]),
    "a link among words": (f"see {LINK}{quote(A).replace('.', '%2E')}&payment_id=1 there", [A]),
    "a link within a link": (f"https://s.example/?url={quote(quote(LINK + A, ''), '')}&d=1", [A]),
    "two in a link": (f"{LINK}{A}&receipt={B}", [A, B]),
    "a fragment": (f"https://shop.example/#receipt={A}", [A]),
    "Markdown": (f"[receipt]({LINK}{A}) `{B}` **{C}**", [A, B, C]),
    "a name before it": (f"receipt={A} token:{B}", [A, B]),
    "JSON in a text": (json.dumps({"receipt": A}), [A]),
    "escaped in a text": (json.dumps({"body": f"<p>Hi,\n{A}</p>"}).replace("<", "\\u003c"), [A]),
    "flowing": (wrapped(A).replace("\n", " \n"), [A]),
    "flowing and quoted": (f"Hi,\n{wrapped(A, 70, '> ')}\n".replace("\n", " \n"), [A]),
    "wrapped": (f"Hello,\n{wrapped(A)}\nThanks", [A]),
    "wrapped by CR LF": (f"Hello,\r\n{wrapped(A)}\r\nThanks".replace("\n", "\r\n"), [A]),
    "wrapped and quoted": (f"> Hello,\n{wrapped(A, 70, '> ')}\n> Thanks", [A]),
    "wrapped and quoted twice": (f">> Hi\n{wrapped(A, 70, '> > ')}\n>> Bye", [A]),
    "wrapped and indented": (textwrap.indent(wrapped(A), "    "), [A]),
    "wrapped behind words": (f"my receipt is {A[:60]}\n{wrapped(A[60:])}, thanks", [A]),
    "wrapped beside another": (f"{wrapped(A)}\n{wrapped(B)}\n{C}", [A, B, C]),
    "wrapped to blanks": (" ".join(wrapped(A).split()), [A]),
    "quoted-printable": (quopri.encodestring(f"see {LINK}{A} thanks".encode()).decode(), [A]),
    "a soft break behind it": (f"see {A}=\n thanks", [A]),
    "letters without a width": (f"\ufeff{A[:50]}\u200b{A[50:90]}\u00ad{A[90:]}", [A]),
    "cut short": (f"it is {A[:200]} and no more", [A[:200]]),
    "cut in its signature": (f"it is {A[:-9]}, {B}", [A[:-9], B]),
    "forged at its beginning": (f"it is {A.replace('.e', '.f', 1)}", [A.replace(".e", ".f", 1)]),
    "another version": (f"see v2{A[2:]}", [f"v2{A[2:]}"]),
    "a version of a program": (f"since v1.18.0 of v1.example.org: {A}", [A]),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_tokens_are_seen_in_a_text(text, expected):
    """As a person sees them, each once; one that is no longer whole stays to be told."""
    assert tokens_in(text) == expected


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_ticket_is_read_alike_in_every_form(tmp_path, text):
    """The same description in CSV, NDJSON, a document, Parquet, a frame and a file of its own."""
    words, expected = text
    table = pd.DataFrame({"id": [7], "Description": [words]})
    files: dict[str, Any] = {
        "a.csv": table.to_csv(index=False),
        "a.ndjson": json.dumps({"id": 7, "Description": words}) + "\n",
        "a.json": json.dumps({"tickets": [{"id": 7, "Description": words}], "count": 1}, indent=2),
    }
    for name, content in files.items():
        for column in (None, "Description") if name != "a.json" else (None,):
            assert [token for _, token in rows(tmp_path / name, content, column)] == expected
    pq.write_table(pa.table({"id": [7], "Description": [words]}), tmp_path / "a.parquet")
    [batch] = read_sources([str(tmp_path / "a.parquet")])
    assert batch.tokens == expected
    assert [token for _, token in rows(tmp_path / "a.txt", f"Dear shop,\n{words}\n")] == expected


def test_a_mail_is_its_receipts_and_not_its_words(tmp_path):
    """Each in the line where it begins."""
    mail = f"From: Sara\nTo: a, b\n\nHello,\n\n{wrapped(A, 72, '> ')}\n> Thanks,\n\nand {B}\nSara\n"
    for name in ("a.txt", "a.eml", "ticket"):
        assert rows(tmp_path / name, mail) == [(6, A), (15, B)], len(wrapped(A, 72).split())


def test_the_body_of_a_mail_is_what_a_person_reads(tmp_path):
    """In quoted-printable and in base64, beside an attachment; each in the line where it begins."""
    mail = EmailMessage()
    mail["Subject"] = "my receipt"
    mail.set_content(f"Liebe Grüße,\n{A}\n", cte="quoted-printable")
    mail.add_alternative(f"<p>Liebe Grüße,<br>{B}</p>\n" * 9, subtype="html", cte="base64")
    mail.add_attachment(bytes(range(256)) * 99, maintype="image", subtype="png")
    content = mail.as_bytes()
    lines = content.decode().splitlines()
    places = [each for each, line in enumerate(lines, 1) if line.startswith(("v1.", "PHA+"))]
    for name in ("a.eml", "a"):
        assert rows(tmp_path / name, content) == list(zip(places, (A, B), strict=True))


def test_a_page_is_read(tmp_path):
    """A web page of a help desk, whatever its file is called."""
    page = f"<!DOCTYPE html>\n<html><body><p>Hi,<br>here: {A}</p>\n<p>bye</p></body></html>"
    for name in ("a.html", "a.csv", "a"):
        assert rows(tmp_path / name, page) == [(2, A)]


DOCUMENTS: dict[str, tuple[str, Rows]] = {
    "a list": (json.dumps([{"id": 1, "token": A}, {"id": 2, "token": B}]), [(1, A), (1, B)]),
    "a list of texts": (json.dumps([A, B], indent=1), [(2, A), (3, B)]),
    "lines of a list": (
        json.dumps([{"id": 1, "token": A}, {"id": 2, "token": "x"}], indent=2),
        [(4, A), (6, "x")],
    ),
    "an object around a list": (
        json.dumps({"count": 3, "tickets": [{"t": A}, {"t": "no"}, {"t": B}], "next": None}),
        [(1, A), (1, B)],
    ),
    "an object around escaped texts": (
        json.dumps({"tickets": [{"t": A}, {"t": f"Hi,\n{B}"}, {"t": f"\u200e{C}"}]}),
        [(1, A), (1, B), (1, C)],
    ),
    "one ticket": (
        json.dumps({"id": 1, "custom_fields": [{"id": 2, "value": "x"}, {"value": A}]}, indent=1),
        [(9, A)],
    ),
    "objects over lines": (f'{{\n"token": "{A}"\n}}\n{{\n"token": "{B}"\n}}\n', [(2, A), (5, B)]),
    "nested in lines": (
        json.dumps({"fields": {"custom": [{"value": None}, {"value": A}]}})
        + "\n"
        + json.dumps({"fields": {"custom": [{"value": f"{A} {B}"}]}}),
        [(1, A), (2, A), (2, B)],
    ),
    "a member twice": (f'{{"receipt":"{A}","receipt":"{B}"}}\n', [(1, A), (1, B)]),
    "the same in two members": (f'{{"body":"see {A}","html_body":"<p>{A}"}}\n', [(1, A)]),
    "torn": (f'[\n{{"token":"{A}"}},\n{{"token":', [(2, A), (3, None)]),
}


@pytest.mark.parametrize(("content", "expected"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.txt", "a"])
def test_json_is_read_however_deep_and_long(tmp_path, name, content, expected):
    """Records of a document have their lines, and no bracket is a malformed receipt."""
    found = rows(tmp_path / name, content)
    assert [row for row in found if row[1]] == [row for row in expected if row[1]]


def test_members_that_hold_different_tokens_are_not_chosen_among(tmp_path):
    """By the name that leads to each, which names one too."""
    content = json.dumps({"receipt": A, "custom_fields": [{"value": B}]})
    with pytest.raises(ConfigError, match=r"in receipt, custom_fields\.value: name one"):
        rows(tmp_path / "a.ndjson", content)
    assert rows(tmp_path / "a.ndjson", content, "custom_fields.value") == [(1, B)]
    assert rows(tmp_path / "a.ndjson", content, "custom_fields") == [(1, B)]


def test_a_document_too_long_to_hold_is_refused_once(tmp_path, monkeypatch):
    """With what to do; a long line of NDJSON is none."""
    monkeypatch.setattr(raw_json, "LONGEST_DOCUMENT", 2_000)
    content = json.dumps([{"token": A}] * 9, indent=1)
    with pytest.raises(ConfigError, match="one long JSON document: write each record in a line"):
        rows(tmp_path / "a.json", content)


def test_a_token_in_another_column_is_never_passed_over(tmp_path):
    """Though it comes after the rows in which columns are looked for."""
    content = "receipt,note\n" + f"{A},\n" * 300 + f"{A},see {B}\n"
    with pytest.raises(ConfigError, match="line 302 has receipt tokens in receipt, note"):
        rows(tmp_path / "a.csv", content)
    assert len(rows(tmp_path / "a.csv", content, "receipt")) == 301


def test_a_cell_of_more_than_one_is_as_many_rows(tmp_path):
    """With what is kept beside each; of a frame too."""
    assert rows(tmp_path / "a.csv", f'id,receipt\n1,"{A}, {B}"\n2,{C}\n') == [
        *((2, A), (2, B), (3, C))
    ]
    with pytest.raises(ConfigError, match="has receipt tokens in receipt, column 3"):
        rows(tmp_path / "a.csv", f"id,receipt\n1,{A},{B}\n2,{C}\n")
    assert rows(tmp_path / "a.csv", f"id,receipt\n1,{A},{B}\n", "receipt") == [(2, A), (2, B)]
    frame = pd.DataFrame({"id": [1, 2], "receipt": [f"{A} {B}", C]})
    found = verify_receipts(frame, [SECRET], lake=tmp_path / "no", keep=["id"], progress=False)
    assert list(found["line_no"]) == [1, 1, 2] and list(found["id"]) == [1, 1, 2]
    assert found["id"].dtype == frame["id"].dtype


def test_two_columns_of_one_name_name_none(tmp_path):
    """In Parquet and in a frame too."""
    table = pa.Table.from_arrays([pa.array([A]), pa.array([B])], names=["receipt", "receipt"])
    pq.write_table(table, tmp_path / "a.parquet")
    frame = pd.DataFrame([[A, B]], columns=["receipt", "receipt"])
    for tokens in (str(tmp_path / "a.parquet"), frame):
        with pytest.raises(ConfigError, match="2 columns named 'receipt'"):
            verify_receipts(tokens, [SECRET], lake=tmp_path / "no", progress=False)


SEPARATED: dict[str, str] = {
    "bars": f"id|receipt\n1|{A}\n",
    "Markdown": f"| id | receipt |\n| -- | :-----: |\n| 1 | {A} |\n",
    "a database": f" id | receipt \n----+---------\n  1 | {A}\n",
    "commas, and bars within": f"id,tags,receipt\n1,a|b|c|d,{A}\n",
}


@pytest.mark.parametrize("content", SEPARATED.values(), ids=SEPARATED.keys())
def test_bars_separate_where_nothing_else_does(tmp_path, content):
    """As Markdown and databases print tables."""
    for name in ("a.csv", "a", "a.md"):
        assert [token for _, token in rows(tmp_path / name, content)] == [A]


def test_a_ticket_without_a_receipt_is_no_broken_one(tmp_path):
    """Among words; in a column of tokens each other cell is told."""
    texts = [f"I paid: {A}", "where is my order?", "", "hi", f"cut: {B[:90]}"]
    table = pd.DataFrame({"id": range(5), "text": texts})
    expected = [A, B[:90]]
    pq.write_table(pa.table({"id": range(5), "text": texts}), tmp_path / "a.parquet")
    [batch] = read_sources([str(tmp_path / "a.parquet")])
    assert (batch.lines, batch.tokens) == ([1, 5], expected)
    for name, content in {
        "a.csv": table.to_csv(index=False),
        "a.ndjson": table.to_json(orient="records", lines=True),
        "a.json": table.to_json(orient="records", indent=1),
    }.items():
        assert [token for _, token in rows(tmp_path / name, content)] == expected, name
    for name, content in {
        "a.csv": f"id,receipt\n1,{A}\n2,lost by us\n3,\n",
        "a.ndjson": f'{{"receipt":"{A}"}}\n{{"receipt":"lost by us"}}\n{{"receipt":null}}\n',
    }.items():
        assert len(rows(tmp_path / name, content)) == 3


def test_a_wrapped_column_is_whole(tmp_path):
    """A table of one column, in the lines that a mail made of it."""
    content = f"receipt\n{wrapped(A)}\n{wrapped(B)}\ngarbage\n"
    lines = len(wrapped(A).split())
    expected = [(2, A), (2 + lines, B), (2 + lines + len(wrapped(B).split()), "garbage")]
    assert rows(tmp_path / "a.csv", content) == expected


NO_TABLES: dict[str, tuple[str, str, str | None]] = {
    "an invoice, by a column": ("a.csv", "no,amount\n1,12.50\n2,13.00\n", "amount"),
    "other JSON, by a member": ("a.ndjson", '{"amount":"1.50"}\n{"amount":"2"}\n', "amount"),
    "a member that is not there": ("a.ndjson", f'{{"receipt":"{A}"}}\n', "recipt"),
    "a document": ("a.json", json.dumps({"count": 1, "rows": [{"a": 1}]}, indent=2), None),
    "a program's log": ("a.log", "started v1.18.0\nGET /v1.2/x\nserving v1.example.org\n", None),
    "sixty thousand lines": ("a.csv", "receipt\n" + "SVC-000017\n" * 60_000, None),
    "a chart": ("a.toml", '[accounts]\ncash = "Assets:Cash"\n', None),
}


@pytest.mark.parametrize(("name", "content", "column"), NO_TABLES.values(), ids=NO_TABLES.keys())
def test_what_is_no_table_of_tokens_is_refused_once(tmp_path, name, content, column):
    """And not told as so many malformed receipts."""
    with pytest.raises(ConfigError, match=rf"{name}.* holds no receipt tokens"):
        rows(tmp_path / name, content, column)


@examples
@given(st.text(), st.integers(20, 100), st.sampled_from(["", "> ", ">> ", "  ", "| "]), st.text())
def test_a_wrapped_token_is_found_between_any_words(before, width, mark, after):
    """Whatever stands around it, it is one token, unless that lengthens it."""
    text = f"{before} \n{wrapped(A, width, mark)}\n {after}"
    if "v" not in before + after and "%" not in text and "&" not in text and "<" not in text:
        assert tokens_in(text) == [A]


def test_long_cells_are_looked_through_to_their_end(tmp_path):
    """A token behind forty pages of a ticket, in Parquet too."""
    text = "words and words " * 5_000 + A
    pq.write_table(pa.table({"n": [1, 2], "text": [text, B]}), tmp_path / "a.parquet")
    [batch] = read_sources([str(tmp_path / "a.parquet")])
    assert (batch.lines, batch.tokens) == ([1, 2], [A, B])
    assert rows(tmp_path / "a.csv", f"id,text\n1,{text}\n") == [(2, A)]


def test_base64_of_a_mail_is_no_token(tmp_path):
    """Nor are other long words."""
    text = base64.encodebytes(bytes(range(256)) * 9).decode()
    assert [token for _, token in rows(tmp_path / "a.txt", f"Hi there\n{text}\n{A}\n")] == [A]
