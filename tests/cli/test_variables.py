"""Options count from `.env` as settings do, and a misspelt one is refused by its name."""

import json
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import click
import pytest

import svc_analytics as svc
from svc_analytics.cli.app import OptionSetting, cli, default_map, options_of
from svc_analytics.commands import COMMANDS
from svc_analytics.environment import Text, is_known
from svc_analytics.errors import ConfigError
from svc_analytics.files import cache_folder
from svc_analytics.lakehouse import Lakehouse
from tests.support.desks import Run
from tests.support.prepared import extracted

LEDGER = """
 kind     currency  amount  fee  at                of  usd_value
 payment  btc       1       0    2026-08-31T22:00
"""


@pytest.fixture
def lake(desk) -> Lakehouse:
    """A payment at 22:00 of 31 August in UTC, which is September in Tehran."""
    desk.serve(LEDGER)
    return extracted(desk).lake


def write(*lines: str) -> None:
    Path(".env").write_text("\n".join(lines) + "\n")


def label(run: Run, *words: str) -> str:
    """The label of the statement that a command makes."""
    done = run("statement", "2026-09", "--json", "--out", "out", *words)
    return str(json.loads(done.out)["label"])


@pytest.mark.thorough
def test_an_option_comes_before_the_environment_and_that_before_dotenv(run, lake, monkeypatch):
    """The order of settings is the order of options."""
    words = ("--data-dir", str(lake.path))
    write("SVC_STATEMENT_ZONE=Asia/Tehran")
    assert label(run, *words) == "2026-09@Asia-Tehran"
    Path("zone").write_text("Asia/Tokyo\n")
    monkeypatch.setenv("SVC_STATEMENT_ZONE_FILE", "zone")
    assert label(run, *words) == "2026-09@Asia-Tokyo"
    monkeypatch.setenv("SVC_STATEMENT_ZONE", "Europe/Lisbon")
    assert label(run, *words) == "2026-09@Europe-Lisbon"
    assert label(run, *words, "--zone", "UTC") == "2026-09"


def every_option() -> Iterator[tuple[str, tuple[str, ...], click.Option]]:
    """Each option of each command, by each variable that gives it."""
    for name in sorted(COMMANDS):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield from options_of(command, (name,))


@pytest.mark.parametrize(
    ("variable", "words", "option"), [pytest.param(*each, id=each[0]) for each in every_option()]
)
def test_a_variable_gives_each_option_what_the_command_line_would(variable, words, option):
    """Texts, numbers, choices, flags, and options that are taken several times."""
    alone = copy(option)
    alone.callback = None
    command = click.Command(words[-1], params=[alone])
    text = str(next(iter(getattr(option.type, "choices", ["3"]))))
    line = [option.opts[-1]] * 3 if option.count else [option.opts[-1], text]
    if option.is_flag:
        text, line = "1", line[:1]
    defaults = default_map([OptionSetting(words, option, Text(text, variable))], click.Context(cli))
    for word in words:
        defaults = defaults[word]
    by_variable = command.make_context(words[-1], [], default_map=defaults)
    assert by_variable.params == command.make_context(words[-1], line).params
    assert is_known(variable)


MISSPELT = {
    "SVC_STATMENT_ZONE=Asia/Tehran": "SVC_STATEMENT_ZONE",
    "SVC_DATADIR=other": "SVC_DATA_DIR",
    "SVC_RECEIPT_SECRET=hush": "SVC_RECEIPT_SECRETS",
    "SVC_RECEIPT_SECRET_FILE=hush": "SVC_RECEIPT_SECRETS_FILE",
    "export SVC_STATEMENT_FORMT=json": "SVC_STATEMENT_FORMAT",
    "SVC_STATMENT_ZONE=": "SVC_STATEMENT_ZONE",
}


@pytest.mark.parametrize(("line", "meant"), MISSPELT.items())
def test_what_nothing_reads_in_dotenv_is_refused_with_the_near_miss(run, lake, line, meant):
    """Exit code 2 and one line; no value of it is shown, and nothing is written."""
    write(line)
    done = run("statement", "2026-09", "--data-dir", str(lake.path), "--out", "out")
    name, _, value = line.removeprefix("export ").partition("=")
    assert done.code == 2 and not Path("out").exists()
    assert done.lines[0].endswith(f"nothing reads {name}: did you mean {meant}?")
    assert len(done.lines) == 1 and not (value and value in done.err)


