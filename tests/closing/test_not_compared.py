"""What another release made is not compared: its name is a claim of the folder, and proves nothing.

Whoever forges a page, a workbook or a description names another release, and seals it anew.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.states.month_states import judged_months
from svc_analytics.errors import LakeError
from svc_analytics.instants import to_micros
from svc_analytics.proofs import signature
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE
from tests.support.altered import OTHER, Change, Manifest, fact, forge, text, workbook
from tests.support.closings import Closer
from tests.support.rings import sample
from tests.support.signers import make_key

LATER = datetime(2026, 12, 5, 12, tzinfo=UTC)
FORMS = {
    "statement.html": ("csv", "html"),
    "statement.xlsx": ("csv", "xlsx"),
    "journal": ("csv", "journal"),
}
page, definitions = partial(text, "statement.html"), partial(text, "definitions.csv")
columns = partial(text, "datapackage.json")


def styled(rules: str) -> Change:
    return page("</style>", rules.replace("\\", r"\\") + "</style>")


def exchanged(change: Callable[[str, str], Change], one: str, other: str) -> Change:
    """Let two names stand in each other's place."""
    steps = [change(one, "\0"), change(other, one), change("\0", other)]

    def all_of(folder: Path, manifest: Manifest) -> None:
        for step in steps:
            step(folder, manifest)

    return all_of


PAGES: dict[str, Change] = {
    "content in capitals": styled('td.n::after{CONTENT:"000,000"}'),
    "content behind a blank": styled('td.n::after{content :"9"}'),
    "content behind a comment": styled('td.n::after{content/**/:"9"}'),
    "content escaped": styled(r'td.n::before{c\6fntent:"9"}'),
    "numbers of no size": styled("td.n{font-size:0}"),
    "rows not shown": styled("#row-payment_fees,#row-refunds_paid{display:none}"),
    "rows collapsed": styled("tr:nth-child(3){visibility:collapse}"),
    "a row hidden": page('id="row-payment_fees"', 'id="row-payment_fees" hidden'),
    "a row without height": page('id="row-payment_fees"', r'\g<0> style="display:none"'),
    "prose": page("</main>", "<p>Audited by KPMG: 900,000 are owed to Mina.</p></main>"),
    "prose in a tooltip": page('title="[^"]*"', 'title="Audited."', count=1),
    "prose in a heading": page("<h2>Charts", "<h2>Charts, audited"),
    "two labels exchanged": exchanged(page, "Gross sales", "Sales after fees"),
    "two amounts exchanged": exchanged(page, ">99.0<", ">48.5<"),
    "a chart redrawn": page("<svg.*?</svg>", "<svg></svg>"),
    "a script": page("</body>", "<script></script></body>"),
}
BOOKS: dict[str, Change] = {
    "every row hidden": workbook("<row ", '<row hidden="1" ', "xl/worksheets/"),
    "rows without height": workbook("<row ", '<row ht="0" customHeight="1" ', "xl/worksheets/"),
    "a sheet hidden": workbook("<sheet ", '<sheet state="hidden" ', "xl/workbook.xml", count=1),
    "columns hidden": workbook("<col ", '<col hidden="1" ', "xl/worksheets/"),
    "an amount": workbook("<v>48.5</v>", "<v>58.5</v>"),
    "prose": workbook("What each figure means", "Audited by KPMG"),
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
    return closer.sealed(formats=FORMS.get(what.partition(":")[0], ("csv", "parquet")))


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
    assert "wrote the words of definitions.csv, datapackage.json: these were not" in str(
        found.notes
    )


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
    said = f"svc-analytics {OTHER}, another release, made statement.html; {NEXT}"
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
    closed = closer.close()
    assert closed.state == "unchanged" and not closed.needs_attention
    assert "not compared: svc-analytics 0.0.9, another release" in str(closed.note)
    [state] = [
        each
        for each in judged_months(closer.desk.lake, to_micros(LATER), lambda text: None)
        if each.label == "2026-10"
    ]
    assert (state.kind, state.reasons) == ("sealed", ())


def test_it_is_packed_if_a_key_of_ours_signed_it(old, tmp_path, monkeypatch):
    """Else one line says by which program, or whose signature it can be."""
    with pytest.raises(LakeError, match=r"pack it with svc-analytics 0\.0\.9, or .* --signers$"):
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


@pytest.mark.parametrize("facts", PROGRAMS)
@pytest.mark.parametrize(
    "change",
    [
        typed("line_no", pa.int32()),
        typed("gross", pa.decimal128(38, 10)),
        typed("reference_id", pa.large_string()),
        text("lines.csv", "usdt", "'usdt"),
    ],
    ids=["integer", "decimal", "text", "escaped"],
)
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
