"""What must stay true of the code itself: names, documentation, sizes (walls: lint-imports)."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from statistics import median
from typing import TypeVar

import click
import pytest

import svc_analytics
from svc_analytics.cli.app import cli
from svc_analytics.cli.commands.statement import statement
from svc_analytics.commands import COMMANDS
from svc_analytics.render.formats import DOCUMENTS

ROOT = Path(__file__).parent.parent
Node = TypeVar("Node", bound=ast.AST)
PACKAGE = ROOT / "svc_analytics"
LOWEST = ROOT / ".ci" / "lowest"
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> list[ast.AST]:
    """Every node of a module: many guards look at all of them."""
    return [*ast.walk(ast.parse(path.read_text()))]


def test_only_the_client_its_transport_and_stamps_import_httpx():
    """Moving to another client is these three files."""
    users = {path.name for path in PACKAGE.rglob("*.py") if "import httpx" in path.read_text()}
    assert users == {"client.py", "transport.py", "stamp.py"}


# Public functions that read the settings where their caller gives none, as commands do.
EDGES = {
    *("closing/job.py", "closing/verification/verify.py", "demo.py", "extraction/update.py"),
    *("backups/restore.py", "lakehouse.py"),
    "notebook/desk/desk_months.py",
    *("receipts/verify_files.py", "statements/statement.py", "webhooks/reconcile.py"),
}


def test_settings_are_read_at_the_edges_only():
    """Below the edges a result depends on its arguments, not on the environment."""
    reads = re.compile(r"\bread_(settings|data_dir)\(")
    users = {path for path in PACKAGE.rglob("*.py") if reads.search(path.read_text())}
    names = {path.relative_to(PACKAGE).as_posix() for path in users}
    assert {name for name in names if not name.startswith("cli/")} == EDGES | {"config.py"}


def test_no_money_passes_through_a_float():
    """The doors that lose digits stay shut."""
    banned = re.compile(r"\.df\(|fetchdf|\bfetch_df|to_df\(|\.to_pandas\(\)|float64|astype\(float")
    for path in PACKAGE.rglob("*.py"):
        assert not banned.search(path.read_text()), path.name


def test_sql_divides_no_money():
    """Ratios come from the exact macros: no division, average or median of the engine's own."""
    for path in (PACKAGE / "warehouse" / "sql").rglob("*.sql"):
        code = re.sub(r"--.*|'[^']*'", "", path.read_text())
        if path.name != "macros.sql":
            banned = r"/|\b(avg|mean|median|quantile_cont)\(|::double|::float|\bnow\(|current_date"
            assert not re.search(banned, code), path.name


def test_public_names_are_the_ones_declared():
    """`__all__` and what loads are one list."""
    assert sorted(svc_analytics.__all__) == sorted(svc_analytics._HOMES)
    for name in svc_analytics.__all__:
        assert getattr(svc_analytics, name).__name__ == name


