"""`notebook` and `lab`: a notebook run to a page, and JupyterLab with the settings in place."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click
from dotenv import dotenv_values
from tqdm.auto import tqdm

from svc_analytics.cli.console import echo_note
from svc_analytics.cli.options import open_lake, shared_options
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write
from svc_analytics.formatting.tables import to_json
from svc_analytics.lake.lake import Lake, last_full_month
from svc_analytics.notebook import runner
from svc_analytics.notebook.runner import working_folder
from svc_analytics.periods import month as parse_month


@click.command()
@click.argument("name")
@click.option("--month", metavar="M", help="2026-10.  [default: the lake's last full month]")
@click.option("--zone", default="UTC", show_default=True, help="An IANA zone, such as Asia/Tehran.")
@click.option("--out", metavar="FILE", help="The page to write.  [default: NAME-MONTH.html]")
@shared_options
def notebook(
    name: str, month: str | None, zone: str, out: str | None, data_dir: str | None, as_json: bool
) -> None:
    """Run a notebook for a month and write an HTML page.

    NAME is its number, such as 02, or its name. The notebook itself stays as it is.
    """
    lake = open_lake(data_dir)
    path = runner.find_notebook(name)
    chosen = _month(path, lake, month, zone)
    target = Path(out or "-".join([path.stem, *([chosen] if chosen else [])]) + ".html")
    if not target.parent.is_dir():  # said before the run, not after it
        raise ConfigError(f"cannot write {target}: there is no folder {target.parent}")
    parameters = {"DATA_DIR": str(lake.path), "ZONE": zone} | ({"MONTH": chosen} if chosen else {})
    with tqdm(desc=path.stem, unit=" cells", disable=None, leave=False) as bar:
        done = runner.run_notebook(path, parameters, on_cell=lambda _: bar.update())
    _write(target, runner.to_html(done, path.stem))
    click.echo(
        to_json({"notebook": path.stem, "month": chosen, "file": str(target)})
        if as_json
        else str(target)
    )


def _month(path: Path, lake: Lake, month: str | None, zone: str) -> str | None:
    """Return the month a notebook is run for; None for one that speaks of no month."""
    if "MONTH" in runner.parameters_of(runner.read_notebook(path)):
        return parse_month(month, zone).label if month else last_full_month(lake, zone)
    if month:
        raise ConfigError(f"{path.stem} has no parameter MONTH: run it without --month")
    return None


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--data-dir", metavar="DIR", help="The lake's folder.  [default: SVC_DATA_DIR or data]"
)
def lab(arguments: tuple[str, ...], data_dir: str | None) -> None:
    """Open the notebooks in JupyterLab.

    They get the settings of .env. Further ARGUMENTS go to JupyterLab, such as
    --no-browser or --port 8890.
    """
    if find_spec("jupyterlab") is None:
        raise ConfigError('jupyterlab is not installed: pip install -e ".[lab]"')
    environment = lab_environment(data_dir)
    folder = working_folder()
    echo_note(f"JupyterLab opens the folder {folder}")
    words = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder}", *arguments]
    os.execvpe(sys.executable, words, environment)  # noqa: S606


def lab_environment(data_dir: str | None) -> dict[str, str]:
    """Return the environment of the notebooks: this one, and before it what `.env` adds.

    Checked first, so that a wrong setting is told here and not in a cell.
    """
    settings = read_settings(data_dir)
    file = Path.cwd() / ".env"
    held = dotenv_values(file, interpolate=False, encoding="utf-8-sig") if file.is_file() else {}
    here = {name: _from_here(name, value) for name, value in os.environ.items() if value}
    added = {
        name: _from_here(name, value)
        for name, value in held.items()
        if value and name.startswith("SVC_") and not {name, _twin(name)} & set(here)
    }
    return added | here | {"SVC_DATA_DIR": str(settings.data_dir.absolute())}


def _twin(name: str) -> str:
    """Return the other name of a setting: itself, or the file that holds it."""
    return name.removesuffix("_FILE") if name.endswith("_FILE") else f"{name}_FILE"


def _from_here(name: str, value: str) -> str:
    """Return a setting as it reads in another working folder, that of the notebooks."""
    is_ours = name.startswith("SVC_") and name.endswith("_FILE")
    return str(Path(value).absolute()) if is_ours else value


def _write(target: Path, text: str) -> None:
    try:
        with atomic_write(target, is_durable=False) as temporary:  # the command makes it again
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {target}: {error.strerror}") from error
