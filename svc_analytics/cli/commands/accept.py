"""`accept`, `assert`: what a person writes down: why a finding is right, and a coin's balance."""

import re
import sys
from datetime import date
from itertools import groupby
from typing import Any

import click

from svc_analytics.cli.console import echo_note
from svc_analytics.cli.shared_options import account_name, open_lake, shared_options, zone_option
from svc_analytics.closing.acceptances import Finding, acknowledge, find, find_all
from svc_analytics.errors import ConfigError
from svc_analytics.formatting import tables
from svc_analytics.formatting.cells import paddings, plain_spaces
from svc_analytics.formatting.texts import single_line, wrapped
from svc_analytics.instants import format_instant, now, parse_bound
from svc_analytics.money import format_amount
from svc_analytics.periods import GREGORIAN, clock_of
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.statements.balance_assertions import FILE, WalletBalance, assert_balance


@click.command("assert")
@click.argument("at")
@click.argument("coin")
@click.argument("balance")
@click.option("--note", default="", help="Who saw the balance, or what explains it.")
@zone_option
@shared_options
def assert_(
    *, at: str, coin: str, balance: str, note: str, zone: str, data_dir: str | None, as_json: bool
) -> None:
    """Write down a coin's balance, as the console shows it.

    AT is now, a date (its midnight in --zone), or an instant such as 2026-11-01T09:30:00Z.
    The balance goes into assertions.csv of the lake, and statements compare it with the
    records. COIN is a coin's slug; BALANCE is a plain number of that coin.

    \b
    svc-analytics assert 2026-11-01 btc 0.31 --note "seen by Sara"
    """
    lake = open_lake(data_dir)
    wallet = assert_balance(lake, _read_at(at, lake_zone(lake, zone)), coin, balance, note)
    click.echo(tables.to_json(_as_object(wallet)) if as_json else _text(wallet))
    path = f"{lake.place}/{FILE}"
    echo_note(f"written to {path}; the statement of its month shows both", "written", path=path)


def _read_at(text: str, zone: str) -> int:
    """Return the instant that a person means, in UTC microseconds."""
    if text == "now":
        return now()
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        parse_bound(text)  # names a date that does not exist
        return clock_of(zone, GREGORIAN).midnight(date.fromisoformat(text))
    return parse_bound(text)


def _text(wallet: WalletBalance) -> str:
    """Word the part of a balance that the records explain, and the rest."""
    when = format_instant(wallet.at)
    if wallet.explained is None or wallet.outside is None:
        return (
            f"asserted balance  {format_amount(wallet.balance)} {wallet.currency} at {when}\n"
            "what the records explain of it is unknown: not all records up to then were read; "
            "run svc-analytics extract, then make the statement"
        )
    heads = (
        f"asserted balance, {when}",
        "explained by payments, refunds and payouts",
        "not explained: deposits, withdrawals, conversions",
    )
    texts = [format_amount(each) for each in (wallet.balance, wallet.explained, wallet.outside)]
    amounts = [text + plain_spaces(pad) for text, pad in zip(texts, paddings(texts), strict=True)]
    wide, long = max(map(len, heads)), max(map(len, amounts))
    return "\n".join(
        f"{head:{wide}}  {amount:>{long}} {wallet.currency}"
        for head, amount in zip(heads, amounts, strict=True)
    )


def _as_object(wallet: WalletBalance) -> dict[str, Any]:
    """Return a balance as an object for JSON; what is unknown is null."""
    return {
        "at": format_instant(wallet.at),
        "currency": wallet.currency,
        "asserted_balance": format_amount(wallet.balance),
        "explained": None if wallet.explained is None else format_amount(wallet.explained),
        "outside_movement": None if wallet.outside is None else format_amount(wallet.outside),
    }


@click.command()
@click.argument("rule")
@click.argument("record", required=False)
@click.option("--all", "is_all", is_flag=True, help="Accept all that RULE finds, for one reason.")
@click.option("--reason", required=True, help="Why it is accepted; the statement prints it.")
@click.option("--by", help="Who accepts it; the statement prints it.  [default: your account]")
@click.option("--yes", "is_agreed", is_flag=True, help="Accept it without asking.")
@shared_options
def accept(
    *,
    rule: str,
    record: str | None,
    is_all: bool,
    reason: str,
    by: str | None,
    is_agreed: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Accept a finding, with a reason and a name.

    RULE and RECORD are as check --all prints them; a payment may be named by its receipt number.
    With --all in the place of RECORD, all that a rule finds is accepted, each record by its id;
    receipts and files are looked at one by one. Says first what accepting it does to the money,
    and asks. The finding then no longer keeps a month from being final: until its record
    changes, or another one comes under its id.

    \b
    svc-analytics accept status_is_known 5b1f8f0e-0000-4000-8000-000000000000 --reason "a test"
    """
    if (record is None) != is_all:
        raise ConfigError("name the RECORD, or give --all for all that the rule finds")
    lake, name = open_lake(data_dir), account_name() if by is None else by
    findings = find(lake, rule, record) if record else find_all(lake, rule)
    new = [each for each in findings if not each.accepted]
    _announce(new, is_agreed=is_agreed)
    acknowledge(lake, new, reason, name)
    if as_json:
        facts = {"reason": reason, "by": name, "findings": [*map(_finding_object, findings)]}
        click.echo(tables.to_json(facts))
        return
    for each in findings:
        text = f"Accepted before: {each.detail}" if each.accepted else each.outcome
        click.echo(wrapped(single_line(f"{each.record_id}: {text}")))


def _announce(findings: list[Finding], *, is_agreed: bool) -> None:
    """Say what accepting findings does to the money, and ask whether to, unless it is agreed."""
    for effect, those in groupby(findings, key=lambda each: each.effect):
        for each in those:
            named = f"{each.record_id}: {each.detail}"
            echo_note(named, "finding", check=each.check)
        echo_note(effect, "finding", check=each.check)
    if is_agreed or not findings:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("nobody is at a terminal to be asked: with --yes it is accepted as it is")
    asked = "Accept it?" if len(findings) == 1 else f"Accept all {len(findings):,}?"
    if not click.confirm(asked, err=True):
        echo_note("nothing was accepted", "not_accepted")
        raise SystemExit(1)


def _finding_object(finding: Finding) -> dict[str, Any]:
    """Return a finding as an object for JSON: as it was before, and what accepting it did."""
    return {
        "check_name": finding.check,
        "record_id": finding.record_id or None,
        "detail": finding.detail,
        "content": finding.content,
        "effect": finding.effect,
        "was_accepted": finding.accepted or None,
    }
