"""A newer release keeps what an older one sealed: it compares what the sealed statement names.

What another release made is not compared: its name is a claim of the folder, and proves nothing.

Whoever forges a page, a workbook or a description names another release, and seals it anew.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics import LakeError, Message, Unknown, verify_statement
from svc_analytics.closing.handover.evidence import pack_folder
from svc_analytics.closing.month_states import judged_months
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification import contents
from svc_analytics.closing.verification.contents import (
    has_other_words,
    is_this_release,
    wrong_facts,
)
from svc_analytics.files import state_folder
from svc_analytics.instants import to_micros
from svc_analytics.proofs import signature
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE
from svc_analytics.render import folder as forms
from svc_analytics.statements.reading import read_period
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.warehouse.figures import definitions_table
from tests.support.altered import OTHER, Change, Manifest, fact, forge, text, workbook
from tests.support.closings import Closer, row_causes
from tests.support.fake_service import payment
from tests.support.forms import FORMS
from tests.support.rings import sample
from tests.support.signers import make_key

Tables = dict[str, pa.Table]
Edit = Callable[[Tables], Tables]


@contextmanager
def another_release(edit: Edit = dict) -> Iterator[None]:
    """Within, statements are those of another release: with other tables and definitions."""

    def make(*args: Any, **options: Any) -> Statement:
        made = prepare(*args, **options)
        return replace(made, tables=edit(dict(made.tables)))

    words = pc.replace_substring(definitions_table()["definition"], "of the period", "here")
    place = definitions_table().column_names.index("definition")
    other = definitions_table().set_column(place, "definition", words)
    with pytest.MonkeyPatch.context() as its:
        its.setattr("svc_analytics.closing.close.prepare", make)
        its.setattr(forms, "definitions_table", lambda: other)
        its.setattr("svc_analytics.statements.statement.definitions_digest", lambda: "0" * 64)
        its.setattr("svc_analytics.statements.statement.version", lambda name: "0.0.9")
        yield


def with_other_words(tables: Tables) -> Tables:
    """Findings in words, and with values in these, that no release has any longer."""
    checks = tables["checks"]
    assert checks.num_rows, "without a finding nothing is worded otherwise"
    message = '{"code": "finding.seen", "values": {}}'
    for name, word in {"detail": "seen", "message": message}.items():
        words = pa.array([word] * checks.num_rows)
        checks = checks.set_column(checks.column_names.index(name), name, words)
    return tables | {"checks": checks}


def without_a_figure(tables: Tables) -> Tables:
    figures = tables["figures"]
    return tables | {"figures": figures.filter(pc.not_equal(figures["name"], "ticket_max"))}


def without_a_column(tables: Tables) -> Tables:
    return tables | {"summary": tables["summary"].drop_columns("refunded_payments_ratio")}


def in_another_order(tables: Tables) -> Tables:
    names = tables["summary"].column_names
    return tables | {"summary": tables["summary"].select([*names[:2], *reversed(names[2:])])}


def without_a_table(tables: Tables) -> Tables:
    return {name: table for name, table in tables.items() if name != "cohorts"}


WITH_A_FINDING = """
 kind     currency  amount  fee   fee_bearer  at                of
 payment  btc       2       0.02  shared      2026-09-10T09:00
 payment  btc       1       0.01  shared      2026-10-05T08:00
 refund   btc       0.5                       2026-10-07T08:00  2
"""
OLDER: dict[str, Edit] = {
    "one figure more": without_a_figure,
    "one column more": without_a_column,
    "another order": in_another_order,
}


@pytest.mark.parametrize("what", sample(OLDER, 3))
def test_a_newer_release_keeps_a_sealed_month(closer, what):
    """It holds in every form, is left unchanged, and a line says whose words it is in."""
    closer.serve(WITH_A_FINDING)
    with another_release(OLDER[what]):
        folder = closer.close(formats=FORMS).folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows, found.holds) == ((), (), 0, True)
    assert "svc-analytics 0.0.9 sealed it" in found.notes[-1]
    assert closer.close().state == "unchanged"


def test_the_texts_of_another_release_are_not_compared(closer):
    """Whoever forges a folder can name one, and word a finding as he likes."""
    closer.serve(WITH_A_FINDING)
    with another_release(with_other_words):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows, found.holds) == ((), (), 0, False)
    assert found.not_compared == ("svc-analytics 0.0.9, another build, worded the texts of checks",)
    assert closer.close().state == "unchanged"


LONG_AGO = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2025-09-10T09:00
 payment  btc       2       0.02  2026-09-10T09:00
 payment  usdt      100     1     2026-10-05T08:00
"""