def test_a_variable_with_two_values_in_dotenv_is_refused(run):
    """The last line counted, in silence: a key that was rotated below would hide the one above.

    The same value twice is one; so is what another program reads.
    """
    write("SVC_DATA_DIR=a\nSVC_PATIENCE=3\nSVC_DATA_DIR=b")
    done = run("status")
    assert done.code == 2 and done.lines[0].endswith(
        "SVC_DATA_DIR stands twice: keep the line that counts"
    )
    write("SVC_DATA_DIR=\nSVC_DATA_DIR=a\nexport SVC_DATA_DIR='a'\nHOUSE=green\nHOUSE=red")
    assert svc.read_settings().data_dir == Path("a")


def test_a_name_like_no_other_is_refused_without_a_guess(run):
    write("SVC_HOUSE=green")
    assert run("status").lines[0].endswith("nothing reads SVC_HOUSE")


def test_python_refuses_it_too():
    """A script reads the same file."""
    write("SVC_STATMENT_ZONE=Asia/Tehran")
    with pytest.raises(ConfigError, match=r"did you mean SVC_STATEMENT_ZONE\?"):
        svc.read_settings()


def test_help_is_shown_whatever_dotenv_holds(run):
    write("SVC_HOUSE=green")
    assert run("statement", "--help").code == 0


def test_names_for_a_later_version_and_of_other_programs_stand_in_nobodys_way(run):
    """What a later version reads may be there already; what is not ours is not looked at."""
    later = ("CA_FILE", "NOTIFY", "NOTIFY_FILE", "PING_URL", "METRICS_FILE", "SIGNING_KEY")
    write(*(f"SVC_{name}=x" for name in (*later, "TSA_URL")), "PORT=1", "MYSVC_PORT=1")
    assert run("figures").code == 0


def test_in_the_environment_a_near_miss_is_a_note_and_any_other_name_is_none(run, monkeypatch):
    """It also holds the variables of other programs: a cluster sets SVC_PORT for its services."""
    for name in ("SVC_PORT", "SVC_SERVICE_HOST", "SVC_STATMENT_ZONE", "SVC_FIGURES_JSN"):
        monkeypatch.setenv(name, "x")
    done = run("figures")
    said = {line.partition("reads ")[2] for line in done.lines}
    assert done.code == 0 and said == {
        "SVC_STATMENT_ZONE: did you mean SVC_STATEMENT_ZONE?",
        "SVC_FIGURES_JSN: did you mean SVC_FIGURES_JSON?",
    }


WRONG = {
    "SVC_STATEMENT_ZONE=Asia/Teheran": "--zone",
    "SVC_STATEMENT_CALENDAR=julian": "--calendar",
    "SVC_STATEMENT_EXACT=perhaps": "--exact",
    "SVC_STATEMENT_FORMAT=docx": "--format",
    "SVC_STATEMENT_LAST_MONTH=1": "--last-month",
}


@pytest.mark.parametrize(("line", "option"), WRONG.items())
def test_a_wrong_value_is_told_with_its_variable_and_dotenv(run, lake, line, option):
    """As on the command line, and where it stands."""
    write(line)
    done = run("statement", "2026-09", "--data-dir", str(lake.path), "--out", "out")
    name = line.partition("=")[0]
    assert done.code == 2 and f"{option} is from {name} in .env" in done.err


def test_a_wrong_setting_is_told_with_dotenv(run):
    write("SVC_PATIENCE=soon")
    assert run("extract").lines == [
        "svc-analytics: error: SVC_PATIENCE is not a number of seconds (in .env)"
    ]


def test_v_says_which_options_variables_gave(run):
    write("SVC_FIGURES_JSON=1")
    assert "--json is from SVC_FIGURES_JSON in .env" in run("figures", "-v").err
    assert run("figures").err == ""


def test_a_flag_that_is_off_is_as_if_it_were_not_there(run, lake):
    """No month stands beside the one that is named wrongly here."""
    write("SVC_STATEMENT_LAST_MONTH=0", "SVC_STATEMENT_EXACT=no")
    assert "'soon' is not a month" in run("statement", "soon", "--data-dir", str(lake.path)).err


def test_a_lake_opened_without_a_path_is_that_of_the_settings(lake, monkeypatch):
    """Of `.env`, before it of the environment, and without either `data`: as for a command."""
    assert svc.open_lake().path == Path.cwd() / "data"
    write(f"SVC_DATA_DIR={lake.path}")
    assert svc.open_lake().merchant_id == lake.merchant_id
    monkeypatch.setenv("SVC_DATA_DIR", "elsewhere")
    assert svc.open_lake().path == Path.cwd() / "elsewhere"
    assert svc.open_lake("here").path == Path.cwd() / "here"


def test_the_cache_of_dotenv_counts(monkeypatch, tmp_path):
    """Settings of one file hold together."""
    monkeypatch.delenv("SVC_CACHE_DIR", raising=False)
    write("SVC_CACHE_DIR=kept")
    assert cache_folder() == Path.cwd() / "kept"
