"""A small merchant, seeded once, and the service and server that show it."""

import shutil

import httpx
import pytest

from svc_analytics.sandbox import Behaviour, Clock, Scenario, Service, Store, seed, serve
from svc_analytics.sandbox.server import create_site
from tests.sandbox.shop import InProcess, Shop, refused


@pytest.fixture(scope="session")
def scenario():
    return Scenario(seed=7, months=4, payments=300)


@pytest.fixture(scope="session")
def store(scenario):
    with Store() as store:
        seed(store, scenario)
        yield store


@pytest.fixture
def service(store, scenario):
    return Service(store, Clock(scenario.until))


@pytest.fixture
def payout_key(service):
    return service.account.payout_key.reveal()


@pytest.fixture
def checkout_key(service):
    return service.account.checkout_key.reveal()


@pytest.fixture(scope="session")
def live(store, scenario):
    """One server for all tests: the service behind it, and where it answers."""
    service = Service(store, Clock(scenario.until))
    with serve(service) as running:
        yield service, running


@pytest.fixture
def served(live, scenario):
    """The service behind the server, well-behaved again and at its own time."""
    service, _ = live
    service.behaviour = Behaviour()
    service.clock.set(scenario.until)
    return service


@pytest.fixture(scope="session")
def live_client(live):
    """One client for all tests: making one reads the certificates of the machine."""
    _, running = live
    headers = {"authorization": f"Bearer {running.environment['SVC_PAYOUT_KEY']}"}
    with httpx.Client(base_url=f"{running.base_url}/api/pay/v1", headers=headers) as client:
        yield client


@pytest.fixture
def client(live_client, served):
    """A client with the payout-class key, which reaches all but the receipts."""
    return live_client


@pytest.fixture
def pages(service, payout_key):
    """All pages of a list, read as a client reads them."""

    def read(list_name, **query):
        pages = [getattr(service, list_name)(payout_key, query)]
        while cursor := pages[-1]["next_cursor"]:
            pages.append(getattr(service, list_name)(payout_key, {**query, "cursor": cursor}))
            assert len(pages) < 2000
        return pages

    return read


@pytest.fixture
def refusal():
    """What the service refuses a call with: its status and codes."""
    return refused


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory):
    """The file of a small merchant who did nothing yet beyond its past."""
    path = tmp_path_factory.mktemp("shop") / "new.db"
    with Store(path) as store:
        Shop(store)
    return path


@pytest.fixture
def shop(new_shop, tmp_path):
    """A small merchant of one test's own, to write to."""
    shutil.copy(new_shop, tmp_path / "shop.db")
    with Store(tmp_path / "shop.db") as store:
        yield Shop(store)


@pytest.fixture
def site(shop):
    """A client of the whole site of a shop, which keeps cookies as a browser does."""
    transport = InProcess(create_site(shop.service))
    with httpx.Client(transport=transport, base_url=shop.platform.base_url) as client:
        yield client
