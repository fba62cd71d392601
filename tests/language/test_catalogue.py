"""The languages of a statement: texts, sentences with values, digits."""

import random
import re

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.language.catalogue import Language, is_number, read_catalogue
from svc_analytics.messages import Message

LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٫٬", "0123456789.,")


def test_a_label_is_given_in_the_language():
    """English as it is, Persian from the catalogue, both with the Persian isolated."""
    assert Language("en").text("Gross sales") == "Gross sales"
    assert Language("fa").text("Gross sales") == "فروش ناخالص"
    assert Language("en+fa").text("Gross sales") == "Gross sales · \u2067فروش ناخالص\u2069"
    rounded = Message("{MARK} {COLUMN}", MARK="≈", COLUMN="2026-10")
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
    """Each value of an English sentence stands in its Persian, and no other does."""
    for english, persian in read_catalogue().labels.items():
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", persian)), english


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
