"""`accept`: accept a finding, once it is said what that does to the money."""

import sys
from getpass import getuser
from typing import Any

import click

from svc_analytics.cli.console import echo_note
from svc_analytics.cli.options import open_lake, shared_options
from svc_analytics.closing.acceptances import Finding, acknowledge, find
from svc_analytics.errors import ConfigError
from svc_analytics.formatting import tables
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.warehouse.acknowledgements import FILE


@click.command()
@click.argument("rule")
@click.argument("record")
@click.option("--reason", required=True, help="Why it is accepted; the statement prints it.")
@click.option("--by", help="Who accepts it; the statement prints it.  [default: your account]")
@click.option("--yes", "is_agreed", is_flag=True, help="Accept it without asking.")
@shared_options
def accept(
    rule: str,
    record: str,
    reason: str,
    by: str | None,
    is_agreed: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Accept a finding, with a reason and a name.

    RULE and RECORD are as check prints them; a payment may be named by its receipt number.
    Says first what accepting it does to the money, and asks. The finding then no longer keeps
    a month from being final: until its record changes, or another one comes under its id.

    \b
    svc-analytics accept status_is_known 5b1f8f0e-0000-4000-8000-000000000000 --reason "a test"
    """
    lake = open_lake(data_dir)
    name = _account() if by is None else by
    found = find(lake, rule, record)
    opened = [each for each in found if not each.accepted]
    for each in opened:
        echo_note(f"{_named(each)}: {each.detail}", "finding", check=each.check)
        echo_note(each.effect, "effect")
    if opened and not is_agreed:
        _ask()
    for each in opened:
        acknowledge(lake, each, reason, name)
    if as_json:
        facts = {"reason": reason, "by": name, "findings": [_as_object(each) for each in found]}
        click.echo(tables.to_json(facts))
        return
    for each in found:
        done = f"was accepted before: {each.detail}" if each.accepted else f"accepted by {name}"
        click.echo(single_line(f"{_named(each)}: {done}"))
    if opened:
        path = f"{lake.place}/{FILE}"
        echo_note(f"written to {path}; the next close looks at it", "written", path=path)


def _named(finding: Finding) -> str:
    return f"{finding.check}, {finding.record_id}"


def _account() -> str:
    """Return the name of whoever runs the command."""
    try:
        return getuser()
    except (OSError, KeyError) as error:  # an account without a name, as in a container
        raise ConfigError("this account has no name: say who accepts it, with --by NAME") from error


def _ask() -> None:
    """Ask whether to accept; end the command where nobody can be asked, or the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("nobody is at a terminal to be asked: with --yes it is accepted as it is")
    if not click.confirm("Accept it?", err=True):
        echo_note("nothing was accepted", "not_accepted")
        raise SystemExit(1)


def _as_object(finding: Finding) -> dict[str, Any]:
    """Return a finding as an object for JSON: as it was before, and what accepting it did."""
    return {
        "check_name": finding.check,
        "record_id": finding.record_id or None,
        "detail": finding.detail,
        "content": finding.content,
        "effect": finding.effect,
        "was_accepted": finding.accepted or None,
    }
