"""Databases that hold all views: one for a snapshot, one beside the lake for other tools.

Binding the views takes long. So it is done once, over files without rows, and every database is a
copy of that image, which is kept for the commands to come. While it is made, an empty table
stands in for each model that others read: otherwise DuckDB binds with each of them all that it is
made of.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from svc_analytics.errors import LakeError
from svc_analytics.files import UNREADABLE, hash_file, write_cached, write_json
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.index.parents import PARENTS
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN, VERDICTS, schema_of
from svc_analytics.schema import PAYMENTS, STREAMS
from svc_analytics.warehouse import view_builder
from svc_analytics.warehouse.acknowledgements import ACCEPTED_SCHEMA
from svc_analytics.warehouse.connection import CONFIG, error_line
from svc_analytics.warehouse.models import Model, read_all_models, read_macros
from svc_analytics.warehouse.other_months import OTHER_PAYOUTS
from svc_analytics.warehouse.sources import FOOTERS, open_sources

_INSTANT = "'2026-01-01'::timestamptz"


def write_snapshot_database(path: Path) -> None:
    """Write a database of all views over the files of any snapshot: see `say_files`."""
    path.write_bytes(_image())


def write_database(path: Path, folder: Path) -> None:
    """Write a database of all views over the lake's own month files, for other tools."""
    path.write_bytes(_image())
    sources, lacking = view_builder.lake_sources(folder), _lacking_columns(folder)
    with duckdb.connect(path, config=CONFIG) as connection:
        connection.execute("SET TimeZone='UTC'")
        connection.begin()
        for model in read_all_models():
            if model.reads_files:
                sql = view_builder.fill(_with_columns(model.sql, lacking), sources)
                body = view_builder.over_own_lake(sql, folder)
                view_builder.create(connection.execute, model, body, model.columns)
        connection.commit()


def _lacking_columns(folder: Path) -> dict[str, str]:
    """Return, by placeholder, NULL for each column that some of a lake's files lack, in SQL.

    Month files gain them together, so the one without rows tells. Raises `LakeError` for a file
    that lacks one because it was damaged.
    """
    nulls: dict[str, str] = {}
    for name, inside in view_builder.lake_folders().items():
        schema, lacking = schema_of(inside)[0], set[str]()
        for path in (folder / inside).glob(f"{ORIGIN if inside in STREAMS else '*'}.parquet"):
            if own := {*schema.names}.difference(pq.read_schema(path).names):
                require_whole(path)
                lacking |= own
        fields = (each for each in schema if each.name in lacking)
        nulls[name] = ", ".join(f"null::{_type(each.type)} as {each.name}" for each in fields)
    return {name: columns for name, columns in nulls.items() if columns}


def _type(kind: pa.DataType) -> str:
    """Return DuckDB's name of a type: of texts and the like it is Arrow's."""
    return (
        "timestamptz" if pa.types.is_timestamp(kind) else str(kind).replace("decimal128", "decimal")
    )


def _with_columns(sql: str, lacking: Mapping[str, str]) -> str:
    """Return SQL in which the columns that some files of a placeholder lack are NULL there."""
    for name, nulls in lacking.items():
        files = f"from read_parquet({{{name}}}, union_by_name = true)"
        tolerant = f"({files} union all by name select {nulls} where false)"
        sql = sql.replace(f"read_parquet({{{name}}})", tolerant)
    return sql


def describe_database(folder: Path) -> str:
    """Return all that a database of the views over a lake's own files is made of."""
    models = [model.sql for model in read_all_models()]
    findings = [view_builder.read_findings(), view_builder.read_exceptions()]
    of_lake = [
        view_builder.over_own_lake("", folder),
        view_builder.lake_sources(folder),
        _lacking_columns(folder),
    ]
    return repr([duckdb.__version__, read_macros(), models, *findings, *of_lake])


@cache
def _image() -> bytes:
    """Return a database of all views, over files that variables name.

    It is of what its making would execute, and over which columns.
    """
    script: list[str] = []
    view_builder.create_all(script.append, view_builder.variables(), None, _stand_in)
    made_of = repr([duckdb.__version__, script, file_schemas()])
    return write_cached("views", made_of, _make_image)


