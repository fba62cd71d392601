"""Where the text of a setting comes from: the environment, a secret file, or `.env`.

A name in `.env` that begins with SVC_ and that nothing reads is refused: a misspelt zone must
not seal months in another one. The environment may hold names of other programs.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from dotenv.main import DotEnv

from svc_analytics.commands import COMMANDS
from svc_analytics.errors import ConfigError

T = TypeVar("T")
PREFIX = "SVC_"
SETTINGS = (
    *("SVC_BASE_URL", "SVC_CHECKOUT_KEY", "SVC_PAYOUT_KEY", "SVC_PROXY", "SVC_PATIENCE"),
    *("SVC_RECEIPT_SECRETS", "SVC_WEBHOOK_SECRETS"),
    *("SVC_DATA_DIR", "SVC_CACHE_DIR", "SVC_STATE_DIR"),
    *("SVC_MEMORY", "SVC_ENGINE", "SVC_ENGINE_DATA"),
    *("SVC_RATES", "SVC_CA_FILE", "SVC_NOTIFY", "SVC_PING_URL", "SVC_METRICS_FILE"),
    *("SVC_LOG", "SVC_SIGNING_KEY", "SVC_TSA_URL", "SVC_RATES_GAPS", "SVC_MATCH"),
)
_FILE = "_FILE"
_CLOSE = 0.85  # how like a known name another must be to be taken for a misspelt one


@dataclass(frozen=True)
class Text:
    """The text of a setting, and the variable it came from; both empty where it is not set."""

    text: str = ""
    origin: str = ""


@dataclass(frozen=True)
class SettingPlaces:
    """The places a setting's text is looked up in, in the documented order."""

    environ: Mapping[str, str]
    folder: Path

    def find(self, name: str) -> Text:
        """Return a setting's text: from the environment, a file that it names, or `.env`."""
        for values, place in ((self.environ, ""), (self.dotenv, " in .env")):
            if text := values.get(name):
                return Text(text.strip(), f"{name}{place}")
            if path := values.get(f"{name}{_FILE}"):
                return Text(self._read(name, path), f"{name}{_FILE}{place}")
        return Text()

    def text(self, name: str) -> str:
        """Return a setting's text, empty where it is not set."""
        return self.find(name).text

    def read(self, name: str, reader: Callable[[str], T]) -> T:
        """Read a setting's text; an error of the reader names it, and `.env` if it stands there."""
        setting = self.find(name)
        try:
            return reader(setting.text)
        except ConfigError as error:
            message = str(error) if name in str(error) else f"{name}: {error}"
            is_in_file = setting.origin.endswith(".env")
            raise ConfigError(f"{message} (in .env)" if is_in_file else message) from error

    @property
    def as_written(self) -> Mapping[str, str | None]:
        """The variables of `.env`, also those that nothing reads."""
        return dict(self._lines)

    @cached_property
    def _lines(self) -> list[tuple[str, str | None]]:
        """The variables of `.env`, each as often as it stands there."""
        file = self.folder / ".env"
        try:
            if not file.is_file():
                return []
            return list(DotEnv(file, interpolate=False, encoding="utf-8-sig").parse())
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {file}: {why_unreadable(error)}") from error

    @cached_property
    def dotenv(self) -> Mapping[str, str]:
        """The variables of `.env` that have a value.

        Of ours, what nothing reads is refused, and what has two values.
        """
        file, written = self.folder / ".env", self.as_written
        for name, value in self._lines:
            if name.startswith(PREFIX) and not is_known(name):
                raise ConfigError(f"in {file}: {unread(name)}")
            if name.startswith(PREFIX) and value and value != written[name]:
                raise ConfigError(f"in {file}: {name} stands twice: keep the line that counts")
        return {name: value for name, value in written.items() if value}

    def _read(self, name: str, path: str) -> str:
        try:
            return Path(path).read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            # Show neither path nor cause: someone may have put the key itself there.
            message = f"cannot read the file that {name}{_FILE} names: {why_unreadable(error)}"
            raise ConfigError(message) from None


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Say why a file is no text that can be read, without its name and its bytes."""
    return getattr(error, "strerror", None) or "it is no text in UTF-8"


def here(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> SettingPlaces:
    """Return the source of this process, or of another environment and folder."""
    return SettingPlaces(os.environ if environ is None else environ, folder or Path.cwd())


def is_known(name: str) -> bool:
    """Tell whether a variable is a setting, or may be an option of a command.

    >>> is_known("SVC_PAYOUT_KEY_FILE"), is_known("SVC_CLOSE_ZONE"), is_known("SVC_CLOSED_ZONE")
    (True, True, False)
    """
    return is_setting(name) or command_of(name) is not None


def is_setting(name: str) -> bool:
    """Tell whether a variable is a setting, or names the file of one."""
    return name in SETTINGS or name.removesuffix(_FILE) in SETTINGS


def command_of(name: str) -> str | None:
    """Return the command whose option a variable may give.

    >>> command_of("SVC_STATEMENT_ZONE"), command_of("SVC_STATEMENT_VERIFY_JSON")
    ('statement', 'statement-verify')
    """
    owners = [each for each in COMMANDS if name.startswith(f"{variable(each)}_")]
    return max(owners, key=len, default=None)


def variable(*words: str) -> str:
    """Return the variable of a command, or of its option.

    >>> variable("statement-verify", "json")
    'SVC_STATEMENT_VERIFY_JSON'
    """
    return PREFIX + re.sub(r"[ -]", "_", "_".join(words)).upper()


def unread(name: str, known: Iterable[str] = ()) -> str:
    """Say that nothing reads a variable, and which known one it is like.

    >>> unread("SVC_STATMENT_ZONE")
    'nothing reads SVC_STATMENT_ZONE: did you mean SVC_STATEMENT_ZONE?'
    """
    message = f"nothing reads {name}"
    near = near_miss(name, known)
    return f"{message}: did you mean {near}?" if near else message


def near_miss(name: str, known: Iterable[str] = ()) -> str | None:
    """Return the variable that a name is like: a setting, a known one, or that of a command."""
    suffix = _FILE if name.endswith(_FILE) else ""
    bare = name.removesuffix(_FILE)
    if near := get_close_matches(bare, {*SETTINGS, *known}, n=1, cutoff=_CLOSE):
        return near[0] + suffix
    words = bare.split("_")
    for count in (2, 3):  # SVC_ and the words of a command
        head, option = "_".join(words[:count]), "_".join(words[count:])
        if near := get_close_matches(head, map(variable, COMMANDS), n=1, cutoff=_CLOSE):
            return f"{near[0]}_{option}{suffix}" if option else near[0]
    return None
