"""`notebook` and `lab`: a notebook run to a page, and JupyterLab with the settings in place."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Unpack

import click
from tqdm.auto import tqdm

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError, install
from svc_analytics.formatting.tables import output_file, to_json
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake, last_full_month
from svc_analytics.language.catalogue import Language
from svc_analytics.notebook import runner
from svc_analytics.notebook.page import make_page
from svc_analytics.periods import parse_month

FIRST = "00-close-desk.ipynb"
# It opens on the first notebook, and installs nothing.
_LAB_OPTIONS = (
    f"--LabApp.default_url=/lab/tree/{FIRST}",
    "--LabApp.extension_manager=readonly",
)


@click.command()
@click.argument("name", shell_complete=shared_options.offer_notebooks)
@shared_options.month_option
@shared_options.zone_options
@click.option("--code/--no-code", "has_code", help="Show the code, too.  [default: --no-code]")
@click.option("--out", metavar="FILE", help="The page to write.  [default: NAME-MONTH.html]")
@shared_options.shared_options
def notebook(
    *,
    name: str,
    month: str | None,
    has_code: bool,
    out: str | None,
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Run a notebook for a month and write an HTML page.

    NAME is its number, such as 02, or its name. Without a month it is the last full
    month of the lake. The page shows the answers with their period and status, and
    prints on A4; it has no code and no pickers. The notebook itself stays as it is.
    """
    lake = shared_options.open_lake(data_dir)
    path = runner.find_notebook(name)
    chosen = _month(path, lake, month, at)
    target = Path(out or "-".join([path.stem, *([chosen] if chosen else [])]) + ".html")
    if not target.parent.is_dir():  # checked before the notebook runs, not after
        raise ConfigError(f"cannot write {target}: there is no folder {target.parent}")
    parameters = {"DATA_DIR": str(lake.path), "ZONE": at["zone"]} | (
        {"MONTH": chosen} if chosen else {}
    )
    with tqdm(desc=path.stem, unit=" cells", disable=None, leave=False) as bar:
        done = runner.run_notebook(path, parameters, on_cell=lambda _: bar.update())
    facts = done.metadata["page_facts"]
    page = make_page(done, facts, lake.path, has_code=has_code)
    with output_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    report = {"notebook": path.stem, "month": chosen, "status": facts.get("status")}
    report |= {"file": str(target)}
    click.echo(to_json(report) if as_json else str(target))


_WHOLE = ("00-close-desk", "01-first-look")  # without a month, they are of the whole lake


def _month(path: Path, lake: Lake, month: str | None, at: PeriodOptions) -> str | None:
    """Return the month a notebook runs for; None for a notebook without the parameter MONTH."""
    if "MONTH" in runner.parameters_of(runner.read_notebook(path)):
        if month is None:
            return None if path.stem in _WHOLE else last_full_month(lake, **at)
        return parse_month(month, now(), **at).label
    for option, value in {"--month": month, "--calendar": at["calendar"]}.items():
        if value:
            raise ConfigError(f"{path.stem} has no parameter MONTH: run it without {option}")
    return None


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@shared_options.lang_option(
    "The language of the close desk and its forms: English, Persian (fa) or both."
)
@shared_options.digits_option
@shared_options.data_dir_option
def lab(*, arguments: tuple[str, ...], lang: str, digits: str, data_dir: str | None) -> None:
    """Open the notebooks in JupyterLab.

    They are copies, in the folder notebooks of the lake: change them as you like. They get
    the settings of .env. Further ARGUMENTS go to JupyterLab, such as --no-browser or
    --port 8890.
    """
    if find_spec("jupyterlab") is None:
        raise ConfigError(f"jupyterlab is not installed: {install('lab')}")
    settings = read_settings(data_dir)  # a wrong one is reported here, and not in a notebook
    lake = Lake(settings.data_dir)
    language = Language(lang, digits)
    environment = runner.lab_environment(lake.path)
    environment |= {"SVC_LAB_LANG": language.code, "SVC_LAB_DIGITS": language.digits}
    folder, notes = runner.working_folder(lake.path, language)
    for note in (f"JupyterLab opens the folder {folder}", *notes):
        echo_note(note, "notebooks")
    own = (f"--notebook-dir={folder}", *_LAB_OPTIONS)
    words = [sys.executable, "-m", "jupyterlab", *own, *arguments]
    os.execvpe(sys.executable, words, environment)  # noqa: S606
