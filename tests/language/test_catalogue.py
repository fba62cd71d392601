"""The catalogue holds the Persian of every text that a statement displays, and no other.

The languages of a statement: texts, sentences with values, digits.

What findings say of a row: a code with its values, whose words every language has.
"""

import ast
import inspect
import json
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import duckdb
import pytest

from svc_analytics import errors
from svc_analytics.closing.table_diff import NO_DIFFERENCES
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.language.catalogue import Language, is_number, other_languages, read_catalogue
from svc_analytics.matching.headings import KINDS
from svc_analytics.matching.match import SUMMARY
from svc_analytics.messages import PLACE, Message, english_templates, translated
from svc_analytics.periods import CALENDARS, month
from svc_analytics.records import raw_json, record_parser
from svc_analytics.render import page
from svc_analytics.render.bridge import TREND
from svc_analytics.render.compared import folder as compared_folder
from svc_analytics.render.compared.figures import COMPARISON
from svc_analytics.render.figures import meaning
from svc_analytics.render.findings import UNPLACED
from svc_analytics.render.front import SEVERITIES
from svc_analytics.signing.receipt_tokens import FACTS
from svc_analytics.statements import deep_check
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.statements.change import CHANGES, PARTS, RECORDS
from svc_analytics.statements.explain import CONTRIBUTION, DENOMINATOR, NUMERATOR
from svc_analytics.statements.moved_records import LABELS, OF
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.acknowledgements import Acknowledgement
from svc_analytics.warehouse.figures import NEEDS, SIGNS, figure_groups, label_of, stated_figures
from svc_analytics.warehouse.models import read_macros, read_statement_macros
from svc_analytics.warehouse.sql_text import english_of, message_of
from svc_analytics.webhooks import reconcile
from svc_analytics.webhooks.reconcile import COUNTED_TEXTS
from tests.support.views import views

PACKAGE = Path(page.__file__).parents[1]
CATALOGUE = PACKAGE / "language" / "fa.toml"
TEMPLATES = [PACKAGE / "render" / "templates" / f"{name}.html" for name in ("tables", "statement")]
VALUE = re.compile(r"\{\w+\}")
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
    "rounded, so a sum may miss by its last digit; every digit: point at it",
    *("running day", "Payments read, by day", "Payout records read, by day"),
}

MATCHED = (
    *("theirs_key", "ours_key", "record_ids", "theirs_currency", "theirs_amount", "theirs_day"),
    *("ours_currency", "ours_amount", "ours_day", "lines", "candidates", "by_what", "is_open"),
    *("is_first", "known"),
)


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
    yield from (*figure_groups(), *SIGNS.values(), *NEEDS.values(), *SEVERITIES)
    yield from (month for calendar in CALENDARS.values() for month in calendar.months)
    yield from map(label, (*set(TABLES) - {"summary"}, *page.FURTHER, TREND, "flags"))
    yield from map(label, compared_folder.TABLES)
    yield from (each.__name__ for each in vars(errors).values() if is_error(each))
    yield from map(label, (*NO_DIFFERENCES.column_names, *page.LINE_COLUMNS))
    yield from map(label_of, COMPARISON.names)
    yield from filter(None, (*LABELS.values(), *OF.values()))
    yield from (label(name) for table in (CHANGES, PARTS, RECORDS) for name in table.names)
    yield from map(label, (*page.FINDING_COLUMNS, "severity", "check_name"))
    yield from map(label, ("acknowledged_reason", "acknowledged_by"))
    for table, name in columns():
        yield label_of(name)
        if table in ("daily", *page.FURTHER, "reading") or (
            table == "lines" and name in page.LINE_COLUMNS
        ):
            yield meaning(table, name)
    yield from map(label_of, (CONTRIBUTION, NUMERATOR, DENOMINATOR, "asserted_at", "balance"))
    for view in ("payments", "payout_records", "refunds", "receipt_status", "ledger_entries"):
        yield from map(label_of, next(m for m in views() if m.name == view).columns)
    yield from map(label_of, FACTS)
    yield from map(label, (*SUMMARY.names, *MATCHED))
    yield from ("{count} open row", "{count} open rows", *map(str.capitalize, KINDS))
    causes = ("changed", "earlier_month", "late", "reclassified")  # in the order of a cell
    yield from (", ".join(some) for n in (1, 2, 3, 4) for some in combinations(causes, n))
    yield from (saying.of(count) for saying in COUNTED_TEXTS.values() for count in (1, 2))
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
        words = max(VALUE.split(english), key=len).strip(" ,;:.()")
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
        assert sorted(VALUE.findall(english)) == sorted(VALUE.findall(persian)), english


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


SQL = PACKAGE / "warehouse" / "sql"
RULES = sorted([*SQL.glob("*checks/*.sql"), *SQL.glob("footings/*.sql")])


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """A database that has our macros, and no lake."""
    found = duckdb.connect()
    found.execute(read_macros())
    return found


