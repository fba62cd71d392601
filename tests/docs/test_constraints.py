"""`constraints.txt`: the versions that others install to have what was tested."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.constraints import EXTRAS, FILE, read_constraints
from tests.support.documents import ROOT


def test_each_line_is_a_name_and_a_version() -> None:
    """No address, no host and no hash: it holds for whatever index a machine has."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if not line.startswith("#")]
    assert len(found) > 100
    for line in found:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9a-z.+!]+", line), line


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_the_project_asks_for_is_named_within_its_bounds(extra: str) -> None:
    """For the package itself and for each extra that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["optional-dependencies"][extra] if extra else project["dependencies"]
    known = read_constraints()
    for need in map(Requirement, asked):
        assert need.specifier.contains(known[canonicalize_name(need.name)]), need
