"""`assert`: write down the balance of a coin, and say what the records explain of it."""

import re
from datetime import date
from typing import Any

import click

from svc_analytics.cli.console import echo_note
from svc_analytics.cli.options import open_lake, shared_options, zone_option
from svc_analytics.formatting import tables
from svc_analytics.formatting.numbers import paddings, plain_spaces
from svc_analytics.instants import format_instant, now, parse_bound
from svc_analytics.money import format_amount
from svc_analytics.periods import midnight
from svc_analytics.statements.balance_assertions import FILE
from svc_analytics.statements.wallet_balance import WalletBalance, assert_balance


@click.command("assert")
@click.argument("at")
@click.argument("coin")
@click.argument("balance")
@click.option("--note", default="", help="Who saw the balance, or what explains it.")
@zone_option
@shared_options
def assert_(
    at: str, coin: str, balance: str, note: str, zone: str, data_dir: str | None, as_json: bool
) -> None:
    """Write down a coin's balance, as the console shows it.

    AT is now, a date (its midnight in --zone), or an instant such as 2026-11-01T09:30:00Z.
    The balance goes into assertions.csv of the lake, and statements compare it with the
    records. COIN is a coin's slug; BALANCE is a plain number of that coin.

    \b
    svc-analytics assert 2026-11-01 btc 0.31 --note "seen by Sara"
    """
    lake = open_lake(data_dir)
    wallet = assert_balance(lake, _read_at(at, zone), coin, balance, note)
    click.echo(tables.to_json(_as_object(wallet)) if as_json else _text(wallet))
    path = f"{lake.place}/{FILE}"
    echo_note(f"written to {path}; the statement of its month shows both", "written", path=path)


def _read_at(text: str, zone: str) -> int:
    """Return the instant that a person means, in UTC microseconds."""
    if text == "now":
        return now()
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        parse_bound(text)  # names a date that does not exist
        return midnight(date.fromisoformat(text), zone)
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
