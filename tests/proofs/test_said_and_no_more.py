"""verify.py says what it did, and nothing more: of what the owner of the key forged, too.

Nothing here is refused by a seal or by a signature: the forger has the key, and writes both anew.
A forgery is refused for what it says, or the sentence that would accept it names what it did not
check.
"""

import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics.closing.seals import foreign_files, read_manifest
from svc_analytics.proofs import verify
from svc_analytics.proofs.statuses import Trust
from tests.support.packages import Strange

Rows = list[list[str]]
Change = Callable[[Rows], object]


@pytest.fixture
def strange(original, tmp_path) -> Strange:
    return original.copied(tmp_path)


def changed(folder: Path, name: str, change: Change) -> None:
    """Change the cells of a table; its first row has the headings."""
    path = folder / name
    rows = [*csv.reader(io.StringIO(path.read_text("utf-8")))]
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def added_up(folder: Path) -> tuple[str, str]:
    """What is said of the lines of a folder, whose tree is of as many lines and these headings."""
    manifest, text = read_manifest(folder), (folder / "lines.csv").read_text("utf-8")
    manifest["tree"]["size"] = len([*csv.reader(io.StringIO(text))]) - 1
    manifest["tree"]["header"] = hashlib.sha256(text.split("\n")[0].encode()).hexdigest()
    outcome, said, _ = verify.outcome(verify.check_lines, folder, manifest)
    return outcome, said


def cell(heading: str, value: str, row: int = 1) -> Change:
    return lambda rows: rows[row].__setitem__(rows[0].index(heading), value)


def both(*changes: Change) -> Change:
    return lambda rows: [change(rows) for change in changes]


def test_who_has_the_key_can_sign_what_is_not_true(strange):
    """So what is refused below is refused for what it says; verify.py names what no seal covers."""
    changed(strange.folder, "lines.csv", cell("comment", "a note"))
    strange.signed_again()
    options = verify.arguments([str(strange.folder), "--signers", str(strange.signers)])
    lines = {name: (status, text) for name, status, text, _ in verify.check_all(options)}
    assert {status for status, _ in lines.values()} == {"held", "not checked"}
    assert lines["lines"][1].startswith("5 add up to the summary of 1 coin; not checked (")
    unsealed = "EVIDENCE.txt, README.txt, SHA256SUMS, verify.py"
    assert lines[unsealed] == ("not checked", "no seal covers them")
    root = read_manifest(strange.folder)["tree"]["root"]
    secret = "not computed again here (it needs the lake's secret)"
    assert lines["checkpoint"][1] == f"5 lines; root {root} {secret}"


# ---------- figures of the summary

# Those that are no sum of a column of lines: ratios, rates, and what rests on other months.
OTHERS = {
    *("payers_count", "fee_leakage", "effective_fee_rate", "refund_ratio_period"),
    *("refund_ratio_cohort", "refunded_payments_ratio", "open_refundable", "usd_net_sales"),
    *("usd_fees", "implied_rate", "implied_rate_at", "usd_exposure", "attested_ratio"),
}


@pytest.mark.parametrize("value", ["77", "-1", ""])
def test_each_figure_is_added_up_again_or_named_as_not_checked(strange, value):
    """All 38 of them: one that was raised, lowered or left out is never among what held."""
    before = (strange.folder / "summary.csv").read_text()
    names = before.split("\n")[0].split(",")[2:]
    row = before.split("\n")[1].split(",")[2:]
    assert len(names) == 38
    for name, was in zip(names, row, strict=True):
        (strange.folder / "summary.csv").write_text(before)
        changed(strange.folder, "summary.csv", cell(name, value))
        outcome, text = added_up(strange.folder)
        if name in OTHERS or value == was:
            assert outcome == "held" and name in text.partition(": ")[2].split(", "), name
        else:
            assert outcome == "FAILED" and name.replace("opening", "closing") in text, name


