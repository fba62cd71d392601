"""Readable forms of a month that is sealed already: beside the seal, and proven as it is.

Those in another currency have with them the rates that they rest on.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pytest

import svc_analytics as svc
from svc_analytics import ConfigError, verify_statement
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification.derived_forms import compare_derived
from svc_analytics.closing.verification.forms import Findings
from svc_analytics.closing.verification.proof import prove_folder
from svc_analytics.proofs import signature
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE
from tests.closing.test_releases import another_release
from tests.support.closings import Closer
from tests.support.prepared import prepared
from tests.support.signers import make_key

SENTENCE_HEAD = "before,after,figure,currency,sentence,prepared_by,reviewed_by"


def derived(folder: Path) -> Findings:
    """Compare the forms beside a sealed folder alone."""
    sealed = prove_folder(folder, read_manifest(folder), None).sealed
    return compare_derived(sealed)


def content(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def with_page(closer: Closer) -> Path:
    """October as it was sealed, with a page beside its seal: a copy."""

    def make() -> None:
        closer.close()
        closer.close(formats=("html",))

    prepared(closer.desk, "a page beside the seal", make)
    return closer.desk.lake.path / "statements" / "2026-10"


def test_forms_of_a_sealed_month_are_written_beside_its_seal(closer):
    """Without a key or an address; no byte of the sealed folder changes, and it is verified.

    A page in another language takes the place of the one that is there.
    """
    folder = with_page(closer)
    sealed, beside = content(folder), folder.with_name("2026-10-forms")
    closed = svc.close(closer.desk.lake, "2026-10", formats=("html",), lang="fa")
    assert closed.state == "unchanged" and not closed.needs_attention
    assert str(beside) in str(closed.note) and "SVC_BASE_URL is not set" in str(closed.note)
    assert content(folder) == sealed and 'lang="fa"' in (beside / "statement.html").read_text()
    assert verify_statement(folder, closer.desk.lake).holds
    for month, formats in (("2026-09", ("html",)), ("2026-10", ("csv",))):
        with pytest.raises(svc.errors.ConfigError, match="SVC_BASE_URL"):
            svc.close(closer.desk.lake, month, formats=formats)


@pytest.mark.thorough
def test_a_close_into_readable_forms_alone_adds_what_the_seal_needs(closer):
    """It is sealed with CSV as well."""
    folder = closer.close(formats=("html",)).folder
    assert {"statement.html", "summary.csv"} <= {*content(folder)}


def test_a_form_tells_four_statuses_and_a_later_signature_writes_it_again(closer, tmp_path):
    """Until then it says that nobody signed the month, which was true. A mark may come, not go."""
    folder, key, lake = with_page(closer), make_key(tmp_path, "own"), closer.desk.lake
    page, seal = folder.with_name("2026-10-forms") / "statement.html", read_manifest(folder)["seal"]
    for text in (f"{seal}. Compare it with", "not signed", "no stamp", "not checked here"):
        assert f'<dd class="status">{text}' in page.read_text()
    made = signature.sign((folder / FILE).read_bytes(), key)
    (folder / SIGNATURE).write_bytes(made)
    checked = verify_statement(folder, lake)
    assert checked.holds and "2026-10-forms: written before the month was" in str(checked.notes)
    by = svc.sign(lake, "2026-10", key=key).key
    assert f"it fits the key {by};" in page.read_text() and "not signed" not in page.read_text()
    found = derived(folder)
    assert not (found.broken or found.unproven or found.notes)
    (folder / SIGNATURE).unlink()
    text = f"2026-10-forms: it names the key {by}, but that key did not make {SIGNATURE}"
    assert derived(folder).broken == [text]


def test_sentences_lie_beside_the_seal_and_are_printed_by_what_it_does_not_cover(
    closer, tmp_path, monkeypatch
):
    """By the page and the workbook beside it, in Persian, and in the package.

    Each tells of a line that cannot be read, by its file, its number and what is wrong. All are
    proven, and a later sentence is no fault.
    """
    folder, lake = closer.sealed(), closer.desk.lake
    sealed, beside = content(folder), folder.with_name("2026-10-forms")
    kept = folder.with_name("2026-10-sentences.csv")
    kept.write_text(
        f"{SENTENCE_HEAD}\n2026-09,2026-10,net_settlement,usdt,A shop came.,Rui,Inês\n"
        "2026-10,2026-11,net_settlement,usdt,It left.,Rui,\n"
    )
    fault = "line 3: after is 2026-11, and the file has the sentences on 2026-10"
    told = f"The file 2026-10-sentences.csv was not read whole: {fault}. Correct it"
    closer.close(formats=("html", "xlsx"))
    page = (beside / "statement.html").read_text()
    for text in ("Sentences on what moved", "A shop came.", "Rui", "Inês", told):
        assert text in page
    assert "It left." not in page
    sheet = openpyxl.load_workbook(beside / "statement.xlsx")["Sentences on what moved"]
    cells = "\n".join(str(cell.value) for row in sheet for cell in row)
    assert "A shop came." in cells and told in cells
    made = svc.statement(lake, "2026-10").save(tmp_path / "out", ["html"], lang="fa")
    persian = 'پروندهٔ <bdi dir="ltr">2026-10-sentences.csv</bdi> کامل خوانده نشد'
    for text in ("A shop came.", persian):
        assert text in (made / "statement.html").read_text()
    with monkeypatch.context() as patched:
        patched.setattr("importlib.util.find_spec", lambda name: None)  # no PDF: it takes long
        packed = svc.package(lake, "2026-10", out=tmp_path / "pack.zip").file
    with ZipFile(packed) as archive:
        in_package = archive.read("2026-10-forms/statement.html").decode()
        assert "A shop came." in in_package and told in in_package
        assert "Inês" in archive.read("2026-10-sentences.csv").decode()
    assert content(folder) == sealed and verify_statement(packed).holds
    assert derived(folder) == Findings()
    kept.write_text(kept.read_text().replace("A shop", "Two shops"))
    found = derived(folder)
    assert not found.broken and "sentences on what moved" in str(found.notes)


def test_a_derived_form_that_was_altered_does_not_hold(closer):
    """It is named; nor does a status in it, with its hash and the facts that it is made of."""
    folder = with_page(closer)
    page = folder.with_name("2026-10-forms") / "statement.html"
    facts = page.with_name("forms.json")
    kept, said = page.read_text(), facts.read_text()
    page.write_text(kept.replace("</main>", "<p>more</p></main>"))
    fault = "differs from what the sealed tables say (a derived form, not sealed)"
    assert derived(folder).broken == [f"2026-10-forms: statement.html {fault}"]
    for old, new, claim in (
        ("not signed", "it fits the key SHA256:x; statement-verify --signers tells whose it is", 1),
        ("no stamp", "there is a stamp; statement-verify --authority tells by whom, and when", 1),
        ("not checked here: statement-verify makes it again from", "it was made again from", 0),
    ):
        forged = kept.replace(f'"status">{old}', f'"status">{new}')
        assert forged != kept
        page.write_text(forged)
        text = said.replace(*(sha256(each.encode()).hexdigest() for each in (kept, forged)))
        if claim:
            text = text.replace('"signed": null', '"signed": "SHA256:x"').replace("false", "true")
        facts.write_text(text)
        assert derived(folder).broken


def test_the_words_of_a_form_by_another_release_are_told_as_not_proven(closer):
    """No seal fixes them, so whoever alters them could say that another release wrote them."""
    with another_release():
        folder = closer.close().folder
        closer.close(formats=("html",))
    page = folder.with_name("2026-10-forms") / "statement.html"
    facts, kept = page.with_name("forms.json"), page.read_bytes()
    page.write_bytes(kept.replace(b'"status">not signed', b'"status">signed by a key of ours'))
    digests = [sha256(each).hexdigest() for each in (kept, page.read_bytes())]
    facts.write_text(facts.read_text().replace(*digests))
    checked = verify_statement(folder, closer.desk.lake)
    said = "2026-10-forms: not compared: svc-analytics 0.0.9, another build, made statement.html"
    assert not (checked.broken or checked.holds) and said in str(checked.unproven)
    assert checked.statuses[-1].outcome == "not checked"
    closer.close(formats=("html",))
    assert verify_statement(folder, closer.desk.lake).holds


@pytest.mark.thorough
def test_what_the_seal_covers_says_who_tells_the_rest(closer):
    """A form within the seal cannot know what comes behind it; a running month says none of it."""
    page = (closer.sealed(formats=("csv", "html")) / "statement.html").read_text()
    for text in ("as in manifest.json", "not known here, because a signature", "not checked here"):
        assert f'<dd class="status">{text}' in page
    running = svc.statement(closer.desk.lake, "2026-11").save(closer.desk.lake.path / "x", ["html"])
    assert "not checked here" not in (running / "statement.html").read_text()


# ---------- in another currency


LEDGER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  usdt      200     2     2026-09-10T09:00      200
 payment  usdt      100     1     2026-10-05T08:00      100
 refund   usdt      40            2026-10-07T08:00  2   40
"""
RATES = """date,currency,rate,source
2026-09-30,EUR,0.8,ECB
2026-10-05,EUR,0.9,ECB
2026-10-07,EUR,0.7,ECB
2026-10-31,EUR,0.6,ECB
2026-09-30,IRT,100000,Bonbast
2026-10-05,IRT,110000,Bonbast
2026-10-07,IRT,120000,Bonbast
2026-10-31,IRT,130000,Bonbast
"""
HTML = {"formats": ("html",)}
EUR = {**HTML, "currency": "EUR"}
BOTH = {**EUR, "formats": ("html", "xlsx")}