def of_one_year(tables: Tables) -> Tables:
    trend = tables["trend"]
    return tables | {"trend": trend.filter(pc.greater(trend["month"], "2025-10"))}


@pytest.mark.thorough
def test_a_seal_with_twelve_months_holds_beside_those_of_the_year_before(closer):
    """An older release stated twelve months; a note says what it does not state."""
    closer.serve(LONG_AGO)
    with another_release(of_one_year):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows) == ((), (), 0)
    more = "it does not state what this release does: the months of trend before the last twelve"
    assert more in found.notes and closer.close().state == "unchanged"


@pytest.mark.thorough
def test_a_seal_of_this_release_without_the_year_before_does_not_hold(closer, monkeypatch):
    """Whoever takes the year before out of a trend excuses it by no other release."""
    closer.serve(LONG_AGO)
    with monkeypatch.context() as its:
        its.setattr("svc_analytics.statements.statement.read_period", read_period)
        its.setattr("svc_analytics.statements.trend._STATED", 12)
        folder = closer.close().folder
    unproven = "it lacks the months of trend before the last twelve, which the lake gives now"
    assert verify_statement(folder).unproven == (unproven,)


@pytest.mark.thorough
def test_a_table_more_breaks_nothing(closer, monkeypatch):
    """The older statement does not have it."""
    always = tuple(name for name in contents._TABLES_OF_ALL if name != "cohorts")
    monkeypatch.setattr(contents, "_TABLES_OF_ALL", always)
    with another_release(without_a_table):
        folder = closer.close().folder
    assert verify_statement(folder).holds and closer.close().state == "unchanged"


def one_figure_of_its_own(tables: Tables) -> Tables:
    row = tables["figures"].slice(0, 1)
    name = row.column_names.index("name")
    row = row.set_column(name, "name", pa.array(["payout_max"]))
    return tables | {"figures": pa.concat_tables([tables["figures"], row])}


def one_column_of_its_own(tables: Tables) -> Tables:
    return tables | {
        "summary": tables["summary"].append_column("tips", tables["summary"]["gross_sales"])
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("edit", "name"),
    [(one_figure_of_its_own, "figures.payout_max"), (one_column_of_its_own, "summary.tips")],
    ids=["figure", "column"],
)
def test_what_a_newer_release_does_not_state_is_not_proven(closer, edit, name):
    """It cannot be made again; nothing is called altered, and no version replaces the month."""
    with another_release(edit):
        folder = closer.close().folder
    found = verify_statement(folder)
    text = f"{name} cannot be made again: this release does not state it"
    assert (found.broken, found.not_compared, found.table.num_rows) == ((), (text,), 0)
    assert not (found.unproven or found.holds)
    assert closer.close().state == "unchanged"


def twice_the_fees(tables: Tables) -> Tables:
    summary = tables["summary"]
    place = summary.column_names.index("total_fees_borne")
    field = summary.schema.field(place)
    twice = [2 * each for each in summary[field.name].to_pylist()]
    return tables | {"summary": summary.set_column(place, field, pa.array(twice, field.type))}


@pytest.mark.thorough
def test_a_figure_that_means_something_else_now_shows(closer):
    """Its number differs for the month; the release that defined it so is named."""
    with another_release(twice_the_fees):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert {row["name"] for row in found.table.to_pylist()} == {"total_fees_borne"}
    assert "svc-analytics 0.0.9 sealed it" in found.notes[-1] and not found.holds


