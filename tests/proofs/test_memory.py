"""What this machine remembers of lakes: one that was put in another's place is not signed."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics import ConfigError, Lakehouse, NotProven
from svc_analytics.closing import chain
from svc_analytics.files import state_folder
from tests.support.altered import (
    MONTHS,
    continue_chain,
    forge,
    lake_of_another_service,
    make_chain_anew,
    places,
    put_in_place,
    signatures,
    signed_by_hand,
    text,
)
from tests.support.closings import Closer
from tests.support.fake_service import payment
from tests.support.signers import make_key


@pytest.fixture
def signed(closer, key) -> Closer:
    """A desk whose three months are sealed and signed, as this machine remembers."""
    closer.closed(*MONTHS)
    signed_by_hand(closer.desk.lake, key)
    return closer


Forgery = Callable[[Closer, Path, pytest.MonkeyPatch], None]


def another_lake(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """The months of another service, with the true seals before them in register and chain."""
    other = lake_of_another_service(folder / "other", patch)
    continue_chain(other.desk.lake, places(signed.desk.lake))
    put_in_place(signed.desk.lake, other.desk.lake.path)


def another_chain(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """The same without the true seals."""
    put_in_place(signed.desk.lake, lake_of_another_service(folder / "other", patch).desk.lake.path)


def another_month(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """One month's folder of another lake, in a chain that fits what is there."""
    other = lake_of_another_service(folder / "other", patch)
    shutil.rmtree(places(signed.desk.lake) / "2026-10")
    shutil.copytree(places(other.desk.lake) / "2026-10", places(signed.desk.lake) / "2026-10")
    make_chain_anew(signed.desk.lake)