def test_a_figure_may_be_left_open_where_the_manifest_says_why(strange):
    """It is named then; another figure, or another coin, is not excused by it."""
    changed(strange.folder, "summary.csv", cell("gross_sales", ""))
    manifest = read_manifest(strange.folder)
    for figures, coins, outcome in (
        (["gross_sales"], ["btc"], "held"),
        (["net_sales"], ["btc"], "FAILED"),
        (["gross_sales"], ["eth"], "FAILED"),
    ):
        manifest["unknown"] = [{"figures": figures, "coins": coins, "because": "a record"}]
        status, text, _ = verify.outcome(verify.check_lines, strange.folder, manifest)
        assert status == outcome and "gross_sales" in text


# ---------- numbers that a reader sees, and a program does not, or otherwise

ODD_NUMBERS = [
    *("Infinity", "-Infinity", "NaN", "sNaN1", "6E0", "0.6e1", "600E-2", "1E+120", "+6", "6_0"),
    *(" 6", "6 ", "\t6", "6\n", "\uff16", "٦", "۶", "६", "06", "6.", ".6", "0x6", "6,0", "--6"),
    *("6\u200b", "\ufeff6", "6\0", "1" * 61, "6." + "0" * 19, "½", "six", "'6"),
]


@pytest.mark.parametrize("number", ODD_NUMBERS, ids=ascii)
def test_a_number_is_a_plain_decimal_or_refused(strange, number):
    """In the summary, in a figure that is not added up, and in each column that is."""
    before = {name: (strange.folder / name).read_text() for name in ("summary.csv", "lines.csv")}
    cells = {"summary.csv": ("gross_sales", "usd_exposure", "opening_position")}
    cells["lines.csv"] = ("gross", "charged", "fee", "net", "usd_value")
    for name, headings in cells.items():
        for heading in headings:
            changed(strange.folder, name, cell(heading, number))
            outcome, text = added_up(strange.folder)
            assert outcome == "FAILED" and "is no plain decimal" in text, (heading, text)
            (strange.folder / name).write_text(before[name])


# ---------- tables that two readers see differently


def other_coin(**cells: str) -> Change:
    """A coin of which no line is, in a row of its own."""

    def change(rows: Rows) -> None:
        zero = {name: "0" if value else "" for name, value in zip(rows[0], rows[1], strict=True)}
        facts = {**zero, "period": "2026-10", "currency": "eth", **cells}
        rows.append([facts[name] for name in rows[0]])

    return change


def line_twice(**cells: str) -> Change:
    """The payout again, at the end; what it takes out of the wallet is in the summary then."""

    def change(rows: Rows) -> None:
        facts = dict(zip(rows[0], rows[4], strict=True)) | {"line_no": "6", **cells}
        rows.append([facts[name] for name in rows[0]])

    return change


PAID_OUT_TWICE = {"payouts_count": "2", "payouts_sent": "4", "payout_fees": "0.04"}
PAID_OUT_TWICE |= {"payouts_debited": "4.04", "total_fees_borne": "0.1", "rail_movement": "1.4"}
PAID_OUT_TWICE |= {"closing_position": "2.39"}
TWICE = both(*(cell(name, value) for name, value in PAID_OUT_TWICE.items()))


def column(place: int, heading: str, value: str) -> Change:
    """A column more, with the same value in each row."""
    return lambda rows: [row.insert(place, value if at else heading) for at, row in enumerate(rows)]


def doubled(rows: Rows) -> None:
    rows.insert(1, [*rows[1]])


