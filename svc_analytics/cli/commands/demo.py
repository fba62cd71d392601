"""`demo`: extract, verify and close a month on the local sandbox."""

from shlex import quote

import click

from svc_analytics.cli.commands.statement import statement_report
from svc_analytics.cli.console import echo_note
from svc_analytics.cli.shared_options import number_option, shared_options
from svc_analytics.config import read_data_dir
from svc_analytics.demo import run_demo
from svc_analytics.errors import install
from svc_analytics.extraction import update
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.statement import Statement


@click.command()
@number_option("--months", 12, "Months of history.", most=120)
@number_option("--payments", 20_000, "Payments in all months together.")
@click.option(
    "--seed", default=7, show_default=True, help="The same seed makes up the same merchant."
)
@shared_options
def demo(*, months: int, payments: int, seed: int, data_dir: str | None, as_json: bool) -> None:
    """Try everything on the local sandbox, without any key.

    Takes about half a minute, and needs no account. Makes up a merchant, extracts its
    records over HTTP, verifies its receipts, closes the last full month, and suggests
    what to try next.
    """
    lake = Lakehouse(read_data_dir(data_dir))
    with update.page_bar() as bar:
        new, folder = run_demo(lake, months, payments, seed, note=_say, on_page=bar.show)
    click.echo(statement_report(new, folder, as_json=as_json))
    if not as_json:
        path = None if data_dir is None else lake.place
        click.echo("\n" + what_next(new, path, _merchant(months, payments, seed)))


def _say(text: str) -> None:
    echo_note(text, "step")


def _merchant(months: int, payments: int, seed: int) -> str:
    """Write the options of `sandbox serve` that make the same merchant again."""
    options = {"months": (months, 12), "payments": (payments, 20_000), "seed": (seed, 7)}
    return "".join(
        f" --{name} {value}" for name, (value, usual) in options.items() if value != usual
    )


def what_next(new: Statement, data_dir: str | None, merchant: str = "") -> str:
    """Name the next things to try, as commands that can be pasted.

    `merchant` are the options that make the sandbox's merchant again.
    """
    option = f" --data-dir {quote(data_dir)}" if data_dir else ""
    query = "select month, currency, net_settlement from net_settlement_monthly"
    return "\n".join(
        [
            "Try next:",
            f"  svc-analytics status{option}",
            f'  svc-analytics sql{option} "{query}"',
            f"  svc-analytics statement{option} --month {new.period.shift(-1).label}"
            " --zone Asia/Tehran",
            f"  svc-analytics sandbox serve --env-file .env{merchant}",
            "    in another terminal, this month: then extract, receipts verify and close work too",
            f"  {install('lab,sandbox')} && svc-analytics lab{option}",
        ]
    )