@pytest.mark.thorough
def test_a_late_record_still_shows(closer):
    """The restatement has it and what it moves, and nothing of what the newer release adds."""
    with another_release(without_a_figure):
        folder = closer.close().folder
    late = payment(99, "2026-10-20T10:00:00Z", "7", "0.5")
    closer.desk.service.payments.append(late)
    again = closer.close()
    assert again.restatement is not None and again.state == "restated"
    rows = again.restatement.to_dict("records")
    assert row_causes(rows) == [(late["id"], "added", "late")]
    assert "ticket_max" not in {row["name"] for row in rows}
    assert verify_statement(again.folder).holds and not verify_statement(folder).holds


def test_a_statement_is_this_release_s_while_not_a_byte_of_the_program_differs(closer):
    """The version alone does not say so: a page changes between two releases."""
    manifest = read_manifest(closer.sealed(formats=("csv",)))
    older = {name: fact for name, fact in manifest.items() if name != "program_digest"}
    assert is_this_release(manifest)
    assert not is_this_release(older)
    assert not is_this_release(manifest | {"program_digest": "0" * 64})


# ---------- facts of a manifest that another release wrote


def test_a_seal_from_before_messages_holds_and_a_forged_message_does_not():
    """What is unknown has the code beside its English only since codes are kept."""
    unknown = Unknown(("gross_sales",), ("btc",), Message("unknown.too_large")).to_json()
    other = unknown | {"message": Message("unknown.or_undefined").to_json()}
    older = {name: value for name, value in unknown.items() if name != "message"}
    for kept, wrong, has_words in ((unknown, 0, False), (older, 1, False), (other, 1, True)):
        manifest, expected = {"unknown": [kept]}, {"unknown": [unknown]}
        assert len(wrong_facts(manifest, expected)) == wrong
        assert wrong_facts(manifest, expected, is_own=False) == []
        assert has_other_words(manifest, expected) is has_words


def test_another_release_may_give_other_reasons_and_no_other_unknowns():
    """Its words of why a figure is unknown are not ours; which figures these are is a fact."""
    unknown = Unknown(("gross_sales",), ("btc",), Message("unknown.too_large")).to_json()
    in_other_words = unknown | {"because": "who knows", "message": {"code": "who.knows"}}
    of_another = in_other_words | {"figures": ["net_sales"]}
    for sealed, wrong in ((in_other_words, 0), (of_another, 1)):
        manifest, expected = {"unknown": [sealed]}, {"unknown": [unknown]}
        assert len(wrong_facts(manifest, expected, is_own=False)) == wrong
        assert has_other_words(manifest, expected)


def test_an_entry_that_nobody_expects_is_no_fact():
    """Also one that is null, which is no unknown figure and no reason."""
    for forged in ([None], [None, None], [{}]):
        assert len(wrong_facts({"unknown": forged}, {"unknown": []})) == 1


LATER = datetime(2026, 12, 5, 12, tzinfo=UTC)
FORMS_OF = {
    "statement.html": ("csv", "html"),
    "statement.xlsx": ("csv", "xlsx"),
    "journal": ("csv", "journal"),
}
page, definitions = partial(text, "statement.html"), partial(text, "definitions.csv")
columns = partial(text, "datapackage.json")


def exchanged(change: Callable[[str, str], Change], one: str, other: str) -> Change:
    """Let two names stand in each other's place."""
    steps = [change(one, "\0"), change(other, one), change("\0", other)]

    def all_of(folder: Path, manifest: Manifest) -> None:
        for step in steps:
            step(folder, manifest)

    return all_of