def test_using_a_function_does_not_hide_it():
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
def test_every_command_has_help_and_stands_in_the_readme(name, command):
    """Help is the documentation, and the README leads to it."""
    assert command.help and all(
        option.help or option.name in ("workers", "months", "payments")
        for option in command.params
        if isinstance(option, click.Option)
    )
    assert f"svc-analytics {name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name):
    """The list is written apart, so that it need not load the commands."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and (command.help or "").splitlines()[0] == COMMANDS[name]


def test_ci_runs_the_readmes_test_command():
    """What a stranger types is what CI proves."""
    ci = (ROOT / ".ci" / "run").read_text()
    readme = (ROOT / "README.md").read_text()
    assert ' && pip install uv && uv pip install -e ".[test]" && pytest\n' in readme
    assert '\npip install uv\nuv pip install -e ".[test]"\n' in ci
    assert " pytest\n" in ci and "\nlint-imports" in ci


def test_what_the_lowest_versions_are_tried_with_is_there():
    """A test that moved would end CI at its very end."""
    named = re.findall(r"^ +(tests/\S+?)(?:::(\w+))?(?: \\)?$", LOWEST.read_text(), re.M)
    assert len(named) > 5
    for path, test in named:
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), test


def test_tests_that_the_code_and_the_pages_name_are_there():
    """A file of tests that is renamed takes with it what is said of it."""
    pages = [*MODULES, ROOT / "README.md", *(ROOT / "docs" / "pages").rglob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    named = {name for text in texts for name in re.findall(r"\btests/[\w/]+\.py\b", text)}
    assert named and {name for name in named if not (ROOT / name).is_file()} == set()


def test_importing_the_package_is_quick():
    """Names load when used."""
    script = "import sys, svc_analytics; print({'pandas', 'duckdb', 'httpx'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert out.stdout.decode().strip() == "set()"


def test_everything_imported_is_declared():
    """What we import we install, even if something else would bring it."""
    declared = {re.split(r"[<>=\[; ]", line)[0].lower() for line in requires("svc-analytics") or []}
    known = {"dotenv": "python-dotenv", "pyspark": "pyspark-client"}
    known |= {"prometheus_client": "prometheus-client", "python_calamine": "python-calamine"}
    for path in MODULES:
        for node in tree_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.split(".")[0] for name in names} - set(sys.stdlib_module_names):
                assert top == "svc_analytics" or known.get(top, top) in declared, f"{path}: {top}"


def lengths() -> dict[str, int]:
    """The lines of every function, but for its docstring and its options: those are a list."""
    found = {}
    for place, node in (*nodes(ast.FunctionDef), *nodes(ast.AsyncFunctionDef)):
        docstring = (ast.get_docstring(node, clean=False) or "").splitlines()
        options = {each.lineno for each in node.args.kwonlyargs} - {node.lineno}
        counted = (node.end_lineno or 0) - node.lineno - len(docstring) - len(options)
        found[f"{place}:{node.name}"] = counted
    return found


def test_functions_stay_short():
    """A median of 6 lines, nine of ten within 16, and none over 30."""
    found = lengths()
    sizes = sorted(found.values())
    assert median(sizes) <= 6 and sizes[len(sizes) * 9 // 10] <= 16
    assert not {name: size for name, size in found.items() if size > 30}


def nodes(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Every node of a kind, with where it stands."""
    for path in MODULES:
        for node in tree_of(path):
            if isinstance(node, kind):
                yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', '')}", node


def test_names_say_what_they_hold():
    """That a thing was found, made or kept says nothing of what it is: a noun does."""
    participles = {"found", "made", "kept", "told", "given"}
    names = [(place, node.id) for place, node in nodes(ast.Name) if isinstance(node.ctx, ast.Store)]
    names += [(place, node.arg) for place, node in nodes(ast.arg)]
    names += [(place, node.attr) for place, node in nodes(ast.Attribute)]
    names += [(place, node.name) for place, node in nodes(ast.FunctionDef)]
    assert not [each for each in names if each[1].strip("_") in participles]


def test_each_class_name_means_one_thing():
    """No two modules have a class of one name, but for a private one's underscore."""
    names = Counter(node.name.strip("_") for _, node in nodes(ast.ClassDef))
    assert not [name for name, count in names.items() if count > 1]


def test_no_function_has_more_than_seven_positional_parameters():
    """`self` counts too. Options that are given by name may be many: a command has as many."""
    sizes = {}
    for place, node in nodes(ast.arguments):
        names = [each.arg for each in (*node.posonlyargs, *node.args)]
        sizes[f"{place} {names}"] = len(names)
    assert not {place: size for place, size in sizes.items() if size > 7}