@pytest.fixture
def shop(closer) -> Closer:
    """A desk whose lake has a rate file, and whose records have values in USD."""
    closer.serve(LEDGER)
    return closer


@pytest.fixture
def sealed(shop) -> Path:
    """The sealed October, in tables alone."""
    folder = shop.sealed()
    write(shop, RATES)
    return folder


def write(shop: Closer, rates: str) -> None:
    (shop.desk.lake.path / "rates.csv").write_text(rates)


def test_forms_in_another_currency_lie_beside_the_seal(shop, sealed):
    """No byte of the seal changes, and a verification makes them again of their own rates.

    The same rates leave them as they are; one that was corrected makes them anew.
    """
    before, beside = content(sealed), sealed.with_name("2026-10-forms-EUR")
    closed = shop.close(**BOTH)
    assert closed.state == "unchanged" and str(beside) in (closed.note or "")
    assert {*content(beside)} == {"statement.html", "statement.xlsx", "forms.json"}
    assert "28.00</b> EUR, external rates" in (beside / "statement.html").read_text()  # 40 * 0.7
    write(shop, RATES.replace("ECB", "another"))
    assert content(sealed) == before and verify_statement(sealed, shop.desk.lake).holds
    write(shop, RATES)
    assert shop.close(**BOTH).note is None
    write(shop, RATES.replace("EUR,0.7", "EUR,0.75"))
    assert shop.close(**BOTH).note
    assert "30.00</b> EUR, external rates" in (beside / "statement.html").read_text()  # 40 * 0.75