# A page or a workbook is proven by being made again: one other byte is as good as any.
PAGES: dict[str, Change] = {
    "rows not shown": page("</style>", "#row-payment_fees{display:none}</style>"),
    "prose in a heading": page("<h2>Charts", "<h2>Charts, audited"),
    "two labels exchanged": exchanged(page, "Gross sales", "Sales after fees"),
    "two amounts exchanged": exchanged(page, ">99.0<", ">48.5<"),
    "a chart redrawn": page("<svg.*?</svg>", "<svg></svg>"),
}
BOOKS: dict[str, Change] = {
    "a sheet hidden": workbook("<sheet ", '<sheet state="hidden" ', "xl/workbook.xml", count=1),
    "an amount": workbook("<v>48.5</v>", "<v>58.5</v>"),
}
NAMES: dict[str, Change] = {
    "two labels exchanged": exchanged(definitions, "Gross sales,", "Sales after fees,"),
    "a label of other letters": definitions("Sales after fees", "Sales after f\u0435es"),
    "a label of our own": definitions(",Gross sales,", ",Gross sales in all,"),
    "a figure twice": definitions("(gross_sales,)Gross sales(.*?\n)", r"\g<0>\1Refunds\2"),
    "another unit": definitions(",Gross sales,Sales,coin,", ",Gross sales,Sales,USD,"),
    "another sign": definitions("into the wallet", "out of the wallet", count=1),
    "a column of our own": definitions("^(.*?)\n(.*?)\n", "\\1,meaning\n\\2,audited\n"),
    "no signs": definitions("(name,label,group,unit,)sign", r"\1audited"),
    "two titles exchanged": exchanged(columns, '"Gross sales"', '"Sales after fees"'),
    "another unit of a column": columns('"unit": "coin"', '"unit": "USD"', count=1),
    "another type": columns('"type": "string"', '"type": "number"', count=1),
    "two columns exchanged": exchanged(columns, '"gross_sales"', '"net_sales"'),
    "how numbers are read": columns('"type": "integer"', '"type": "integer", "groupChar": "1"'),
    "another title": columns("Statement 2026-10", "Statement 2026-11"),
}
FORGERIES = {
    **{f"statement.html: {what}": change for what, change in PAGES.items()},
    **{f"statement.xlsx: {what}": change for what, change in BOOKS.items()},
    **{f"descriptions: {what}": change for what, change in NAMES.items()},
    "journal: prose": text("journal.beancount", "^", "; Audited by KPMG: 900,000 to Mina\n"),
    "journal: an account": text("journal.csv", "Assets:Wallet", "Income:Sales"),
}


def sealed(closer: Closer, what: str) -> Path:
    return closer.sealed(formats=FORMS_OF.get(what.partition(":")[0], ("csv", "parquet")))


def named(change: Change, facts: Manifest) -> Change:
    """Forge a folder that says another program made it."""

    def both(folder: Path, manifest: Manifest) -> None:
        fact(**facts)(folder, manifest)
        change(folder, manifest)

    return both


PROGRAMS = {
    "a version": {"tool_version": OTHER},
    "a program": {"program_digest": "0" * 64},
    "a glossary": {"definitions_digest": "0" * 64},
    "this one": {},
}


@pytest.mark.parametrize(("what", "program"), sample(product(FORGERIES, PROGRAMS), 40))
def test_nothing_is_proven_by_the_name_of_another_program(closer, what, program):
    """Whichever part of its name is another: the folder does not hold, and is not said to."""
    found = forge(sealed(closer, what), named(FORGERIES[what], PROGRAMS[program]))
    assert found.broken or found.unproven or found.not_compared
    assert not found.holds and found.statuses[-1].outcome != "held"


def test_the_words_of_a_description_are_a_note(closer):
    """What a figure means is a sentence: another release has its own, and earlier labels."""

    def change(folder: Path, manifest: Manifest) -> None:
        definitions("How many completed payments", "The count of payments that")(folder, manifest)
        definitions("Sales after fees,", "Net sales,")(folder, manifest)
        columns("Coin slug", "The coin")(folder, manifest)
        columns('"Sales after fees"', '"Net sales"')(folder, manifest)

    found = forge(closer.sealed(), change, OTHER)
    assert found.holds and found.not_compared == ()
    said = "wrote the words of definitions.csv, datapackage.json: these were not"
    assert said in str(found.notes)


# ---------- an honest month of another release


@pytest.fixture
def old(closer) -> Path:
    """October with a page, as another release sealed it: a copy in the lake."""
    folder = closer.sealed(formats=("csv", "html"))
    forge(folder, named(PAGES["prose in a heading"], {"tool_version": OTHER}))
    return folder