IN_SUMMARY: dict[str, Change] = {
    "a coin twice": doubled,
    "a coin twice, the first with other figures": both(doubled, cell("gross_sales", "600")),
    "a coin of no line, that has sold": other_coin(gross_sales="5", net_sales="5"),
    "a coin of no line, that has an end and no beginning": other_coin(
        opening_position="", closing_position="5"
    ),
    "a coin of no line, that has more at the end": other_coin(
        opening_position="1", closing_position="5"
    ),
    "a coin without any figure": lambda rows: rows.append(["2026-10", "eth", *[""] * 38]),
    "no figure at all": lambda rows: rows[1].__setitem__(slice(2, None), [""] * 38),
    "a row of blanks": lambda rows: rows.append([""] * 40),
    "an empty row": lambda rows: rows.insert(1, []),
    "a row without its last cell": lambda rows: rows[1].pop(),
    "a row with a cell more": lambda rows: rows[1].append("600"),
    "a heading twice": column(2, "gross_sales", "600"),
    "a heading that looks like another": column(2, "gross_sales\u200b", "600"),
    "a heading with a blank": cell("gross_sales", "gross_sales ", row=0),
}
IN_LINES: dict[str, Change] = {
    "a heading of lines twice": column(99, "gross", "9"),
    "a line twice": line_twice(),
    "a line twice, under another entry": line_twice(entry_id="payout:2"),
    "a line that has the place of another": cell("line_no", "1", row=2),
    "a line of no kind": cell("kind", "refund ", row=3),
    "a line of another kind than its entry": cell("kind", "payout", row=3),
    "a line of a coin that the summary lacks": cell("currency", "eth", row=2),
    "a line without an amount": cell("net", "", row=2),
    "an empty line": lambda rows: rows.append([]),
    "a line without its last cell": lambda rows: rows[2].pop(),
    "a refund of another month's payment": cell(
        "parent_paid_at", "2026-09-30T23:59:59.999999Z", row=3
    ),
    "a refund of a payment that is not known": cell("parent_paid_at", "", row=3),
    "a fee that another bears": cell("fee_bearer", "customer", row=2),
    "a fee whose bearer is spelt otherwise": cell("fee_bearer", "merchant ", row=2),
    "two lines that outweigh each other": both(
        cell("net", "1" + "0" * 59), cell("net", "-1" + "0" * 59, row=2)
    ),
}


@pytest.mark.parametrize("what", [*IN_SUMMARY, *IN_LINES])
def test_a_table_that_another_reader_sees_otherwise_is_refused(strange, what):
    """The tree is of its lines and headings, so nothing but the tables can tell."""
    assert added_up(strange.folder)[0] == "held"
    if what in IN_SUMMARY:
        changed(strange.folder, "summary.csv", IN_SUMMARY[what])
    else:
        changed(strange.folder, "lines.csv", IN_LINES[what])
    if what.startswith("a line twice"):
        changed(strange.folder, "summary.csv", TWICE)
    assert added_up(strange.folder)[0] == "FAILED"


def test_an_empty_coin_that_brings_a_position_along_is_no_forgery(strange):
    """No line moved it: what it began with, it ends with."""
    held = other_coin(opening_position="5", closing_position="5")
    changed(strange.folder, "summary.csv", held)
    outcome, text = added_up(strange.folder)
    assert outcome == "held" and text.startswith("5 add up to the summary of 2 coins; ")


def test_headings_of_many_lines_take_no_more_time_than_of_one(strange):
    """A reader of 80,000 newlines in quotes is done within a second."""
    path = strange.folder / "lines.csv"
    before = path.read_text("utf-8")
    heading = '"metadata.' + "\n" * 80_000 + '"'
    path.write_text(before.replace("metadata.cart", heading, 1), "utf-8", newline="\n")
    manifest = read_manifest(strange.folder)
    first = before.split("\n")[0].replace("metadata.cart", heading)
    manifest["tree"]["header"] = hashlib.sha256(first.encode()).hexdigest()
    code = (
        "import sys, time, json; sys.path.insert(0, sys.argv[1]); import verify;"
        " from pathlib import Path; at = time.process_time();"
        " print(verify.check_lines(Path(sys.argv[2]), json.loads(sys.argv[3])));"
        " print(time.process_time() - at)"
    )
    words = [sys.executable, "-c", code, str(Path(verify.__file__).parent), str(strange.folder)]
    done = subprocess.run([*words, json.dumps(manifest)], capture_output=True, text=True)
    said, seconds = done.stdout.splitlines()
    assert said.startswith("5 add up") and float(seconds) < 1


