"""Options that variables give, in the environment, a file or `.env`, as settings are given.

`SVC_STATEMENT_ZONE` gives `statement` its --zone, unless the command line does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from svc_analytics.cli.console import echo_note
from svc_analytics.environment import (
    PREFIX,
    SettingPlaces,
    Text,
    command_of,
    is_setting,
    near_miss,
    unread,
    variable,
)
from svc_analytics.errors import ConfigError


@dataclass(frozen=True)
class OptionSetting:
    """An option that a variable gives, and the words of the command that takes it."""

    words: tuple[str, ...]
    option: click.Option
    setting: Text

    @property
    def origin(self) -> str:
        """Where the option comes from, for a note or an error."""
        return f"{self.option.opts[-1]} is from {self.setting.origin}"

    def is_named_in(self, message: str) -> bool:
        """Tell whether a message speaks of the option, or shows what it was given."""
        return self.setting.text in message or any(name in message for name in self.option.opts)

    def value(self, context: click.Context) -> Any:
        """Return the option's value as click takes a default; None for a flag that is off."""
        text, option = self.setting.text, self.option
        if option.multiple or option.nargs != 1:
            return option.type.split_envvar_value(text)
        if option.is_flag and not option.is_bool_flag:
            return option.flag_value if click.BOOL.convert(text, option, context) else None
        return text


def options_of(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], click.Option]]:
    """Yield each option of a command and of those below it, by each variable that gives it."""
    for name, below in getattr(command, "commands", {}).items():
        yield from options_of(below, (*words, name))
    for option in command.params:
        if isinstance(option, click.Option):
            named = [name.lstrip("-") for name in option.opts if name.startswith("--")]
            for name in dict.fromkeys([*named, option.name or ""]):
                yield variable(*words, name), words, option


def option_settings(
    command: click.Command, name: str, source: SettingPlaces
) -> list[OptionSetting]:
    """Return the options that variables give a command; refuse in `.env` those it has not."""
    options = list(options_of(command, (name,)))
    known = {each for each, _, _ in options}
    for other in _strange(source.dotenv, name, known):
        raise ConfigError(f"in {source.folder / '.env'}: {unread(other, known)}")
    for other in _strange(source.environ, name, known):
        if near_miss(other, known):
            echo_note(unread(other, known), "unread_variable", "warning", name=other)
    settings = [OptionSetting(words, option, source.find(each)) for each, words, option in options]
    return [each for each in settings if each.setting.text]


def _strange(variables: Mapping[str, str], command: str, known: Collection[str]) -> list[str]:
    """Return the variables of ours that are no setting, and no option of this command."""
    return [
        name
        for name in variables
        if name.startswith(PREFIX)
        and command_of(name) in (None, command)
        and not is_setting(name)
        and not {name, name.removesuffix("_FILE")} & set(known)
    ]


def default_map(settings: list[OptionSetting], context: click.Context) -> dict[str, Any]:
    """Return the options as click's map of defaults, one level deeper for each word."""
    defaults: dict[str, Any] = {}
    for each in settings:
        level = defaults
        for word in each.words:
            level = level.setdefault(word, {})
        value = each.value(context)
        if value is not None:
            level.setdefault(each.option.name, value)
    return defaults


def note_origins(error: ConfigError | click.UsageError, settings: list[OptionSetting]) -> None:
    """Note on an error which of the options that it speaks of a variable gave."""
    message = error.format_message() if isinstance(error, click.UsageError) else str(error)
    for note in dict.fromkeys(each.origin for each in settings if each.is_named_in(message)):
        error.add_note(note)
