"""The databases of views: how they are made, and that they hold what they are meant to."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from svc_analytics.warehouse import images

_HELD = (
    "select view_name, sql, comment from duckdb_views() where not internal order by all",
    "select function_name, parameters, macro_definition, comment from duckdb_functions() "
    "where not internal order by all",
    "select table_name, column_name, data_type, comment from duckdb_columns() "
    "where not internal order by all",
)


def held_in(path: Path) -> list[list[Any]]:
    path.write_bytes(images._make_image())
    with duckdb.connect(path, read_only=True) as connection:
        return [connection.execute(query).fetchall() for query in _HELD]


@pytest.mark.thorough
def test_models_bound_to_stand_ins_are_the_same_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views, their columns' types, macros and comments; of the stand-ins nothing is left."""
    quick = held_in(tmp_path / "quick.duckdb")
    monkeypatch.setattr(images, "_stand_in", lambda *made: None)
    assert quick == held_in(tmp_path / "slow.duckdb")