def a_page(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A table of a sealed month, with hashes, a seal, a register and a chain that fit."""
    forge(places(signed.desk.lake) / "2026-10", text("summary.csv", "usdt,1,", "usdt,2,"))
    make_chain_anew(signed.desk.lake)


def an_older_copy(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A copy from before the last month."""
    older = shutil.copytree(signed.desk.lake.path, folder / "older")
    shutil.rmtree(older / "statements" / "2026-10")
    make_chain_anew(Lakehouse(older))
    put_in_place(signed.desk.lake, older)


def no_statements(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(places(signed.desk.lake))


def another_merchant(signed: Closer, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """The lake of somebody else, which fits in itself."""
    own = signed.desk.service.merchant
    signed.desk.service.merchant = own | {"id": "22222222-2222-4222-8222-222222222222"}
    shutil.rmtree(signed.desk.lake.path)
    with patch.context() as elsewhere:
        elsewhere.setenv("SVC_STATE_DIR", str(folder / "of the forger"))
        signed.closed(*MONTHS)


FORGERIES = [
    *(another_lake, another_chain, another_month, a_page),
    *(an_older_copy, no_statements, another_merchant),
]


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_lake_that_was_put_in_the_place_of_the_one_that_was_signed_is_not_signed(
    forgery, signed, tmp_path, monkeypatch
):
    """By no door; one line tells what is remembered, and what is there; nothing is overwritten."""
    remembered = chain.chain_of(signed.desk.lake)
    forgery(signed, tmp_path, monkeypatch)
    lake, file = signed.desk.lake, state_folder() / chain.MEMORY
    for path in places(lake).rglob("*.sig"):
        path.unlink()
    before, there = file.read_bytes(), chain.chain_of(lake)
    for door in (lambda: svc.sign_all(lake), lambda: svc.sign(lake, "2026-09")):
        if forgery is no_statements and door.__code__.co_names[1] == "sign":
            continue  # there is no month to sign
        with pytest.raises(NotProven) as refused:
            door()
        said = str(refused.value)
        assert refused.value.exit_code == 3 and "\n" not in said
        assert f"seals: 3, the newest: 2026-10, root {remembered['root']}" in said
        assert there["root"] in said or "has another seal than this machine remembers" in said
    assert (signatures(lake), file.read_bytes()) == ([], before)


@pytest.mark.parametrize("forgery", [another_lake, another_chain, an_older_copy])
def test_the_timer_that_signs_what_it_seals_refuses_such_a_lake(
    forgery, signed, tmp_path, monkeypatch
):
    """It seals on, and says why nothing is signed, once, so that a person looks."""
    forgery(signed, tmp_path, monkeypatch)
    for path in places(signed.desk.lake).rglob("*.sig"):
        path.unlink()
    first, *others = signed.close_all_due(sign=True)
    assert first.doubt and first.needs_attention and first.doubt.startswith("not signed: ")
    assert not any(each.doubt for each in others)
    assert all(each.seal for each in others) and signatures(signed.desk.lake) == []


def test_a_close_that_signs_nothing_says_it_too(signed, tmp_path, monkeypatch):
    """What is remembered stays, however often it is closed."""
    another_chain(signed, tmp_path, monkeypatch)
    before = (state_folder() / chain.MEMORY).read_bytes()
    for _ in range(2):
        first, *_ = signed.close_all_due()
        assert first.doubt and "does not continue the chain" in first.doubt
        assert first.needs_attention
    assert (state_folder() / chain.MEMORY).read_bytes() == before


def test_what_a_close_saw_sealed_is_remembered_without_a_signature(closer, key):
    """The chain that it sealed, and then a rewritten one is not signed."""
    closer.closed(*MONTHS)
    closer.close_all_due()
    a_page(closer, key.parent, pytest.MonkeyPatch())
    with pytest.raises(NotProven, match="seen here at"):
        svc.sign_all(closer.desk.lake)
    assert signatures(closer.desk.lake) == []


def test_a_lake_that_was_moved_goes_on_without_a_question(signed, tmp_path):
    """From then on its older copy, at whatever address, is an older copy."""
    moved, old_place = Closer(signed.desk), signed.desk.lake.path
    older = shutil.copytree(old_place, tmp_path / "older")
    old_place.rename(tmp_path / "moved")
    moved.desk.lake = Lakehouse(tmp_path / "moved")
    assert svc.sign(moved.desk.lake, "2026-10").notes == ()
    moved.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closed = moved.close("2026-10", sign=True)
    assert (closed.state, closed.doubt, closed.note) == ("restated", None, None)
    for place in (older, old_place):
        older.rename(place)
        with pytest.raises(NotProven, match="seals: 4, the newest: 2026-10"):
            svc.sign_all(Lakehouse(place))
        older = place


def test_a_backup_is_restored_and_goes_on_and_an_older_one_does_not(signed, tmp_path):
    """Elsewhere, as on the day when the disk is lost."""
    lake = signed.desk.lake
    svc.backup(lake, tmp_path / "disk", progress=False)
    svc.restore(tmp_path / "disk", tmp_path / "restored", progress=False)
    assert svc.sign_all(Lakehouse(tmp_path / "restored")).notes == ()
    signed.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    assert signed.close("2026-10", sign=True).state == "restated"
    svc.restore(tmp_path / "disk", tmp_path / "too late", progress=False)
    with pytest.raises(NotProven, match="too late does not continue the chain"):
        svc.sign_all(Lakehouse(tmp_path / "too late"))


def test_a_person_goes_on_with_a_written_reason(signed, tmp_path, monkeypatch):
    """It is kept, with who, when and what was remembered; from then on the lake is known."""
    an_older_copy(signed, tmp_path, monkeypatch)
    lake, before = signed.desk.lake, chain.chain_of(Lakehouse(signed.desk.lake.path))
    monkeypatch.setattr("getpass.getuser", lambda: "mina")
    for blank in ("", " "):
        with pytest.raises(NotProven):
            svc.sign_all(lake, reason=blank)
    [note] = svc.sign_all(lake, reason="the disk of November is lost").notes
    assert note.startswith("mina decided to go on: the disk of November is lost. ")
    *_, known = json.loads((state_folder() / chain.MEMORY).read_text())["chains"]
    [step] = known["went_on"]
    assert (step["by"], step["reason"]) == ("mina", "the disk of November is lost")
    assert "seals: 3, the newest: 2026-10" in step["instead_of"] and step["at"] >= "2026"
    assert (known["chain"]["root"], known["places"]) == (before["root"], [lake.place])
    assert svc.sign_all(lake).notes == ()


def test_a_first_use_is_said_and_another_merchant_is_one(closer, key, tmp_path):
    """What was signed of others at other addresses says nothing of it."""
    closer.closed("2026-10")
    shutil.rmtree(state_folder(), ignore_errors=True)
    [note] = svc.sign(closer.desk.lake, "2026-10").notes
    assert "this machine signs in this lake for the first time" in note
    assert svc.sign(closer.desk.lake, "2026-10").notes == ()
    other = Closer(type(closer.desk).at(tmp_path / "other"))
    other.serve()
    other.desk.service.merchant |= {"id": "22222222-2222-4222-8222-222222222222"}
    closed = other.close("2026-10", sign=True)
    assert closed.note and "for the first time" in closed.note and closed.doubt is None


def test_a_lake_of_its_own_that_is_never_signed_is_told_by_no_alarm(closer, tmp_path):
    """Whoever tries the program twice has two lakes; only where one was signed, it matters."""
    closer.closed("2026-10")
    closer.close("2026-10")
    other = Closer(type(closer.desk).at(tmp_path / "other", closer.desk.service))
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    assert other.close("2026-10").doubt is None
    with pytest.raises(NotProven, match="other does not continue the chain"):
        svc.sign_all(other.desk.lake, key=make_key(tmp_path, "own"))


def a_file(folder: Path) -> None:
    folder.write_text("")


def torn(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / chain.MEMORY).write_text('{"format": 1, "chains": [')


def flipped(folder: Path) -> None:
    path = folder / chain.MEMORY
    path.write_text(path.read_text().replace("2026-08", "2026-07"))


def newer(folder: Path) -> None:
    (folder / chain.MEMORY).write_text('{"format": 2}')


TROUBLES = [
    (a_file, ConfigError, "name another one by SVC_STATE_DIR"),
    (torn, NotProven, "is torn or altered"),
    (flipped, NotProven, "is torn or altered"),
    (newer, NotProven, "is of a newer release"),
]


@pytest.mark.parametrize(("trouble", "kind", "says"), TROUBLES)
def test_a_memory_that_cannot_be_kept_or_read_stops_signatures_and_no_seal(
    trouble, kind, says, signed
):
    """One line, with the next step; a damaged one is for a person to look at."""
    folder = state_folder()
    if trouble is a_file:
        shutil.rmtree(folder)
    trouble(folder)
    with pytest.raises(kind, match=says):
        svc.sign_all(signed.desk.lake)
    signed.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    for is_signing in (True, False):
        [*_, closed] = signed.close_all_due(sign=is_signing)
        assert closed.seal
    first, *_ = signed.close_all_due(sign=True)
    assert says in (first.doubt or first.note or "") and (first.doubt is None) is (
        kind is ConfigError
    )


def test_the_memory_lies_in_no_lake(signed, monkeypatch):
    """There, whoever changes the lake would change it too."""
    monkeypatch.setenv("SVC_STATE_DIR", str(signed.desk.lake.path / "state"))
    with pytest.raises(ConfigError, match="which is in the lake"):
        svc.sign_all(signed.desk.lake)


def test_two_processes_lose_nothing_and_none_forgets(signed, tmp_path):
    """Each remembers a lake of its own at once; an older view of a lake overwrites no newer."""
    lakes = [
        Lakehouse(shutil.copytree(signed.desk.lake.path, tmp_path / f"copy {number}"))
        for number in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(chain.remember, lakes))
    [known] = json.loads((state_folder() / chain.MEMORY).read_text())["chains"]
    assert {lake.place for lake in (*lakes, signed.desk.lake)} == {*known["places"]}
    older = lakes[0]
    shutil.rmtree(places(older) / "2026-10")
    make_chain_anew(older)
    assert chain.remember(older) is None
    assert json.loads((state_folder() / chain.MEMORY).read_text())["chains"] == [known]
