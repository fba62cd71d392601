"""Many proofs of lines, each held by verify.py, and many altered ones, each refused."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.proofs import verify
from svc_analytics.proofs.single import prove_line
from tests.support.hand_made_lines import SECRET, Sealed, row, seal_rows
from tests.support.rings import rings

Facts = dict[str, Any]


def sealed(folder: Path, size: int) -> Sealed:
    """Seal lines; every second of five has a comment of two lines."""
    comments = {2: 'second\n"رسید", é'}
    rows = (row(number, comment=comments.get(number % 5, "")) for number in range(1, size + 1))
    return seal_rows(folder, rows)


def status(facts: Facts) -> str:
    return str(verify.outcome(verify.check_proof, json.dumps(facts).encode())[0])


def flipped(chance: random.Random, text: str) -> str:
    """Another digit at one place of a hash."""
    at = chance.randrange(len(text))
    return f"{text[:at]}{int(text[at], 16) ^ 1 << chance.randrange(4):x}{text[at + 1 :]}"


def other_hash(chance: random.Random, facts: Facts) -> Facts:
    hashes = [*facts["hashes"]] or ["0" * 64]
    at = chance.randrange(len(hashes))
    return {"hashes": [*hashes[:at], flipped(chance, hashes[at]), *hashes[at + 1 :]]}


def other_letter(chance: random.Random, facts: Facts) -> Facts:
    at = chance.randrange(len(facts["line"]))
    letter = "8" if facts["line"][at] != "8" else "9"
    return {"line": facts["line"][:at] + letter + facts["line"][at + 1 :]}


def other_root(chance: random.Random, facts: Facts) -> Facts:
    lines = facts["checkpoint"].split("\n")
    return {"checkpoint": "\n".join([*lines[:2], flipped(chance, lines[2]), *lines[3:]])}


def other_size(chance: random.Random, facts: Facts) -> Facts:
    """A tree of more lines than twice as many: of another height, or of no such path."""
    lines = facts["checkpoint"].split("\n")
    return {"checkpoint": "\n".join([lines[0], str(2 * int(lines[1]) + 1), *lines[2:]])}


ALTERED: list[Callable[[random.Random, Facts], Facts]] = [
    other_hash,
    other_letter,
    other_root,
    other_size,
    lambda chance, facts: {"salt": flipped(chance, facts["salt"])},
    lambda chance, facts: {"receipt": flipped(chance, facts["receipt"])},
    lambda chance, facts: {"hashes": [*facts["hashes"], "0" * 64]},
    lambda chance, facts: {"hashes": facts["hashes"][1:] or ["0" * 64]},
    lambda chance, facts: {"line_number": facts["line_number"] + chance.choice((-1, 1))},
    lambda chance, facts: {"header": facts["header"].replace("kind,record_id", "record_id,kind")},
]


def prove_one(chance: random.Random, made: Sealed, size: int, altered: int) -> None:
    """Prove a line of a statement: it is held, and each alteration of the proof is refused."""
    number = chance.randint(1, size)
    proof = prove_line(made.folder, made.manifest, SECRET, f"record-{number}")
    facts = json.loads(proof.to_json())
    assert status(facts) == "held" and facts["line_number"] == number
    for alter in chance.sample(ALTERED, altered):
        assert status(facts | alter(chance, facts)) == "FAILED", (size, number, alter)


@pytest.mark.parametrize("seed", rings([1], range(60)))
def test_each_proof_is_held_and_no_altered_one(seed, tmp_path):
    """50 lines of each of 60 seeds, of statements of 1 to 1,025 lines; four alterations of each."""
    chance = random.Random(seed)
    for turn in range(10):
        size = chance.choice((1, 2, 1023, 1024, 1025, chance.randint(1, 1025)))
        made = sealed(tmp_path / f"{turn}", size)
        for _ in range(5):
            prove_one(chance, made, size, altered=4)


@pytest.mark.thorough
def test_a_line_of_a_million_is_proven(tmp_path):
    """The same of a tree of twenty levels."""
    chance = random.Random(20)
    made = sealed(tmp_path / "large", 1_000_000)
    for _ in range(3):
        prove_one(chance, made, 1_000_000, altered=len(ALTERED))