# ---------- names that lie in a sealed folder and are not of it

STRAYS = [
    *("~$CORRECTED.html", "~$Corrected statement.html", ".~lock.CORRECTED.html#", "~$"),
    *(".DS_Store.html", ".DS_Store2", ".checkpoint.html", ".checkpoint.sig", ".note"),
    *("Thumbs.db.html", "thumbs.db", "desktop.ini.txt", "Summary.csv", "summary.csv "),
    *("summary.csv.", "EVIDENCE.pdf", "evidence.txt", "README.TXT"),
    *("su\u0308mmary.csv", "._summary.csv"),
]
LEFT = [
    *(".DS_Store", "Thumbs.db", "desktop.ini", "~$summary.csv", ".~lock.summary.csv#"),
    *("~$mmary.csv", ".checkpoint.sig.writing", ".checkpoint.tsr.writing"),
]


def outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    found = verify.check_all(verify.arguments([str(folder)]))
    return {name: (status, text) for name, status, text, _ in found}


FOLDERS = ["notes", "__pycache__", ".DS_Store", "~$summary.csv", "audit.csv"]


@pytest.mark.parametrize(
    ("name", "is_folder"),
    [*((name, False) for name in STRAYS), *((name, True) for name in FOLDERS)],
)
def test_what_is_not_of_it_is_named(strange, name, is_folder):
    """However its name begins or ends, by both programs; a program left no folder, or unknown file.

    A folder is neither missing nor a link.
    """
    if is_folder:
        (strange.folder / name).mkdir()
    else:
        strange.write(name, "audited")
        strange.sums()
    said = ("FAILED", f"{name} is not a file of this statement")
    assert outcomes(strange.folder)["files"] == said
    assert foreign_files(strange.folder, read_manifest(strange.folder)) == [name]


def test_what_programs_leave_is_named_as_not_checked(strange):
    """As what a package adds is; it changes no exit code, and no sum is missed."""
    for name in LEFT:
        strange.write(name, "audited")
    shutil.copytree(strange.folder, strange.folder.with_name("2026-10-forms"))
    said = outcomes(strange.folder)
    assert said["files"][0] == "held"
    [names] = [name for name in said if "EVIDENCE.txt" in name]
    assert {*names.split(", ")} == {
        *(*LEFT, "EVIDENCE.txt", "README.txt", "SHA256SUMS", "verify.py", "2026-10-forms")
    }
    assert said[names] == ("not checked", "no seal covers them")


def test_many_strays_are_one_short_line(strange):
    """The first twenty are named, and the others counted."""
    for number in range(3000):
        (strange.folder / f"stray-{number:04}").touch()
    _, text = outcomes(strange.folder)["files"]
    assert text.startswith("stray-0000 is not a file of this statement, ")
    assert text.endswith(" and 2980 more")


def test_a_manifest_names_no_file_that_is_another_s_to_some_systems(strange):
    """Its owner sealed LINES.CSV beside lines.csv: whoever unpacks it has one of them."""
    shutil.copy(strange.folder / "lines.csv", strange.folder / "LINES.CSV")
    manifest = read_manifest(strange.folder)
    manifest["files"]["LINES.CSV"] = manifest["files"]["lines.csv"]
    outcome, text, _ = verify.outcome(verify.check_files, strange.folder, manifest)
    assert (outcome, text) == ("FAILED", "a name is none of a statement's")


# ---------- a chain that is gone, and a manifest that is none


