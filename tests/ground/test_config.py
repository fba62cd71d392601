"""Settings: where each value comes from, and what is refused before any call is made.

Settings keep their keys and secrets to themselves (H5).
"""

import copy
import dataclasses
import pickle
import pprint
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics.config import Settings, check_base_url, read_data_dir, read_engine, read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.signing.secrets import Secret
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, PAYOUT_KEY
from tests.support.unit_material import raised_by

KEYS = {"SVC_CHECKOUT_KEY": CHECKOUT_KEY, "SVC_PAYOUT_KEY": PAYOUT_KEY}


def key(digit: str) -> str:
    return "svc_live_" + digit * 64


def revealed(tmp_path: Path, environ: dict[str, str]) -> str | None:
    found = read_settings(environ=environ, folder=tmp_path).checkout_key
    return found.reveal() if found else None


def test_nothing_set_is_no_error_until_the_service_is_needed(tmp_path):
    """Work on the lake needs no key; a call to the service says what is missing."""
    settings = read_settings(environ={}, folder=tmp_path)
    assert (settings.base_url, settings.key_classes, settings.receipt_secrets) == ("", (), ())
    assert settings.data_dir == Path("data")
    with pytest.raises(ConfigError, match="SVC_BASE_URL"):
        settings.require_service()
    with pytest.raises(ConfigError, match="SVC_CHECKOUT_KEY"):
        Settings(base_url=BASE_URL).require_service()


def test_every_variable_has_its_place(tmp_path):
    """The documented variables, all of them, arrive where they belong."""
    environ = KEYS | {
        "SVC_BASE_URL": BASE_URL + "/",
        "SVC_RECEIPT_SECRETS": "r2@2026-08-15T00:00:00Z,r1",
        "SVC_WEBHOOK_SECRETS": "w2,w1",
        "SVC_DATA_DIR": "lake",
        "SVC_PATIENCE": "7",
    }
    found = read_settings(environ=environ, folder=tmp_path)
    assert (found.base_url, found.data_dir, found.patience) == (BASE_URL, Path("lake"), 7)
    assert found.key_classes == ("checkout", "payout")
    assert found.key("payout") == Secret(PAYOUT_KEY)
    assert [entry.secret.reveal() for entry in found.receipt_secrets] == ["r2", "r1"]
    assert [entry.secret.reveal() for entry in found.webhook_secrets] == ["w2", "w1"]


def test_environment_comes_before_its_file_and_both_before_dotenv(tmp_path):
    """Order: the environment, the file a `_FILE` variable names, then `.env`."""
    (tmp_path / "key").write_text(key("b") + "\n")
    (tmp_path / "dotenv-key").write_text(key("d"))
    environ = {"SVC_CHECKOUT_KEY": key("a"), "SVC_CHECKOUT_KEY_FILE": str(tmp_path / "key")}
    dotenv = f"SVC_CHECKOUT_KEY={key('c')}\nSVC_CHECKOUT_KEY_FILE={tmp_path / 'dotenv-key'}\n"
    (tmp_path / ".env").write_text(dotenv)
    assert revealed(tmp_path, environ) == key("a")
    del environ["SVC_CHECKOUT_KEY"]
    assert revealed(tmp_path, environ) == key("b")
    assert revealed(tmp_path, {}) == key("c")
    (tmp_path / ".env").write_text(dotenv.partition("\n")[2])
    assert revealed(tmp_path, {}) == key("d")


def test_option_comes_before_everything(tmp_path):
    """A command's option wins over the environment and `.env`."""
    (tmp_path / ".env").write_text("SVC_DATA_DIR=from-dotenv\nSVC_PATIENCE=3\n")
    environ = {"SVC_DATA_DIR": "from-environment", "SVC_PATIENCE": "5"}
    given = read_settings("option", patience=9, environ=environ, folder=tmp_path)
    assert (given.data_dir, given.patience) == (Path("option"), 9)
    assert read_data_dir("option", environ=environ, folder=tmp_path) == Path("option")
    assert read_data_dir(environ=environ, folder=tmp_path) == Path("from-environment")
    assert read_data_dir(environ={}, folder=tmp_path) == Path("from-dotenv")