@pytest.mark.thorough
def test_a_page_its_rates_or_facts_that_were_altered_do_not_hold(shop, sealed):
    """An amount of the page, a rate of its facts, none at all, or those of another currency."""
    shop.close(**EUR)
    beside = sealed.with_name("2026-10-forms-EUR")
    kept = json.loads((beside / "forms.json").read_text())
    other = json.loads(json.dumps(kept["rates"]).replace("EUR", "GBP"))
    altered: dict[str, Callable[[str], str]] = {
        "statement.html: ": lambda text: text.replace("28.00", "82.00"),
        "statement": lambda text: text.replace('"rate": "0.7"', '"rate": "0.5"'),
        "these are no rates": lambda _: json.dumps(kept | {"rates": {}}),
        "its rates are of 2026-10-forms-GBP": lambda _: json.dumps(kept | {"rates": other}),
    }
    for told, alter in altered.items():
        path = beside / ("statement.html" if told == "statement.html: " else "forms.json")
        text = path.read_text()
        path.write_text(alter(text))
        assert path.read_text() != text
        broken = verify_statement(sealed, shop.desk.lake).broken
        assert [each for each in broken if each.startswith("2026-10-forms-EUR: ")]
        assert told.removesuffix(": ") in " ".join(broken)
        path.write_text(text)


@pytest.mark.thorough
def test_each_currency_has_a_folder_of_its_own(shop, sealed):
    """And the forms in USD alone keep theirs."""
    for more in (HTML, EUR, {**HTML, "currency": "toman", "lang": "fa"}):
        shop.close(**more)
    names = {path.name for path in sealed.parent.glob("2026-10-*")}
    assert names == {"2026-10-forms", "2026-10-forms-EUR", "2026-10-forms-IRT"}
    plain = sealed.with_name("2026-10-forms") / "statement.html"
    assert "external" not in plain.read_text().partition("</style>")[2]
    assert verify_statement(sealed, shop.desk.lake).holds


@pytest.mark.thorough
def test_a_month_that_is_sealed_now_is_sealed_in_usd(shop):
    """The seal holds nothing of a rate; the other page is made beside it at once."""
    shop.desk.extract()
    write(shop, RATES)
    folder = shop.close(**EUR).folder
    beside = folder.with_name("2026-10-forms-EUR")
    assert "external" not in (folder / "statement.html").read_text().partition("</style>")[2]
    assert "external rates" in (beside / "statement.html").read_text()
    assert verify_statement(folder, shop.desk.lake).holds


@pytest.mark.thorough
def test_a_restatement_has_such_forms_of_its_own(shop, sealed):
    """A payment came late: the second version is shown in EUR, and holds."""
    shop.serve(f"{LEDGER} payment  usdt      10      0     2026-10-07T09:00      10\n")
    closed = shop.close(**EUR)
    page = sealed.with_name("2026-10-v2-forms-EUR") / "statement.html"
    assert closed.state == "restated"
    assert "96.10</b> EUR, external rates" in page.read_text()  # 99 * 0.9 + 10 * 0.7
    assert verify_statement(closed.folder, shop.desk.lake).holds


def test_a_day_without_a_rate_ends_it_before_anything_is_sealed(shop):
    """The error names the day."""
    shop.desk.extract()
    write(shop, RATES.replace("2026-10-07,EUR", "2026-10-08,EUR"))
    with pytest.raises(ConfigError, match="no rate of EUR for 2026-10-07"):
        shop.close(**EUR)
    assert not (shop.desk.lake.path / "statements" / "2026-10").exists()


def test_a_close_in_tables_alone_has_no_place_for_another_currency(shop):
    """Nothing is read, and nothing written."""
    with pytest.raises(ConfigError, match="only xlsx, html, pdf show another currency"):
        shop.close(currency="EUR")
    assert shop.asked == []
