"""What must stay true of the code itself: names, documentation, sizes (walls: lint-imports)."""

import ast
import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import requires
from pathlib import Path
from statistics import median

import click
import pytest

import svc_analytics
from svc_analytics.cli.app import COMMANDS, cli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "svc_analytics"


def test_only_the_client_and_its_transport_import_httpx() -> None:
    """Moving to another client is these two files."""
    users = {path.name for path in PACKAGE.rglob("*.py") if "import httpx" in path.read_text()}
    assert users == {"client.py", "transport.py"}


# Public functions that read the settings where their caller gives none, as commands do.
EDGES = {
    *("closing/job.py", "closing/verification/verify.py", "demo.py", "extraction/update.py"),
    "notebook/desk/book.py",
    *("receipts/verify_files.py", "statements/findings.py", "webhooks/reconcile.py"),
}


def test_settings_are_read_at_the_edges_only() -> None:
    """Below the edges a result depends on its arguments, not on the environment."""
    reads = re.compile(r"\bread_(settings|data_dir)\(")
    users = {path for path in PACKAGE.rglob("*.py") if reads.search(path.read_text())}
    names = {path.relative_to(PACKAGE).as_posix() for path in users}
    assert {name for name in names if not name.startswith("cli/")} == EDGES | {"config.py"}


def test_no_money_passes_through_a_float() -> None:
    """The doors that lose digits stay shut."""
    banned = re.compile(r"\.df\(|fetchdf|\bfetch_df|to_df\(|\.to_pandas\(\)|float64|astype\(float")
    for path in PACKAGE.rglob("*.py"):
        assert not banned.search(path.read_text()), path.name


def test_sql_divides_no_money() -> None:
    """Ratios come from the exact macros: no division, average or median of the engine's own."""
    for path in (PACKAGE / "warehouse" / "sql").rglob("*.sql"):
        code = re.sub(r"--.*|'[^']*'", "", path.read_text())
        if path.name != "macros.sql":
            banned = r"/|\b(avg|mean|median|quantile_cont)\(|::double|::float|\bnow\(|current_date"
            assert not re.search(banned, code), path.name


def test_public_names_are_the_ones_declared() -> None:
    """`__all__` and what loads are one list."""
    assert sorted(svc_analytics.__all__) == sorted(svc_analytics._HOMES)
    for name in svc_analytics.__all__:
        assert getattr(svc_analytics, name).__name__ == name


def test_using_a_function_does_not_hide_it() -> None:
    """A submodule of the same name would take a function's place once it is loaded."""
    assert not set(svc_analytics.__all__) & {path.stem for path in PACKAGE.iterdir()}


def commands(group: click.Group = cli, above: str = "") -> list[tuple[str, click.Command]]:
    """Every command by its words, those of groups included."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        words = f"{above} {name}".strip()
        inner = commands(command, words) if isinstance(command, click.Group) else []
        found += inner or [(words, command)]
    return found


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: str(value)[:20])
def test_every_command_has_help_and_stands_in_the_readme(name: str, command: click.Command) -> None:
    """Help is the documentation, and the README leads to it."""
    assert command.help and all(
        option.help or option.name in ("workers", "months", "payments")
        for option in command.params
        if isinstance(option, click.Option)
    )
    assert f"svc-analytics {name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    """The list is written apart, so that it need not load the commands."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and (command.help or "").splitlines()[0] == COMMANDS[name][1]


def test_ci_runs_the_readmes_test_command() -> None:
    """What a stranger types is what CI proves."""
    ci = (ROOT / ".ci" / "run").read_text()
    readme = (ROOT / "README.md").read_text()
    assert 'pip install -e ".[test]" && pytest' in readme
    assert 'pip install -e ".[test]"' in ci and "\npytest" in ci and "\nlint-imports" in ci


def test_importing_the_package_is_quick() -> None:
    """Names load when used."""
    script = "import sys, svc_analytics; print({'pandas', 'duckdb', 'httpx'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert out.stdout.decode().strip() == "set()"


def test_everything_imported_is_declared() -> None:
    """What we import we install, even if something else would bring it."""
    declared = {re.split(r"[<>=\[; ]", line)[0].lower() for line in requires("svc-analytics") or []}
    known = {"dotenv": "python-dotenv", "pyspark": "pyspark-client"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.split(".")[0] for name in names} - set(sys.stdlib_module_names):
                assert top == "svc_analytics" or known.get(top, top) in declared, f"{path}: {top}"


MODULES = sorted(PACKAGE.rglob("*.py"))


def lengths() -> dict[str, int]:
    """The lines of every function, its docstring left out."""
    found = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                docstring = (ast.get_docstring(node, clean=False) or "").splitlines()
                name = f"{path.relative_to(PACKAGE)}:{node.lineno}:{node.name}"
                found[name] = (node.end_lineno or 0) - node.lineno - len(docstring)
    return found


def test_functions_stay_short() -> None:
    """A median of 6 lines, nine of ten within 16, and none over 30."""
    found = lengths()
    sizes = sorted(found.values())
    assert median(sizes) <= 6 and sizes[len(sizes) * 9 // 10] <= 16
    assert not {name: size for name, size in found.items() if size > 30}


def test_modules_stay_short_and_folders_small() -> None:
    """A module has at most 300 lines, a folder about 16 modules."""
    assert not [path.name for path in MODULES if len(path.read_text().splitlines()) > 300]
    folders = Counter(path.parent for path in MODULES if path.stem != "__init__")
    assert not {folder.name: count for folder, count in folders.items() if count > 18}


def test_every_folder_of_modules_is_a_package() -> None:
    """Two modules of one name in two folders without it are one module to a test runner."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_docstrings_begin_with_one_line() -> None:
    """What a caller gets, in a sentence that fits a line."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            first = (
                (ast.get_docstring(node) or ".").splitlines()[0] if isinstance(node, kinds) else "."
            )
            assert first[-1] in ".:?!" and len(first) <= 95, f"{path.name}: {first}"