def test_who_trusts_a_key_is_told_that_there_is_no_chain(strange):
    """A package has one, so it was taken away: 3 for a reader with keys, by both programs."""
    for name in ("chain.json", "chain.json.sig"):
        (strange.folder / name).unlink()
    strange.sums()
    words = [str(strange.folder), "--signers", str(strange.signers)]
    chain = [each for each in verify.check_all(verify.arguments(words)) if each[0] == "chain"]
    assert chain == [("chain", "not checked", "there is no chain.json", 3)]
    sealed, *_ = Trust(strange.signers.read_bytes()).statuses_of(strange.folder)
    assert sealed.outcome == "held"
    assert sealed.text.endswith("; not checked: chain: there is no chain.json")


def test_behind_a_manifest_that_lacks_something_it_is_said_in_words(strange):
    """No name of an error of Python stands in a line."""
    strange.write("manifest.json", "{}")
    for name, (status, text) in outcomes(strange.folder).items():
        assert "Error" not in text, name
        assert status == "FAILED" if name in ("files", "lines", "chain") else True
    assert outcomes(strange.folder)["files"][1] == "it lacks 'files'"


# ---------- wherever it runs

SOURCE = str(Path(verify.__file__))


def run(*words: str, **settings: str) -> tuple[int, bytes, bytes]:
    env = {"PATH": os.environ["PATH"], **settings}
    done = subprocess.run([sys.executable, *words], capture_output=True, env=env)
    return done.returncode, done.stdout, done.stderr


ENCODINGS = [
    *({"PYTHONIOENCODING": name} for name in ("ascii", "cp1252", "cp437", "latin-1", "utf-16")),
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("settings", ENCODINGS, ids=str)
def test_a_true_proof_holds_whatever_the_encoding_of_the_output_is(original, tmp_path, settings):
    """A line with Persian in it is shown in escapes, not in a traceback."""
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(original.proof, ensure_ascii=False), "utf-8")
    words = ("--proof", str(path), "--signers", str(original.signers))
    code, said, error = run(SOURCE, *words, **settings)
    assert (code, error) == (0, b"")
    text = said.decode(settings.get("PYTHONIOENCODING", "ascii"))
    assert text.count("held  ") == 2 and "gross 2, charged 2, fee -0.02, net 1.98" in text


def test_whoever_reads_no_further_gets_no_traceback(original):
    """The pipe is closed, or the disk is full; what was found is still what it ends with."""
    words = [sys.executable, SOURCE, str(original.folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 3
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (3, b"")
        proof = original.place / "proof.json"
        words = [sys.executable, SOURCE, "--proof", str(proof), "--signers", str(original.signers)]
        with Path("/dev/full").open("wb") as full:
            assert subprocess.run(words, stdout=full).returncode == 4


def test_an_older_python_is_told_what_it_needs(original):
    """With 4, in one line: what follows could not run there, and is never reached."""
    older = "import sys; sys.version_info = (3, 8, 18); sys.argv = ['verify.py']; "
    code, said, error = run(
        "-c", f"{older}exec(compile(open({SOURCE!r}).read(), 'verify.py', 'exec'))"
    )
    assert (code, said, error) == (4, b"not checked  this needs Python 3.9 or newer\n", b"")


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9", "3.10", "3.12", "3.13", "3.14"])
def test_each_python_that_is_here_runs_it_or_says_that_it_cannot(original, version):
    """Without any setting; one that is not installed proves nothing."""
    program = shutil.which(f"python{version}")
    done = program and subprocess.run([program, "--version"], capture_output=True, text=True)
    if not done or not done.stdout.startswith(f"Python {version}."):
        pytest.skip(f"Python {version} is not installed")
    done = subprocess.run(
        [program, "-I", SOURCE, str(original.folder)], capture_output=True, env={}
    )
    assert done.stderr == b"" and done.returncode == (3 if int(version[2:]) >= 9 else 4)


def test_a_file_that_cannot_be_read_is_not_called_altered(strange, monkeypatch):
    """Of a disk that fails, or of another user: 4, with the system's own words."""

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    outcome, text, code = verify.outcome(verify.check_seal, strange.folder, {})
    assert (outcome, code) == ("not checked", 4) and "Permission denied" in text
