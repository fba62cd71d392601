"""The Dockerfile of docs/: short, without root and without a secret, of extras that exist."""

import re
import tomllib

from svc_analytics.environment import SETTINGS
from tests.support.documents import ROOT

LINES = (ROOT / "docs" / "Dockerfile").read_text(encoding="utf-8").splitlines()
TEXT = "\n".join(LINES)


def test_the_image_runs_without_root_and_its_file_is_short() -> None:
    """The user is a number, which a cluster can prove not to be root's; the lake is a volume."""
    assert len(LINES) <= 40
    last = LINES[max(number for number, line in enumerate(LINES) if line.startswith("FROM")) :]
    [user] = [line for line in last if line.startswith("USER")]
    assert user == "USER 10001:10001" and last.index(user) < last.index("WORKDIR /lake")
    assert {"VOLUME /lake", 'ENTRYPOINT ["svc-analytics"]'} <= set(last)


def test_the_image_holds_no_secret() -> None:
    """No whole folder is copied, in which a `.env` may lie, and no variable has a key."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE)
    sources = [name for line in copied for name in line.split()]
    assert sources and all((ROOT / name).exists() and name not in (".", "docs") for name in sources)
    named = set(re.findall(r"SVC_\w+", TEXT))
    assert named == {"SVC_CACHE_DIR", "SVC_DATA_DIR"} <= set(SETTINGS)


def test_the_image_installs_extras_that_exist_as_the_wheel_needs_them() -> None:
    """And copies each folder and file that the wheel is made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [extras] = re.findall(r'"/source\[(.+)\]"', TEXT)
    assert set(extras.split(",")) <= {*project["project"]["optional-dependencies"]}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["shared-data"], project["project"]["readme"], "LICENSE"}
    assert all(re.search(rf"^COPY .*\b{name}\b", TEXT, re.MULTILINE) for name in needed)
