"""`sandbox seed` and `sandbox serve`, as a person runs them."""

import signal
import subprocess
import sys

import httpx
import pytest
from click.testing import CliRunner

from svc_analytics.instants import parse_instant
from svc_analytics.sandbox import Scenario, Service, Store, seed
from svc_analytics.sandbox.cli import sandbox

SMALL = ["--months", "2", "--payments", "30"]
EARLIER = parse_instant("2024-05-10T12:00:00Z")[0]


def test_importing_the_package_and_its_commands_is_cheap():
    """Neither loads the web framework, the server or Arrow."""
    heavy = "{'fastapi', 'uvicorn', 'starlette', 'pyarrow', 'msgspec', 'tqdm'}"
    code = (
        "import sys, svc_analytics.sandbox, svc_analytics.sandbox.cli;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_public_names_are_there():
    """Every exported name can be loaded, and no other."""
    import svc_analytics.sandbox as package

    assert all(getattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError):
        _ = package.nothing


def test_seed_fills_a_file_and_says_so(tmp_path):
    """
    Named on stdout with what it holds; a second run leaves it as it is. It holds rotated secrets
    in clear, and so is for its user alone.
    """
    path = tmp_path / "s.db"
    arguments = ["seed", "--db", str(path), *SMALL]
    for _ in range(2):
        result = CliRunner().invoke(sandbox, arguments, catch_exceptions=False)
        assert result.exit_code == 0
        assert "s.db holds seed 7, 2 months" in result.stdout
    assert path.stat().st_mode & 0o777 == 0o600


def test_seed_takes_a_scenario_file(tmp_path):
    """Its sizes and habits; an option on the command line comes before it."""
    path = tmp_path / "shop.toml"
    path.write_text('months = 2\npayments = 9000\ncoins = ["btc"]\nfee_tiers = [90]\n')
    arguments = ["seed", "--db", str(tmp_path / "s.db"), "--scenario", str(path)]
    result = CliRunner().invoke(sandbox, [*arguments, "--payments", "30"], catch_exceptions=False)
    assert "seed 7, 2 months" in result.stdout
    assert '30 payments, {"coins":["btc"],"fee_tiers":[90]}' in result.stdout


@pytest.mark.parametrize("told", [[], SMALL], ids=["nothing told", "the same told"])
def test_filled_file_goes_on_as_what_it_holds(tmp_path, told):
    """Also in a later month than the one it was filled in, and without a word about its sizes."""
    with Store(tmp_path / "s.db") as store:
        seed(store, Scenario(months=2, payments=30, until=EARLIER))
    arguments = ["seed", "--db", str(tmp_path / "s.db"), *told]
    result = CliRunner().invoke(sandbox, arguments, catch_exceptions=False)
    assert "holds seed 7, 2 months before 2024-05, 30 payments" in result.stdout


def test_serve_answers_until_interrupted(tmp_path):
    """It prints where it answers, but no key; the key is in the env file; Ctrl-C ends it."""
    env_file = tmp_path / "sandbox.env"
    code = "from svc_analytics.sandbox.cli import sandbox; sandbox()"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--env-file", str(env_file)]
    with subprocess.Popen([*command, *SMALL], stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout.readline() + process.stdout.readline()
        settings = dict(line.split("=", 1) for line in env_file.read_text().splitlines())
        headers = {"authorization": f"Bearer {settings['SVC_CHECKOUT_KEY']}"}
        answer = httpx.get(f"{settings['SVC_BASE_URL']}/api/pay/v1/me", headers=headers)
        process.send_signal(signal.SIGINT)
    assert answer.json()["status"] == "active"
    assert settings["SVC_BASE_URL"] in printed
    assert "svc_" not in printed
    assert process.returncode == 0


def test_a_revoked_key_is_not_written_into_the_settings_again(tmp_path):
    """Served once more, the settings hold the keys that work."""
    with Store(tmp_path / "shop.db") as store:
        seed(store, Scenario(months=1, payments=5))
        service = Service(store)
        [held] = [key for key in service.platform.api_keys.all() if key["class"] == "payout"]
        service.platform.api_keys.revoke(held["id"], service.clock.now())
        names = service.environment("http://127.0.0.1:1")
        assert "SVC_PAYOUT_KEY" not in names and "SVC_CHECKOUT_KEY" in names