def test_reading_where_a_lake_is_touches_nothing(tmp_path, monkeypatch):
    """A bucket that does not exist is an address like any other, until its lake is opened."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    environ = {"SVC_DATA_DIR": "s3://no-such-bucket/lake/"}
    settings = read_settings(environ=environ, folder=tmp_path)
    assert settings.data_dir == "s3://no-such-bucket/lake"
    assert list(tmp_path.iterdir()) == []
    Lake(settings.data_dir)
    assert (tmp_path / "cache").is_dir()


def test_working_folder_and_process_environment_are_the_default(tmp_path, monkeypatch):
    """Without being told, the settings come from where the process runs."""
    monkeypatch.chdir(tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SVC_CHECKOUT_KEY", key("e"))
    (tmp_path / ".env").write_text(f"SVC_PAYOUT_KEY={PAYOUT_KEY}\n")
    assert read_settings().key_classes == ("checkout", "payout")


def test_dotenv_is_taken_literally(tmp_path):
    """A secret with a `$` in `.env` is that secret, not a reference to a variable."""
    (tmp_path / ".env").write_text("SVC_RECEIPT_SECRETS='a${HOME}b'\n")
    ring = read_settings(environ={"HOME": "/root"}, folder=tmp_path).receipt_secrets
    assert [entry.secret.reveal() for entry in ring] == ["a${HOME}b"]


def test_secrets_are_read_as_utf_8(tmp_path):
    """Secrets are used as their UTF-8 bytes; blanks and line ends around a file are not theirs."""
    (tmp_path / "secrets").write_bytes(" گُل✓ , b \r\n".encode())
    environ = {"SVC_RECEIPT_SECRETS_FILE": str(tmp_path / "secrets")}
    ring = read_settings(environ=environ, folder=tmp_path).receipt_secrets
    assert [entry.secret.reveal() for entry in ring] == ["گُل✓", "b"]


@pytest.mark.parametrize("name", ["SVC_CHECKOUT_KEY_FILE", ".env"])
def test_byte_order_mark_of_an_editor_is_not_part_of_a_key(tmp_path, name):
    """A file saved by an editor that writes a byte order mark holds the same key."""
    file = tmp_path / ("key" if name.startswith("SVC") else ".env")
    text = key("a") if name.startswith("SVC") else f"SVC_CHECKOUT_KEY={key('a')}\n"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert revealed(tmp_path, {name: str(file)}) == key("a")


BAD_KEYS = {
    "a word": "key",
    "prefix alone": "svc_live_",
    "63 digits": key("a")[:-1],
    "65 digits": key("a") + "a",
    "not hexadecimal": key("g"),
    "full-width digits": key("\uff11"),
    "blank within": key("a")[:40] + " " + key("a")[41:],
    "line end within": key("a")[:40] + "\n" + key("a")[41:],
    "quoted": f'"{key("a")}"',
    "with Bearer": "Bearer " + key("a"),
    "capital prefix": "SVC_LIVE_" + "a" * 64,
    "two keys": key("a") + "," + key("b"),
}


def test_hexadecimal_may_be_written_in_capitals(tmp_path):
    """64 hex digits are a key in either case, and are sent as they were given."""
    assert revealed(tmp_path, {"SVC_CHECKOUT_KEY": key("A")}) == key("A")


GOOD_URLS = {
    "https://pay.example": "https://pay.example",
    "https://pay.example/": "https://pay.example",
    "https://pay.example:8443/sub/": "https://pay.example:8443/sub",
    "http://127.0.0.1:8000": "http://127.0.0.1:8000",
    "http://127.8.9.1": "http://127.8.9.1",
    "http://[::1]:8000": "http://[::1]:8000",
    "http://localhost:8000/": "http://localhost:8000",
    "http://LOCALHOST": "http://LOCALHOST",
    "https://pay.example/api/pay/v1": "https://pay.example",
    "https://pay.example/sub/api/pay/v1/": "https://pay.example/sub",
}


@pytest.mark.parametrize(("url", "expected"), GOOD_URLS.items())
def test_address_is_https_or_this_machine(url, expected):
    """Plain http is for loopback alone; a trailing slash does not matter."""
    assert check_base_url(url) == expected


BAD_URLS = {
    "two addresses": "https://pay.example,https://other.example",
    "plain http": "http://pay.example",
    "a private address": "http://192.168.1.10",
    "any address": "http://0.0.0.0:8000",
    "looks like localhost": "http://localhost.pay.example",
    "looks like loopback": "http://127.0.0.1.pay.example",
    "localhost as user": "http://localhost@pay.example",
    "a password": "https://user:pass@pay.example",
    "a query": "https://pay.example/?key=1",
    "a fragment": "https://pay.example/#x",
    "no scheme": "pay.example",
    "another scheme": "ftp://pay.example",
    "a file": "file:///etc/passwd",
    "no host": "https://",
    "a broken IPv6 address": "https://[::1",
    "a port in words": "https://pay.example:https",
    "a port too high": "https://pay.example:99999",
    "a blank within": "https://pay example",
    "a line end within": "https://pay.example\nevil",
    "a NUL": "https://pay.example\0",
}


REFUSED = [
    *((name, text, f"{name} is malformed") for name in KEYS for text in BAD_KEYS.values()),
    ("SVC_CHECKOUT_KEY", PAYOUT_KEY, "SVC_CHECKOUT_KEY holds a .*-class key"),
    ("SVC_PAYOUT_KEY", CHECKOUT_KEY, "SVC_PAYOUT_KEY holds a .*-class key"),
    *(("SVC_BASE_URL", url, "SVC_BASE_URL") for url in BAD_URLS.values()),
    *(("SVC_PATIENCE", text, "SVC_PATIENCE") for text in ("0", "-1", "1.5", "ten", "1e3", "²")),
    ("SVC_PATIENCE", "12".translate({49: 0x6F1}), "SVC_PATIENCE"),
]


@pytest.mark.parametrize(("name", "text", "said"), REFUSED)
def test_a_setting_that_means_nothing_is_refused_by_its_name(tmp_path, name, text, said):
    """Bad usage, 2: a key in the wrong place or form, an address it must not travel to (A10)."""
    with pytest.raises(ConfigError, match=said) as refusal:
        read_settings(environ={name: text}, folder=tmp_path)
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize("name", ["SVC_RECEIPT_SECRETS", "SVC_WEBHOOK_SECRETS"])
def test_a_secrets_file_with_one_secret_a_line_is_several_secrets(tmp_path, name):
    """Each is one of the ring; a date that is none is refused by the name of the variable."""
    file = tmp_path / "secrets"
    environ = {f"{name}_FILE": str(file)}
    file.write_bytes(b'\xef\xbb\xbf"new"@2026-08-15\r\n\r\n  old\r\n')
    settings = read_settings(environ=environ, folder=tmp_path)
    ring = settings.receipt_secrets or settings.webhook_secrets
    assert [entry.secret.reveal() for entry in ring] == ["new", "old"]
    file.write_text("new@yesterday\nold\n")
    with pytest.raises(ConfigError, match=f"^{name}: what follows the @"):
        read_settings(environ=environ, folder=tmp_path)


UNREADABLE = {
    "missing": (None, "No such file or directory"),
    "not text": (b"\xff\xfe\x00", "it is no text in UTF-8"),
    "a folder": (..., "Is a directory"),
}


@pytest.mark.parametrize(("content", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_file_is_a_usage_error(tmp_path, content, why):
    """A file that is missing, a folder or no text is told by its variable; so is `.env`."""
    file = tmp_path / "key"
    if content is ...:
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"SVC_PAYOUT_KEY_FILE names: {why}$"):
        read_settings(environ={"SVC_PAYOUT_KEY_FILE": str(file)}, folder=tmp_path)
    (tmp_path / ".env").write_bytes(b"SVC_DATA_DIR=\xff\xfe\n")
    with pytest.raises(ConfigError, match=r"\.env: it is no text in UTF-8$"):
        read_settings(environ={}, folder=tmp_path)


SECRET = "s3a://key:hush@bucket/lake"
NAMED = {
    "the option of an engine": ("htp://hush", (), {}, "--engine names no engine"),
    "its variable": (None, (), {"SVC_ENGINE": "htp://hush"}, "SVC_ENGINE names no engine"),
    "the option of a place": ("sc://spark", (SECRET,), {}, "--engine-data holds more than"),
    "the variable of a place": (
        "sc://spark",
        (),
        {"SVC_ENGINE_DATA": SECRET},
        "SVC_ENGINE_DATA holds more than",
    ),
}


@pytest.mark.parametrize(("engine", "places", "environ", "said"), NAMED.values(), ids=NAMED.keys())
def test_what_is_wrong_with_an_engine_is_told_by_the_name_that_was_written(
    tmp_path, engine, places, environ, said
):
    """Never by its value, which may hold a secret."""
    with pytest.raises(ConfigError, match=f"^{said}") as refused:
        read_engine(engine, places, environ=environ, folder=tmp_path)
    assert "hush" not in str(refused.value)


def test_a_place_is_not_looked_at_where_no_engine_counts(tmp_path):
    """`--engine duckdb` counts here, whatever the variables say."""
    environ = {"SVC_ENGINE": "sc://spark", "SVC_ENGINE_DATA": SECRET}
    assert read_engine("duckdb", environ=environ, folder=tmp_path)[0] == ""


RECEIPT_SECRET, WEBHOOK_SECRET, PROXY_PASSWORD = "rcpt-s3cret", "hook-s3cret", "pr0xy-pass"
NEVER = (CHECKOUT_KEY[9:25], PAYOUT_KEY[11:27], "s3cret", PROXY_PASSWORD)


@pytest.fixture
def settings(tmp_path) -> Settings:
    environ = {
        "SVC_BASE_URL": BASE_URL,
        "SVC_CHECKOUT_KEY": CHECKOUT_KEY,
        "SVC_PAYOUT_KEY": PAYOUT_KEY,
        "SVC_RECEIPT_SECRETS": f"{RECEIPT_SECRET}@2026-08-15T00:00:00Z,older-s3cret",
        "SVC_WEBHOOK_SECRETS": WEBHOOK_SECRET,
        "SVC_PROXY": f"http://user:{PROXY_PASSWORD}@proxy.example:3128",
    }
    return read_settings(environ=environ, folder=tmp_path)


PRINTED: dict[str, Callable[[Settings], str]] = {
    "repr": repr,
    "str": str,
    "format": lambda settings: f"{settings} {settings!r} {settings!a}",
    "percent": lambda settings: "%s %r" % (settings, settings),  # noqa: UP031
    "in containers": lambda settings: repr([{"settings": settings}]),
    "pretty": pprint.pformat,
    "in an exception": lambda settings: "".join(traceback.format_exception(ValueError(settings))),
}  # fmt: skip


@pytest.mark.parametrize("show", PRINTED.values(), ids=PRINTED.keys())
def test_no_way_of_printing_shows_a_secret(settings, show):
    """However settings are printed, no key, secret or proxy password comes out."""
    text = show(settings)
    assert "***" in text
    assert not [secret for secret in NEVER if secret in text]


@pytest.mark.parametrize(
    "write", [pickle.dumps, copy.deepcopy, dataclasses.asdict], ids=lambda f: f.__name__
)
def test_settings_are_not_pickled_or_copied(settings, write):
    """Settings do not travel to a file or another process."""
    with pytest.raises(TypeError, match="not pickled"):
        write(settings)


VARIABLES = [
    *("SVC_BASE_URL", "SVC_CHECKOUT_KEY", "SVC_PAYOUT_KEY", "SVC_PATIENCE"),
    *("SVC_CHECKOUT_KEY_FILE", "SVC_PAYOUT_KEY_FILE", "SVC_RECEIPT_SECRETS_FILE"),
    "SVC_WEBHOOK_SECRETS_FILE",
]
MISPLACED = {
    "a checkout key": CHECKOUT_KEY,
    "a payout key": PAYOUT_KEY,
    "a mistyped key": CHECKOUT_KEY + "1",
    "a secret": RECEIPT_SECRET,
}
RIGHT = {("SVC_CHECKOUT_KEY", "a checkout key"), ("SVC_PAYOUT_KEY", "a payout key")}
CASES = [
    *(
        (name, MISPLACED[what])
        for name in VARIABLES
        for what in MISPLACED
        if (name, what) not in RIGHT
    ),
    ("SVC_BASE_URL", f"https://user:{CHECKOUT_KEY}@pay.example"),
    ("SVC_BASE_URL", f"http://pay.example/{PAYOUT_KEY}"),
]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_key_in_the_wrong_variable_is_not_told(tmp_path, name, text):
    """A key pasted into any variable, or into its address, is refused without being shown."""
    error = raised_by(lambda: read_settings(environ={name: text}, folder=tmp_path))
    assert isinstance(error, ConfigError)
    assert name in str(error)
    told = "".join(traceback.format_exception(error))
    assert not [secret for secret in NEVER if secret in told]


@pytest.mark.parametrize("name", ["SVC_RECEIPT_SECRETS", "SVC_WEBHOOK_SECRETS"])
def test_refused_ring_tells_no_secret(tmp_path, name):
    """A ring oldest first would verify by the wrong dates: the variable is named, and no secret."""
    ring = "a-s3cret@2026-01-01T00:00:00Z,b-s3cret@2026-08-15T00:00:00Z"
    error = raised_by(lambda: read_settings(environ={name: ring}, folder=tmp_path))
    assert f"{name}: " in str(error) and "newest first" in str(error)
    assert "s3cret" not in "".join(traceback.format_exception(error))


def test_dotenv_that_cannot_be_read_tells_no_secret(tmp_path):
    """A broken `.env` is named, its content is not shown."""
    (tmp_path / ".env").write_bytes(f"SVC_CHECKOUT_KEY={CHECKOUT_KEY}\n".encode() + b"\xff")
    error = raised_by(lambda: read_settings(environ={}, folder=tmp_path))
    assert isinstance(error, ConfigError)
    assert CHECKOUT_KEY[9:25] not in "".join(traceback.format_exception(error))
