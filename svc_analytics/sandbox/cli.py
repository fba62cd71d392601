"""Commands `svc-analytics sandbox seed` and `serve`.

They import the sandbox inside functions, so that `--help` answers at once and without the
optional web framework.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from svc_analytics.errors import needs_extra

if TYPE_CHECKING:
    from svc_analytics.sandbox.scenario import Scenario
    from svc_analytics.sandbox.store import Store

DEFAULT_PORT = 8700

_PARAMETERS = (
    click.option("--seed", type=int, help="Which merchant to make up.  [default: 7]"),
    click.option("--months", type=int, help="Full months before this one.  [default: 12]"),
    click.option("--payments", type=int, help="Payments in these months.  [default: 20000]"),
    click.option(
        "--scenario",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="TOML file with the habits of the merchant; see the README of the sandbox.",
    ),
)


def _scenario_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_PARAMETERS):
        command = option(command)
    return command


@click.group()
def sandbox() -> None:
    """Run the Merchant Payments API on this machine, with made-up records and keys."""


@sandbox.command("seed")
@click.option("--db", required=True, type=click.Path(path_type=Path), help="Database file to fill.")
@_scenario_options
def seed_command(db: Path, scenario: Path | None, **parameters: int | None) -> None:
    """Fill a database file with a merchant's records; leave a filled file unchanged."""
    with _seeded_store(db, scenario, **parameters) as store:
        click.echo(f"{db} holds {store.scenario()}")


@sandbox.command("serve")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to serve on; 0 takes a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address.")
@click.option("--db", type=click.Path(path_type=Path), help="Keep the records in this file.")
@click.option(
    "--env-file", type=click.Path(path_type=Path), help="Write the settings to this file."
)
@_scenario_options
def serve_command(
    port: int,
    host: str,
    db: Path | None,
    env_file: Path | None,
    scenario: Path | None,
    **parameters: int | None,
) -> None:
    """Serve the API until Ctrl-C."""
    with needs_extra("sandbox"):
        from svc_analytics.sandbox.server import serve, write_env_file
        from svc_analytics.sandbox.service import Service
    with (
        _seeded_store(db, scenario, **parameters) as store,
        serve(Service(store), port=port, host=host) as running,
    ):
        if env_file:
            write_env_file(env_file, running.environment)
        click.echo(_welcome(running.base_url, env_file))
        try:
            Event().wait()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


@contextmanager
def _seeded_store(
    db: Path | None, description: Path | None, **parameters: int | None
) -> "Iterator[Store]":
    from tqdm import tqdm  # loaded here, as all below, so that --help answers at once

    from svc_analytics.sandbox.platform import seed
    from svc_analytics.sandbox.scenario import read_scenario_file
    from svc_analytics.sandbox.store import Store

    options: dict[str, Any] = read_scenario_file(description) if description else {}
    options |= {name: value for name, value in parameters.items() if value is not None}
    with Store(db) as store:
        scenario = _scenario(store.scenario(), options)
        with tqdm(desc="seeding", unit=" payments", disable=None, leave=False) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            seed(store, scenario, show)
        yield store


def _scenario(held: "Scenario | None", options: dict[str, Any]) -> "Scenario":
    """Return the file's own scenario unless the options ask for another one."""
    from svc_analytics.sandbox.clock import Clock  # as above
    from svc_analytics.sandbox.scenario import Scenario

    if held and all(getattr(held, name) == value for name, value in options.items()):
        return held
    return Scenario(until=Clock().now(), **options)


def _welcome(base_url: str, env_file: Path | None) -> str:
    if env_file is None:
        hint = "add --env-file .env to write its settings where svc-analytics finds them"
    elif env_file.name == ".env":
        hint = f"settings are in {env_file}: run svc-analytics in {env_file.resolve().parent}"
    else:
        hint = f"settings are in {env_file}: set -a; . {quote(str(env_file.resolve()))}; set +a"
    more = f"its console is at {base_url}/console, its control API at {base_url}/control"
    return f"The sandbox answers at {base_url} until Ctrl-C\n{hint}\n{more}"
