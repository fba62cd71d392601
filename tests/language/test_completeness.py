"""The catalogue holds the Persian of every text that a statement displays, and no other.

The languages of a statement: texts, sentences with values, digits.
"""

import random
import re
import tomllib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from svc_analytics import errors
from svc_analytics.closing.restatement.diff import NO_DIFFERENCES
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.language.catalogue import Language, is_number, read_catalogue
from svc_analytics.language.words import other_languages
from svc_analytics.messages import Message, english_templates, translated
from svc_analytics.periods import CALENDARS
from svc_analytics.render import front, page
from svc_analytics.render.bridge import TREND
from svc_analytics.render.compared import folder as compared_folder
from svc_analytics.render.compared.figures import COMPARISON
from svc_analytics.render.figures import meaning
from svc_analytics.signing.receipts import FACTS
from svc_analytics.statements.change.change import CHANGES, PARTS, RECORDS
from svc_analytics.statements.change.parts import LABELS, OF
from svc_analytics.statements.explain import CONTRIBUTION, DENOMINATOR, NUMERATOR
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import NEEDS, SIGNS, figure_groups, label_of, stated_figures
from svc_analytics.warehouse.models import read_models, read_statement_macros
from svc_analytics.webhooks.reconcile import SAYINGS

PACKAGE = Path(page.__file__).parents[1]
CATALOGUE = PACKAGE / "language" / "fa.toml"
TEMPLATES = [PACKAGE / "render" / "templates" / f"{name}.html" for name in ("tables", "statement")]
PLACE = re.compile(r"\{\w+\}")
SECTIONS = tomllib.loads(CATALOGUE.read_text("utf-8"))
del SECTIONS["language"]
PERSIAN_MESSAGES = {
    f"{section}.{name}": text
    for section, texts in SECTIONS.pop("messages").items()
    for name, text in texts.items()
}
MESSAGES = set(english_templates().values())
# What findings say, in test_details; charts, in tests/charts; a notebook, in tests/notebook.
TESTED_APART = ("rules", "charts", "notebook")
# Sentences that the program puts together from several pieces.
COMPOSED = {
    *("coverage payments", "coverage payout_records"),
    *("merchant display_name", "merchant display_name_fa"),
    "so far (running)",
    "≈ rounded for display; every digit: point at it, or exact=True",
    *("running day", "Payments read, by day", "Payout records read, by day"),
}


def columns() -> Iterator[tuple[str, str]]:
    """Yield every column of a statement's tables."""
    for macro in read_statement_macros():
        table = macro.name.removeprefix("statement_")
        if table in TABLES:
            yield from ((table, name) for name in macro.columns)


def displayed() -> Iterator[str]:
    """Yield what a page or a workbook shows of figures, columns, findings and months."""
    for figure in stated_figures():
        yield from (figure.label, figure.definition, figure.formula, figure.unit, figure.hint)
        yield from filter(None, (figure.unread, figure.unstated))
    yield from (*figure_groups(), *SIGNS.values(), *NEEDS.values(), *front.SEVERITIES)
    yield from (month for calendar in CALENDARS.values() for month in calendar.months)
    yield from map(label, (*set(TABLES) - {"summary"}, *page.FURTHER, TREND, "flags"))
    yield from map(label, compared_folder.TABLES)
    yield from (each.__name__ for each in vars(errors).values() if is_error(each))
    yield from map(label, (*NO_DIFFERENCES.column_names, *page.LINE_COLUMNS))
    yield from map(label_of, COMPARISON.names)
    yield from filter(None, (*LABELS.values(), *OF.values()))
    yield from (label(name) for table in (CHANGES, PARTS, RECORDS) for name in table.names)
    yield from map(label, (*page.FINDING_COLUMNS, "acknowledged_reason", "acknowledged_by"))
    for table, name in columns():
        yield label_of(name)
        if table in ("daily", *page.FURTHER, "reading") or (
            table == "lines" and name in page.LINE_COLUMNS
        ):
            yield meaning(table, name)
    yield from map(label_of, (CONTRIBUTION, NUMERATOR, DENOMINATOR, "asserted_at", "balance"))
    for view in ("payments", "payout_records", "refunds", "receipt_status", "ledger_entries"):
        yield from map(label_of, next(m for m in read_models() if m.name == view).columns)
    yield from map(label_of, FACTS)
    causes = ("changed", "earlier_month", "late", "reclassified")  # in the order of a cell
    yield from (", ".join(some) for n in (1, 2, 3, 4) for some in combinations(causes, n))
    yield from (saying.of(count) for saying in SAYINGS.values() for count in (1, 2))
    yield from (f"{{count}} {text}" for text in sayings())