def signed(folder: Path, place: Path, name: str = "own") -> Path:
    """Sign a folder as `ssh-keygen -Y sign` does; return the file of this signer."""
    key, signers = make_key(place, name), place / f"{name}-signers"
    (folder / SIGNATURE).write_bytes(signature.sign((folder / FILE).read_bytes(), key))
    signers.write_text(f"mina@shop.example {key.with_suffix('.pub').read_text()}")
    return signers


NEXT = (
    "svc-analytics close --month 2026-10 --format html makes today's of the sealed, proven tables"
)


def test_its_page_is_not_compared_and_the_next_step_is_named(closer, old, run):
    """Today's page is made of the sealed tables beside it, and proven as any form is."""
    lake = closer.desk.lake
    found = svc.verify_statement(old, lake)
    said = f"svc-analytics {OTHER}, another build, made statement.html; {NEXT}"
    assert found.not_compared == (said,) and not (found.broken or found.unproven or found.holds)
    told = run("statement-verify", str(old))
    assert told.code == 3 and f"  not compared: {said}\n" in told.out
    svc.close(lake, "2026-10", formats=("html",))
    beside = old.with_name("2026-10-forms") / "statement.html"
    assert "Charts, audited" not in beside.read_text() and beside.is_file()
    assert svc.verify_statement(old, lake).unproven == ()


def test_a_trusted_signature_makes_it_a_note_and_proves_nothing(closer, old, run, tmp_path):
    """Whose it is the reader says; a signature of a stranger changes nothing."""
    signers = signed(old, tmp_path)
    assert not svc.verify_statement(old).holds
    found = svc.verify_statement(old, signers=signers)
    assert found.holds and found.statuses[-1].outcome == "not compared"
    assert "not compared; signed by mina@shop.example, key SHA256:" in str(found.notes)
    assert run("statement-verify", str(old), "--signers", str(signers)).code == 0
    signed(old, tmp_path, "stranger")
    assert not svc.verify_statement(old, signers=signers).holds


def test_nobody_is_alarmed_for_it(closer, old):
    """A close leaves the month as it is, with a note; it is sealed wherever people look."""
    shutil.rmtree(state_folder(), ignore_errors=True)  # this machine had seen another seal
    closed = closer.close()
    assert closed.state == "unchanged" and not closed.needs_attention
    assert "not compared: svc-analytics 0.0.9, another build" in str(closed.note)
    states = judged_months(closer.desk.lake, to_micros(LATER), lambda text: None)
    [state] = [each for each in states if each.label == "2026-10"]
    assert (state.kind, state.reasons) == ("sealed", ())


def test_it_is_packed_if_a_key_of_ours_signed_it(old, tmp_path, monkeypatch):
    """Else one line says by which program, or whose signature it can be."""
    with pytest.raises(
        LakeError, match=r"pack it with the svc-analytics 0\.0\.9 that sealed it, or .* --signers$"
    ):
        pack_folder(old, tmp_path / "a.zip")
    signers = signed(old, tmp_path)
    assert pack_folder(old, tmp_path / "a.zip", signers=signers).not_compared
    with pytest.raises(LakeError):
        pack_folder(old, tmp_path / "b.zip")
    monkeypatch.setenv("SVC_SIGNING_KEY", str(tmp_path / "own"))
    packed = pack_folder(old, tmp_path / "b.zip").file
    with ZipFile(packed) as archive:
        assert "2026-10-forms/statement.html" in archive.namelist()  # today's
    assert svc.verify_statement(packed, signers=signers).statuses[-1].outcome == "not compared"


# ---------- a month of this release whose file is not proven


def replaced(folder: Path, manifest: Manifest) -> None:
    (folder / "statement.xlsx").write_bytes(b"another workbook")


def of_another_merchant(folder: Path, manifest: Manifest) -> None:
    manifest["merchant"]["display_name"] = "Bazaar"


