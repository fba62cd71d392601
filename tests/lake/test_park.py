"""Lakes that a release wrote once are stated by every later one, and each difference is accepted.

The lakes lie in `tests/park`, the accepted differences in `differences.txt` beside them.
"""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.support.park import PARK, Stated, archives, kept_names, read_stated, stated, unpack
from tests.support.rings import sample

Difference = tuple[str, ...]  # lake, period, coin, figure, was, is
NOTHING = "not stated"
WITHOUT_COIN = ""  # the status, the reasons and the findings of a period


def differences(lake: str, was: Stated, now: Stated) -> Iterator[Difference]:
    """Yield what is stated otherwise. A figure that no release knew before is none."""
    known = {name for _, _, name in was}
    for key in sorted(was.keys() | now.keys()):
        if key in was or key[2] in known or key[1] == WITHOUT_COIN:
            values = was.get(key, NOTHING), now.get(key, NOTHING)
            if values[0] != values[1]:
                yield lake, *key, *values


def accepted() -> list[Difference]:
    """Return the cells of each accepted difference, its reason last."""
    lines = (PARK / "differences.txt").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [tuple(cell.strip() for cell in row.split("|")) for row in rows]


def is_accepted(found: Difference, lines: list[Difference]) -> bool:
    return any(all(map(_matches, found, line)) for line in lines)


def _matches(text: str, cell: str) -> bool:
    return cell == "*" or fnmatchcase(text, cell)


def of_lake(name: str, folder: Path) -> list[Difference]:
    lake = unpack(name, folder)
    return [*differences(name, read_stated(lake), stated(lake))]


@pytest.mark.parametrize("name", sample(kept_names(), 36))
def test_a_kept_lake_is_stated_as_it_was(name, tmp_path):
    """To the last digit; what is not, a person accepts in `differences.txt`, with the reason."""
    found = [each for each in of_lake(name, tmp_path) if not is_accepted(each, accepted())]
    assert not found, "\n".join(" | ".join([*each, "why?"]) for each in found)


@pytest.mark.thorough
def test_each_accepted_difference_is_there(tmp_path):
    """None lies about for a change that was taken back, to hide another one."""
    lines = accepted()
    names = [name for name in kept_names() if any(_matches(name, line[0]) for line in lines)]
    found = [each for name in names for each in of_lake(name, tmp_path / name)]
    assert not [line for line in lines if not any(is_accepted(each, [line]) for each in found)]


def test_each_accepted_difference_has_a_reason():
    """And names what it is about."""
    for line in accepted():
        assert len(line) == 7 and all(line[:1] + line[3:]), line


def test_thirty_lakes_are_kept_as_they_were_written():
    """Whoever makes a lake again to be rid of a difference must change its hash too."""
    assert len(kept_names()) >= 30
    sums = (PARK / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    kept = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives()}
    assert dict(reversed(line.split()) for line in sums) == kept
    assert sum(path.stat().st_size for path in archives()) < 1_000_000


WAS: Stated = {
    ("2026-10", "", "status"): "final",
    ("2026-10", "usdt", "net_sales"): "9.9",
    ("2026-10", "usdt", "payouts_sent"): "unknown",
}


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ({("2026-10", "usdt", "net_sales"): "9.90"}, "net_sales 9.9 9.90"),
        ({("2026-10", "usdt", "payouts_sent"): "0"}, "payouts_sent unknown 0"),
        ({("2026-10", "", "status"): "provisional"}, "status final provisional"),
        ({("2026-10", "", "findings of a_rule"): "1"}, f"findings of a_rule {NOTHING} 1"),
        ({("2026-10", "btc", "net_sales"): "0"}, f"net_sales {NOTHING} 0"),
        ({("2026-10", "usdt", "a_new_figure"): "1"}, ""),
    ],
)
def test_a_figure_that_changed_is_named(now, named):
    """Zero for unknown too, a finding, and a coin; a figure that is new changes none."""
    found = [" ".join(each[3:]) for each in differences("lake", WAS, WAS | now)]
    assert found == ([named] if named else [])


def test_a_figure_that_is_gone_is_named():
    """Somebody's script reads it."""
    now = {key: value for key, value in WAS.items() if key[2] != "net_sales"}
    found = [each[3:] for each in differences("lake", WAS, now)]
    assert found == [("net_sales", "9.9", NOTHING)]


def test_an_accepted_difference_is_of_its_figure_alone():
    """A star stands for all coins, and for nothing of another figure."""
    line = ("*", "2026-10", "*", "net_sales", "*", "*", "why")
    found = ("0.1.0/plain", "2026-10", "usdt", "net_sales", "1", "2")
    assert is_accepted(found, [line])
    assert not is_accepted((*found[:3], "gross_sales", "1", "2"), [line])