def is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.SvcError)


def sayings() -> Iterator[str]:
    """Yield the two forms of what each rule says, as its file has them."""
    for path in sorted((PACKAGE / "warehouse" / "sql").glob("*checks/*.sql")):
        header = path.read_text("utf-8").split("\n\n")[0].replace("\n-- ", " ")
        if path.parent.name == "checks" and (said := re.search(r"says: (.+?)\.(?: |$)", header)):
            yield from said[1].split(" / ")


def test_every_text_that_is_displayed_has_its_words_in_every_language():
    """Labels, definitions, formulas, units, columns and their meanings, findings, months."""
    others = [Language(code) for code in other_languages()]
    assert [language.code for language in others] == ["fa"]
    missing = {
        text: codes
        for text in dict.fromkeys(displayed())
        if (codes := [each.code for each in others if not each.translation(text)])
    }
    assert missing == {}


def test_every_sentence_of_the_templates_has_its_persian():
    """Each goes through a function that knows the language; no word stands outside of one."""
    template = "".join(path.read_text("utf-8") for path in TEMPLATES)
    outside = re.sub(r"\{[%#].*?[%#]\}|\{\{.*?\}\}|<[^>]+>", "", template)
    assert re.findall("[A-Za-z]{2,}", outside) == []
    said = re.findall(r'\b(?:t|told|nothing|reasons_of)\("([^"]+)"', template)
    assert len(said) > 50 and {*said} - read_catalogue().labels.keys() == set()


def test_every_text_of_the_catalogue_is_used():
    """Its English words stand in the program: a sentence that was changed is not forgotten."""
    used = {text for each in displayed() for text in (each, each[:1].lower() + each[1:])}
    sources = program_text()
    for english in read_catalogue().labels:
        if any(english in SECTIONS[name] for name in TESTED_APART) or english in MESSAGES:
            continue
        words = max(PLACE.split(english), key=len).strip(" ,;:.()")
        assert english in used or english in COMPOSED or words in sources, english
    assert {*read_catalogue().labels} >= COMPOSED


def program_text() -> str:
    """Return the program's own text, its broken lines and its plurals joined."""
    kinds = ("py", "sql", "html")
    paths = [path for kind in kinds for path in sorted(PACKAGE.rglob(f"*.{kind}"))]
    text = "\n".join(path.read_text("utf-8") for path in paths).replace("\n-- ", " ")
    text = re.sub(r"\{'s' \* \(.*?\)\}|\{\{ '' if count == 1 else 's' \}\}", "s", text)
    text = text.replace("''", "'")  # of SQL
    return re.sub(r"[\"']\s*\n?\s*f?[\"']", "", text)


def test_one_english_text_has_one_persian():
    """No text stands in two sections."""
    assert sum(map(len, (*SECTIONS.values(), PERSIAN_MESSAGES))) == len(read_catalogue().labels)


def test_every_message_has_its_persian():
    """Each code of the English catalogue, and no other."""
    assert PERSIAN_MESSAGES.keys() == english_templates().keys()


def test_every_message_is_said_somewhere():
    """Its code stands in the program: one that nobody says any more is not forgotten."""
    sources = program_text()
    said = {*re.findall(r"[\"'](\w+\.\w+)[\"']", sources)}
    assert english_templates().keys() - said == set()


# ---------- texts, sentences with values, digits


LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٫٬", "0123456789.,")