OPEN: dict[str, tuple[str, Change]] = {
    "statement.xlsx": ("statement.xlsx was written by other libraries", replaced),
    "statement.html": ("statement.html was written by other", PAGES["a chart redrawn"]),
    "manifest.json": ("merchant.display_name is", of_another_merchant),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_month_that_is_not_proven_is_not_called_unchanged(closer, tmp_path, name):
    """The next close names the file and asks a person to look; nobody packs it."""
    said, change = OPEN[name]
    folder = sealed(closer, name)
    forge(folder, change)
    closed = closer.close_all_due()[-1]
    assert (closed.label, closed.state) == ("2026-10", "unproven") and closed.needs_attention
    first, *rest = closed.describe()
    assert "not all of it is proven" in first and f"  but {said}" in "\n".join(rest)
    with pytest.raises(LakeError, match=f"is not packed: {said}"):
        pack_folder(folder, tmp_path / "a.zip", signers=signed(folder, tmp_path))


# ---------- other bytes, and what was never sealed


def rewritten(name: str, **options: object) -> Change:
    """Write a Parquet file as another version of the library does."""

    def change(folder: Path, manifest: Manifest) -> None:
        pq.write_table(pq.read_table(folder / name), folder / name, **options)

    return change


OTHER_BYTES: dict[str, Change] = {
    "compression": rewritten("lines.parquet", compression="snappy"),
    "no statistics": rewritten("lines.parquet", write_statistics=False),
    "row groups": rewritten("lines.parquet", row_group_size=2),
    "no dictionary": rewritten("lines.parquet", use_dictionary=False),
    "another writer": lambda folder, manifest: (
        (folder / "lines.parquet").write_bytes(
            (folder / "lines.parquet").read_bytes().replace(b"parquet-cpp", b"parquet-abc")
        )
        and None
    ),
    "quotes": text("daily.csv", "^day", '"day"'),
    "ends of lines": text("daily.csv", "\n", "\r\n"),
}


@pytest.mark.parametrize(("what", "facts"), sample(product(OTHER_BYTES, PROGRAMS), 5))
def test_the_same_table_in_other_bytes_is_a_note(closer, what, facts):
    """Another version of a library wrote it: its columns, their types and each value are one."""
    found = forge(closer.sealed(), named(OTHER_BYTES[what], PROGRAMS[facts]))
    assert found.holds and found.statuses[-1].outcome == "held"
    assert any(each.startswith("other libraries wrote ") for each in found.notes)


def typed(name: str, kind: pa.DataType) -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        table = pq.read_table(folder / "lines.parquet")
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(kind))
        pq.write_table(table, folder / "lines.parquet")

    return change


OTHER_CELLS = {
    "integer": typed("line_no", pa.int32()),
    "decimal": typed("gross", pa.decimal128(38, 10)),
    "text": typed("reference_id", pa.large_string()),
    "escaped": text("lines.csv", "usdt", "'usdt"),
}


@pytest.mark.parametrize("facts", PROGRAMS)
@pytest.mark.parametrize("change", OTHER_CELLS.values(), ids=OTHER_CELLS.keys())
def test_a_table_of_other_types_or_cells_is_another_table(closer, change, facts):
    """Whoever reads it reads something else."""
    found = forge(closer.sealed(), named(change, PROGRAMS[facts]))
    assert any("lines." in each and "is not what" in each for each in found.broken)


def test_what_was_never_sealed_is_not_checked_and_not_accused(closer, run):
    """Nothing failed; an altered file of it is named all the same."""
    closer.desk.extract()
    folder = svc.statement(closer.desk.lake, "2026-10").save(closer.desk.lake.path / "own", ["csv"])
    found = svc.verify_statement(folder)
    assert {each.outcome for each in found.statuses} == {"not checked"} and not found.broken
    assert found.unproven[0].startswith("never sealed: svc-analytics close")
    told = run("statement-verify", str(folder))
    assert told.code == 3 and "was never sealed" in told.out and "FAILED" not in told.out
    (folder / "summary.csv").write_text("")
    assert svc.verify_statement(folder).broken == ("summary.csv was altered",)
