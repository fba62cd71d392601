"""What a command makes and keeps for the next ones, in the cache folder."""

import os
from pathlib import Path

import pytest

from svc_analytics.files import MOST_MADE, keep_made


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path))
    return tmp_path / "views"


def test_an_image_is_made_once_for_all_commands(cache: Path) -> None:
    """Of another SQL, or another version of DuckDB, there is another one."""
    assert keep_made("views", "this", lambda: b"image") == b"image"
    assert keep_made("views", "this", cannot_be_made) == b"image"
    assert keep_made("views", "that", lambda: b"other") == b"other"
    assert len([*cache.iterdir()]) == 2


@pytest.mark.parametrize("damage", [b"", b"x", bytes(32) + b"image"], ids=["none", "cut", "other"])
def test_a_damaged_image_is_made_again(cache: Path, damage: bytes) -> None:
    keep_made("views", "this", lambda: b"image")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert keep_made("views", "this", lambda: b"image") == b"image" and path.read_bytes() == whole


def test_another_users_image_is_not_taken(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_made("views", "this", lambda: b"theirs")
    monkeypatch.setattr(os, "getuid", lambda: 7, raising=False)
    assert keep_made("views", "this", lambda: b"ours") == b"ours"


def test_a_folder_that_cannot_be_written_costs_time_alone(cache: Path) -> None:
    cache.write_text("a file stands where the folder would be")
    assert [keep_made("views", "this", lambda: b"image") for _ in range(2)] == [b"image", b"image"]


def test_a_user_without_a_home_loses_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SVC_CACHE_DIR", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert keep_made("views", "this", lambda: b"image") == b"image"


def test_the_oldest_images_go(cache: Path) -> None:
    for number in range(MOST_MADE + 3):
        keep_made("views", str(number), lambda: b"image")
        os.utime(max(cache.iterdir(), key=modified), (number, number))
    assert len([*cache.iterdir()]) == MOST_MADE


def modified(path: Path) -> float:
    return path.stat().st_mtime


def cannot_be_made() -> bytes:
    raise AssertionError("it was there")
