"""The databases of views: how they are made, and that they hold what they are meant to."""

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from svc_analytics.warehouse import images
from svc_analytics.warehouse.kept_images import MOST, keep_made

_HELD = (
    "select view_name, sql, comment from duckdb_views() where not internal order by all",
    "select function_name, parameters, macro_definition, comment from duckdb_functions() "
    "where not internal order by all",
    "select table_name, column_name, data_type, comment from duckdb_columns() "
    "where not internal order by all",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path))
    return tmp_path / "views"


def held_in(path: Path) -> list[list[Any]]:
    path.write_bytes(images._make_image())
    with duckdb.connect(path, read_only=True) as connection:
        return [connection.execute(query).fetchall() for query in _HELD]


def test_models_bound_to_stand_ins_are_the_same_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views, their columns' types, macros and comments; of the stand-ins nothing is left."""
    quick = held_in(tmp_path / "quick.duckdb")
    monkeypatch.setattr(images, "_stand_in", lambda *made: None)
    assert quick == held_in(tmp_path / "slow.duckdb")


def test_an_image_is_made_once_for_all_commands(cache: Path) -> None:
    """Of another SQL, or another version of DuckDB, there is another one."""
    assert keep_made("this", lambda: b"image") == b"image"
    assert keep_made("this", cannot_be_made) == b"image"
    assert keep_made("that", lambda: b"other") == b"other"
    assert len([*cache.iterdir()]) == 2


@pytest.mark.parametrize("damage", [b"", b"x", bytes(32) + b"image"], ids=["none", "cut", "other"])
def test_a_damaged_image_is_made_again(cache: Path, damage: bytes) -> None:
    keep_made("this", lambda: b"image")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert keep_made("this", lambda: b"image") == b"image" and path.read_bytes() == whole


def test_another_users_image_is_not_taken(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_made("this", lambda: b"theirs")
    monkeypatch.setattr(os, "getuid", lambda: 7, raising=False)
    assert keep_made("this", lambda: b"ours") == b"ours"


def test_a_folder_that_cannot_be_written_costs_time_alone(cache: Path) -> None:
    cache.write_text("a file stands where the folder would be")
    assert [keep_made("this", lambda: b"image") for _ in range(2)] == [b"image", b"image"]


def test_a_user_without_a_home_loses_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SVC_CACHE_DIR", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert keep_made("this", lambda: b"image") == b"image"


def test_the_oldest_images_go(cache: Path) -> None:
    for number in range(MOST + 3):
        keep_made(str(number), lambda: b"image")
        os.utime(max(cache.iterdir(), key=modified), (number, number))
    assert len([*cache.iterdir()]) == MOST


def modified(path: Path) -> float:
    return path.stat().st_mtime


def cannot_be_made() -> bytes:
    raise AssertionError("it was there")