def test_a_command_gets_its_options_by_name():
    """Their order is that of the help alone: none is a parameter by its place."""
    for place, node in nodes(ast.FunctionDef):
        decorators = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
        is_command = any(name.endswith(".command") for name in decorators)
        if is_command and place.startswith("cli/"):
            assert not (node.args.posonlyargs or node.args.args), f"{place}: {node.name}"


def test_nothing_is_packed_to_be_unpacked_into_a_call():
    """A tuple that hides how many arguments are given hides what each is."""
    for place, function in nodes(ast.FunctionDef):
        packed = {name for each in ast.walk(function) for name in packed_by(each)}
        for call in ast.walk(function):
            for given in call.args if isinstance(call, ast.Call) else ():
                value = given.value if isinstance(given, ast.Starred) else None
                assert not isinstance(value, ast.Tuple), place
                is_class = ast.unparse(call.func).rpartition(".")[2][:1].isupper()
                assert not (is_class and value and ast.unparse(value) in packed), place


def packed_by(node: ast.AST) -> Iterator[str]:
    """The names to which a statement assigns a tuple, alone or one beside another."""
    if isinstance(node, ast.Assign):
        [target] = node.targets[:1]
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = [*zip(target.elts, node.value.elts, strict=False)]
        yield from (ast.unparse(name) for name, value in pairs if isinstance(value, ast.Tuple))


def test_no_command_hides_its_options():
    """What a command gets by a name has a type: no `**options: Any`."""
    for place, node in nodes(ast.FunctionDef):
        if place.startswith("cli/commands/") and node.args.kwarg:
            assert "Any" not in ast.unparse(node.args.kwarg), place


def test_the_help_of_a_language_names_the_forms_that_people_read():
    """The command's and the method's: nobody looks there when a form is added."""
    [option] = [each for each in statement.params if each.name == "lang"]
    assert isinstance(option, click.Option)
    for text in (option.help or "", svc_analytics.Statement.save.__doc__ or ""):
        assert {form.name for form in DOCUMENTS.values() if form.is_worded} <= {
            *re.findall(r"\w+", text)
        }


def test_modules_stay_one_thing():
    """A module is one noun, of at most 500 lines; what strangers get is one file whatever comes."""
    alone = PACKAGE / "proofs" / "verify.py"
    sizes = {path: len(path.read_text().splitlines()) for path in MODULES if path != alone}
    assert not {str(path): size for path, size in sizes.items() if size > 500}


def test_every_folder_of_modules_is_a_package():
    """Two modules of one name in two folders without it are one module to a test runner."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_docstrings_begin_with_one_line():
    """What a caller gets, in a sentence that fits a line and names it."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in MODULES:
        for node in tree_of(path):
            first = (
                (ast.get_docstring(node) or ".").splitlines()[0] if isinstance(node, kinds) else "."
            )
            assert first[-1] in ".:?!" and len(first) <= 95, f"{path.name}: {first}"
            assert not first.startswith(("Return what ", "Yield what ")), f"{path.name}: {first}"


def told_in(path: Path) -> set[str]:
    """The events that a module tells: the second argument of `echo_note` and `tell`."""
    calls = [each for each in tree_of(path) if isinstance(each, ast.Call)]
    seconds = [call.args[1] for call in calls if len(call.args) > 1 and is_telling(call.func)]
    return {str(each.value) for each in seconds if isinstance(each, ast.Constant)}


def is_telling(function: ast.expr) -> bool:
    return getattr(function, "id", getattr(function, "attr", "")) in ("echo_note", "tell")


def test_every_event_stands_on_its_page():
    """And the page names no other; progress is for terminals alone."""
    said = {name for path in (PACKAGE / "cli").rglob("*.py") for name in told_in(path)}
    page = (ROOT / "docs" / "pages" / "reference" / "json-output.md").read_text()
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", page, re.MULTILINE)
    events = re.findall(r"`([a-z_]+)`", " ".join(rows))
    assert said - {"progress"} == set(events)
    assert [name for name, count in Counter(events).items() if count > 1] == []
