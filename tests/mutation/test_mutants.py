"""Mutants are made as meant, and of a draw of them the tests kill as many as they must."""

import subprocess
import sys

import pytest

from tests.mutation.mutants import count_mutants, mutant_of
from tests.mutation.ring import RESULTS, ROOT, TARGETS, WANTED, read_rows, score


def changes(name: str, text: str) -> list[str]:
    return [mutant_of(name, text, number).change for number in range(count_mutants(name, text))]


def test_a_mutant_of_python_has_one_fault():
    """What is compared, reckoned, called or returned is another; a type is left alone."""
    code = "def f(a: int | None) -> int:\n    return min(a, 1) if not a < 0 or a else 2\n"
    made = changes("f.py", code)
    assert changes("f.py", "if TYPE_CHECKING:\n    import a\ndef f():\n    return None\n") == []
    assert "a < 0 -> a <= 0" in made and "not a < 0 -> +(a < 0)" in made and "1 -> 0" in made
    assert "not a < 0 or a -> not a < 0 and a" in made and "not a < 0 or a -> a" in made
    assert "min -> max" in made and not [change for change in made if "int" in change]


def test_a_mutant_of_sql_has_one_fault():
    """Neither words of comments nor those of texts are changed, nor what takes a part of JSON."""
    code = (
        "-- sum and count\nselect sum(net), 'a and b', j -> 'a' ->> 'b' from t\n"
        "where n >= 10 and paid_at < starts_at"
    )
    assert changes("f.sql", code) == [
        "sum -> max", ">= -> >", "10 -> 11", "and -> or", "paid_at -> extracted_at", "< -> <=",
        "starts_at -> ends_at",
    ]  # fmt: skip
    assert mutant_of("f.sql", code, 2).text == code.replace("10", "11")


def test_every_part_has_code_and_tests():
    """A file that moves takes its line of the table along."""
    for target in TARGETS.values():
        assert all([*(ROOT / "svc_analytics").glob(pattern)] for pattern in target.files)
        assert all((ROOT / "tests" / test).exists() for test in target.tests)


def test_of_the_mutants_last_drawn_enough_were_killed():
    """The page shows this draw."""
    rows = read_rows(RESULTS)
    assert {row[0] for row in rows} == {*TARGETS} and score(rows) >= WANTED


@pytest.mark.mutants
def test_of_the_mutants_drawn_now_enough_are_killed(tmp_path):
    """In a process that has loaded none of our code, since each mutant is loaded anew."""
    ring = [sys.executable, "-m", "tests.mutation.ring", "--out", str(tmp_path / "results.csv")]
    done = subprocess.run(ring, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