@interruptible()
def _make_image() -> bytes:
    with TemporaryDirectory(prefix="svc-analytics-") as folder:
        path, files = Path(folder, "views.duckdb"), _files_without_rows(Path(folder))
        with duckdb.connect(path, config=CONFIG) as connection:
            view_builder.say_files(connection, files)
            connection.execute("SET TimeZone='UTC'")
            connection.begin()
            view_builder.create_all(connection.execute, view_builder.variables(), None, _stand_in)
            connection.commit()
        return path.read_bytes()


def _stand_in(execute: view_builder.Execute, model: Model) -> None:
    """Let those that read a model be bound to an empty table of its columns, of this session."""
    if model.name not in read_by_others():
        return
    if not model.signature:
        execute(f"create temp table {model.name} as {without_rows(model, 'main.')}")
        return
    table = f"bound_{model.name}"
    execute(f"create temp table {table} as {without_rows(model)}")
    execute(f"create temp macro {model.name}{model.signature} as table from {table}")


def without_rows(model: Model, schema: str = "") -> str:
    """Return the SQL of an empty table of a model's columns."""
    parameters = model.signature.strip("()").split(", ") if model.signature else []
    required = [_INSTANT for parameter in parameters if ":=" not in parameter]  # its bounds
    call = f"({', '.join(required)})" if model.signature else ""
    return f"from {schema}{model.name}{call} limit 0"


@cache
def read_by_others() -> frozenset[str]:
    """Return the names of the models that others are made of."""
    return frozenset(source for model in read_all_models() for source in model.sources)


def _files_without_rows(folder: Path) -> view_builder.Files:
    """Write a file for each placeholder: of the columns that its files have."""
    schemas = file_schemas()
    for name, schema in schemas.items():
        pq.write_table(schema.empty_table(), folder / f"{name}.pq")
    return {name: [folder / f"{name}.pq"] for name in schemas}


def file_schemas() -> dict[str, pa.Schema]:
    """Return the columns that the files of each placeholder have."""
    schemas: dict[str, pa.Schema] = {
        "all_receipt_verdicts": VERDICTS,
        view_builder.RECEIPTLESS: PAYMENTS.schema,
        "other_payouts": OTHER_PAYOUTS,
        "footers": FOOTERS,
        "parents": PARENTS,
        "acknowledgements": ACCEPTED_SCHEMA,
    }
    schemas |= {f"totalled_{name}": stream.schema for name, stream in STREAMS.items()}
    return schemas | {
        name: schema_of(folder)[0] for name, folder in view_builder.lake_folders().items()
    }


# ---------- `analytics.duckdb`
# The views over the lake's own files, for other tools.


_ABOUT = ".views.json"  # what the database was made of, and its hash


@interruptible()
def write_views(lake: Lake) -> Path:
    """Make `analytics.duckdb`: the same views over the lake's own files, for other tools.

    Its views look into the lake's files whenever they are queried. So it is made anew only when
    its views, the lake's place or the accepted findings are others than it was made of.
    """
    lake.require()
    path = lake.path / "analytics.duckdb"
    try:
        with FileLock(lake.path / ".views.lock"):
            made_of = sha256(describe_database(lake.path).encode()).hexdigest()
            if _read_about(lake.path) != {"made_of": made_of, "sha256": _hash(path)}:
                with lake.storage.write(path) as temporary:
                    temporary.unlink(missing_ok=True)  # what a killed run left
                    write_database(temporary, lake.path)
                about = {"made_of": made_of, "sha256": _hash(path)}
                write_json(lake.storage.write(lake.path / _ABOUT), about)
    except (duckdb.Error, OSError, UnicodeDecodeError) as error:  # of DuckDB's own message
        if not isinstance(error, OSError):
            # This names a damaged file with its remedy: DuckDB knows only its own file.
            with open_sources(lake, None):
                pass
        raise LakeError(f"cannot make {path}: {error_line(error)}") from error
    return path


def _read_about(lake: Path) -> object:
    with suppress(*UNREADABLE):
        return json.loads((lake / _ABOUT).read_bytes())
    return None


def _hash(path: Path) -> str:
    """Return a file's hash; nothing where there is none."""
    with suppress(FileNotFoundError):
        return hash_file(path)
    return ""