def codes_in(sql: str) -> list[str]:
    return re.findall(r"'(finding\.\w+)'", sql)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_detail_of_a_rule_is_the_english_of_its_message(path, database):
    """Whatever a value holds: a quote, a line break, the place of another value."""
    sql = path.read_text("utf-8")
    assert codes_in(sql) and " as detail" not in sql
    texts = [english_templates()[code] for code in codes_in(sql)]
    names = {name.lower() for text in texts for name in PLACE.findall(text)}
    for code in codes_in(sql):
        values = {"code": code} | {name: f'{name} "1"\n{{amount}}' for name in names}
        values |= {f"{name}_message": None for name in names if f"{name}_message" in sql}
        row = ", ".join(f"${name} as {name}" for name in values)
        query = f"select {english_of(sql)}, {message_of(sql)} from (select {row})"
        [(detail, message)] = database.execute(query, values).fetchall()
        made = Message.from_json(json.loads(message))
        assert (made, made.code) == (detail, code)


def test_every_rule_has_a_persian_name():
    """Those of files, of webhooks, of typed balances and of the deep check; no other."""
    names = {path.stem for path in RULES} | {reconcile.MISSING, reconcile.NOT_VALID}
    assert SECTIONS["rules"].keys() == names | {UNPLACED, deep_check.DIFFERENT}


def test_the_name_of_a_rule_stands_behind_its_persian():
    """A person copies it into acknowledgements.csv."""
    shown = Language("fa").text("kind_is_known")
    assert shown == "نوع رکورد شناخته‌شده است (\u2066kind_is_known\u2069)"
    assert Language("en+fa").text("kind_is_known").startswith("kind_is_known · ")


def test_other_findings_are_messages_too():
    """A typed balance, the deep check, a log of webhooks, and what was accepted before."""
    log = reconcile._LogSummary(month("2026-10"))
    log._verdicts.update({"bad_signature": 1, "valid": 1200})
    log._missing = {(subject, "SVC-1"): log._period.start for subject in ("payment", "payout")}
    balance = Assertion(log._period.end, "btc", Decimal(1), 2)
    rows = [*log.findings("log.ndjson"), *unplaced_balances([balance], log._period, ())]
    for row in rows:
        assert Message.from_json(json.loads(row["message"])) == row["detail"]
    said = [*(row["detail"] for row in rows), Message("finding.other_totals")]
    said += accepted_before()
    assert len(said) == 11 and all(isinstance(each, Message) for each in said)
    assert all(Language("fa").translation(each) for each in said)


def accepted_before() -> list[Message]:
    """Return the details of findings of which their content, or another one, was accepted."""
    mark = Acknowledgement(
        "amounts_are_not_zero", "1", "a test", "Mina", month("2026-10").end, "0" * 64
    )
    row = {"content": "1" * 64, "seen_at": None, "detail": "amount 0", "message": None}
    row |= {"check_name": mark.check}
    seen = row | {"seen_at": datetime(2026, 11, 2, tzinfo=UTC)}
    old = replace(mark, content="")
    ahead = replace(mark, counts_from=mark.at + 1)
    said = [each.unlike(row, mark.at) for each in (mark, old, ahead)]
    said += [old.unlike(seen, mark.at), mark.accepting(row)]
    return [*said, mark.accepting(row | {"check_name": "kind_is_known"})]


def test_every_reason_against_a_record_is_a_message():
    """Each that is raised where records are read."""
    sources = inspect.getsource(record_parser) + inspect.getsource(raw_json)
    raised = re.findall(r"raise DataError\(\s*(Message\(|.)", sources)
    assert len(raised) > 7 and {*raised} == {"Message("}


def test_no_message_is_a_sentence_without_words():
    """What is noted, broken or not proven is a message by its type, and each has its words."""
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    trees = [ast.parse(text) for text in texts if "Message(" in text]
    codes = {code for tree in trees for code in codes_said(tree)}
    assert len(codes) > 400
    assert sorted(code for code in codes if read_catalogue().words_of(code) is None) == []


def codes_said(tree: ast.Module) -> Iterator[str]:
    """Yield the codes of which a module makes messages, where they stand or by their names."""
    named: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = [each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)]
            for name in names:
                named.setdefault(name, []).extend(texts_of(node.value))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Message"), args=[ast.Name(id=name)]):
                yield from named.get(name, ())
            case ast.Call(func=ast.Name(id="Message"), args=[code]):
                yield from texts_of(code)


def texts_of(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be; of a text with values, how it is written."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            yield from (text for part in parts for text in texts_of(part))
        case ast.IfExp(body=first, orelse=second):
            yield from (text for part in (first, second) for text in texts_of(part))
        case ast.JoinedStr(values=[ast.Constant(value="{count} "), *_]):
            pass  # a number before a word, which the catalogue has with it
        case ast.JoinedStr():
            yield ast.unparse(node)


def test_a_reason_in_older_words_stays_in_english_isolated():
    """Verdicts of an earlier version stand in the lake for good."""
    found = Message("finding.receipt_of", receipt="SVC-7", reason=translated("some older words"))
    assert (
        Language("fa").translation(found) == "رسید \u2066SVC-7\u2069: \u2066some older words\u2069"
    )