def test_a_label_is_given_in_the_language():
    """English as it is, Persian from the catalogue, both with the Persian isolated."""
    assert Language("en").text("Gross sales") == "Gross sales"
    assert Language("fa").text("Gross sales") == "فروش ناخالص"
    assert Language("en+fa").text("Gross sales") == "Gross sales · \u2067فروش ناخالص\u2069"
    rounded = Message("{MARK} {COLUMN}", mark=translated("≈"), column=translated("2026-10"))
    assert Language("fa").text(rounded) == "\u2066≈\u2069 \u20662026-10\u2069"
    assert Language("en+fa").text(rounded) == rounded


def test_the_values_of_a_sentence_are_isolated():
    """A coin stays as it is, between the marks of an isolated text."""
    shown = Language("fa").text("USD per {coin}", coin="usdt")
    assert shown == "دلار به ازای هر \u2066usdt\u2069"


def test_no_sentence_is_taken_apart():
    """What a file kept without its code and values stays as it is."""
    assert Language("fa").translation("USD per usdt") is None


def test_a_text_that_nobody_translated_is_displayed_in_english():
    """The name of a product is no text of the catalogue."""
    assert Language("fa").text("Saffron & Tile") == "Saffron & Tile"
    assert Language("fa").translation("Saffron & Tile") is None


def test_persian_digits_keep_every_digit_of_38():
    """10,000 random amounts of 38 digits are read back exactly from their Persian digits."""
    persian, draw = Language("fa", "fa"), random.Random(16)
    for _ in range(10_000):
        digits = f"{draw.randrange(10**37, 10**38)}"
        exact = f"{draw.choice(('', '-'))}{digits[:20]}.{digits[20:]}"
        shown = persian.number(exact)
        assert shown.translate(LATIN) == exact
        assert not set("0123456789.") & set(shown)


def test_an_unknown_language_is_refused_in_one_line():
    """The error names the languages there are; Persian digits need a Persian text."""
    with pytest.raises(ConfigError, match="no language 'de': choose from en, fa, en"):
        Language("de")
    with pytest.raises(ConfigError, match="choose the language fa or en\\+fa"):
        Language("en", "fa")


def test_a_rounded_number_below_zero_is_a_number():
    """It has two signs, and Persian digits as any other."""
    assert is_number("≈-0.32")
    assert Language("fa", "fa").value("≈-0.32") == "\u2066≈-۰٫۳۲\u2069"


def test_an_id_is_no_number():
    """Its digits stay as the service wrote them."""
    assert is_number("2026-10-23 00:00Z")
    assert not is_number("eb44395f-edc3-5df0-9030-0b4562e86325")


def test_no_persian_text_loses_or_invents_a_value():
    """Each value of an English sentence stands in its Persian as often, and no other does."""
    for english, persian in read_catalogue().labels.items():
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(persian)), english


def test_persian_is_written_with_persian_letters():
    """No yeh, kaf or digit of Arabic, no blank where a joined word needs its narrow one."""
    text = "\n".join(read_catalogue().labels.values())
    assert set("يكىئۀة٠١٢٣٤٥٦٧٨٩") & set(text) <= {"ئ"}
    assert re.findall(r"(?:^|\s)(?:ن?می) [آ-ی]\w*|[آ-ی] (?:های|ها|هایی|ترین)\b", text) == []
    assert "\u200c " not in text and " \u200c" not in text and "  " not in text


def test_one_word_is_kept_for_one_thing():
    """Words that stood for the same thing before, and another reading of a letter."""
    text = "\n".join(read_catalogue().labels.values())
    for word in ("بازپرداخت", "صورتحساب", "تراکنش", "مشتری‌ها", "ه ی "):
        assert word not in text, word


def test_a_verdict_of_two_clauses_has_its_words():
    """As a table of receipts keeps it; English has no words to look up."""
    verdict = "signed by the newest secret; all facts agree"
    assert (
        Language("fa").translation(verdict) == "با تازه‌ترین کلید امضا شده است؛ همهٔ اطلاعات می‌خواند"
    )
    assert Language("en").translation(verdict) is None
