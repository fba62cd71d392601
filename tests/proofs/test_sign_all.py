"""Nobody signs what was not proven: not a close, which signs what it sealed, and not `sign`."""

import json
import shutil

import pytest

import svc_analytics as svc
from svc_analytics.closing import memory
from svc_analytics.closing.handover.signatures import unsigned_months
from svc_analytics.errors import LakeError, NotProven
from svc_analytics.files import state_folder
from svc_analytics.proofs.signature import fingerprint_of
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
from tests.support.closings import Closer, closer_by_commands
from tests.support.fake_service import payment
from tests.support.signers import is_signed_by, make_key

CHAIN = "chain.json.sig"
OF_MONTHS = [f"{month}/checkpoint.sig" for month in MONTHS]


@pytest.fixture
def unsigned(closer, key) -> Closer:
    """A desk whose months nobody signed; this machine remembers nothing of them."""
    closer.closed(*MONTHS)
    shutil.rmtree(state_folder(), ignore_errors=True)
    return closer


def notes(closed: list[svc.CloseResult]) -> list[str]:
    return [str(each.note) for each in closed if each.note]


def test_a_close_signs_no_month_of_a_lake_that_was_put_in_place(unsigned, tmp_path, monkeypatch):
    """With ten times the money, and the true seals before its own; the machine is a new one."""
    other = lake_of_another_service(tmp_path / "other", monkeypatch)
    continue_chain(other.desk.lake, places(unsigned.desk.lake))
    put_in_place(unsigned.desk.lake, other.desk.lake.path)
    closed = unsigned.close_all_due(sign=True)
    assert [each.state for each in closed] == ["unchanged"] * 3
    assert signatures(unsigned.desk.lake) == []
    said = notes(closed)
    assert [f"nobody signed {month}" in text for month, text in zip(MONTHS, said, strict=True)]
    assert "nobody signed chain.json: svc-analytics sign --all" in said[0]


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_sealed_page_that_was_replaced_is_signed_by_nobody(is_signed, closer, key):
    """Hashes, seal, checkpoint, register and chain fit; what was signed before was removed."""
    folder = closer.sealed("2026-10", formats=("csv", "html"))
    if is_signed:
        signed_by_hand(closer.desk.lake, key)
    shutil.rmtree(state_folder(), ignore_errors=True)
    forge(folder, text("statement.html", "</style>", "td.n{font-size:0}</style>", count=1))
    make_chain_anew(closer.desk.lake)
    (folder / "checkpoint.sig").unlink(missing_ok=True)
    with pytest.raises(LakeError, match=r"altered after it was sealed \(statement\.html"):
        closer.close("2026-10", sign=True)
    assert signatures(closer.desk.lake) == []
    with pytest.raises(NotProven, match=r"2026-10 is not signed: statement\.html"):
        svc.sign(closer.desk.lake, "2026-10")
    [refused] = svc.sign_all(closer.desk.lake).refused
    assert "statement.html" in refused and signatures(closer.desk.lake) == []


def test_a_close_signs_what_it_sealed_and_names_what_is_not(closer, key):
    """The chain lists months that nobody signed, so it is not signed either, until they are."""
    closer.closed("2026-08", "2026-09")
    august, september, october = closer.close_all_due(sign=True)
    assert signatures(closer.desk.lake) == ["2026-10/checkpoint.sig"]
    assert october.signed_by == fingerprint_of(key) and not october.needs_attention
    assert "nobody signed 2026-08: svc-analytics sign --all" in str(august.note)
    assert "nobody signed 2026-09: svc-analytics sign --all" in str(september.note)
    assert [CHAIN[:10] in text for text in notes([august, september, october])][1:] == [False]
    done = svc.sign_all(closer.desk.lake)
    assert [each.folder.name for each in done.signed] == ["2026-08", "2026-09"]
    assert signatures(closer.desk.lake) == [*OF_MONTHS, CHAIN]
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    again = closer.close("2026-10", sign=True)
    assert (again.state, again.note) == ("restated", None)
    assert is_signed_by(
        key, places(closer.desk.lake) / CHAIN, places(closer.desk.lake) / "chain.json"
    )


def test_a_signature_that_is_gone_is_named_and_made_by_a_person_alone(unsigned, key):
    """Of the chain, which did not grow; of a month, whose files are as they were."""
    lake = unsigned.desk.lake
    signed_by_hand(lake, key)
    for name in (CHAIN, OF_MONTHS[1]):
        (places(lake) / name).unlink()
    closed = unsigned.close_all_due(sign=True)
    first, second = notes(closed)
    assert "nobody signed chain.json" in first and "nobody signed 2026-09" in second
    assert not any(each.needs_attention for each in closed)
    assert signatures(lake) == [OF_MONTHS[0], OF_MONTHS[2]]
    assert [each.folder.name for each in svc.sign_all(lake).signed] == ["2026-09"]
    assert notes(unsigned.close_all_due(sign=True)) == []


def test_a_chain_is_signed_by_its_key_alone_where_another_signed_a_month(unsigned, key, tmp_path):
    """What a forger signs with a key of his own is proven before the chain is signed."""
    lake, other = unsigned.desk.lake, make_key(tmp_path, "forger")
    svc.sign(lake, "2026-08", key=other)
    svc.sign(lake, "2026-09", key=other)
    done = svc.sign(lake, "2026-10")
    assert "nobody signed chain.json" in done.notes[-1] and CHAIN not in signatures(lake)
    forge(places(lake) / "2026-09", text("summary.csv", "btc,1,", "btc,2,"))
    make_chain_anew(lake)
    shutil.rmtree(state_folder())
    assert [text.split(" is not")[0][-7:] for text in svc.sign_all(lake).refused] == ["2026-09"]
    assert CHAIN not in signatures(lake)


def test_a_month_that_the_lake_would_state_otherwise_is_named_and_the_others_are_signed(unsigned):
    """A record came since; the chain, which lists that month, is not signed."""
    lake = unsigned.desk.lake
    unsigned.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    unsigned.confirm("2026-10")
    done = svc.sign_all(lake)
    [refused] = done.refused
    assert "2026-10 is not signed: " in refused
    assert signatures(lake) == OF_MONTHS[:2]


def test_forms_beside_the_seal_that_were_altered_keep_it_from_a_signature(closer, key):
    """They lie outside of the seal, and people read them first."""
    closer.sealed("2026-10")
    closer.close("2026-10", formats=("csv", "html"))
    page = places(closer.desk.lake) / "2026-10-forms" / "statement.html"
    page.write_text(page.read_text().replace("</style>", "td{display:none}</style>"))
    with pytest.raises(NotProven, match="2026-10 is not signed: 2026-10-forms"):
        svc.sign(closer.desk.lake, "2026-10")
    assert signatures(closer.desk.lake) == []


def test_the_status_counts_unsigned_months_where_months_are_signed(unsigned, monkeypatch, key):
    """Where a key is set, or a month is signed."""
    lake = unsigned.desk.lake
    assert unsigned_months(lake) == [*MONTHS]
    monkeypatch.delenv("SVC_SIGNING_KEY")
    assert unsigned_months(lake) == []
    svc.sign(lake, "2026-09", key=key)
    assert unsigned_months(lake) == ["2026-08", "2026-10"]


def test_the_commands_say_it_and_end_with_3(unsigned, run, monkeypatch, tmp_path):
    """`status`, `sign --all`, `sign MONTH` and `close --all-due --sign`."""
    closer_by_commands(unsigned.desk, monkeypatch)
    lake = unsigned.desk.lake
    where = ("--data-dir", str(lake.path))
    assert "unsigned    3 sealed months: 2026-08, 2026-09, 2026-10; " in run("status", *where).out
    assert json.loads(run("status", "--json", *where).out)["unsigned"] == [*MONTHS]
    done = run("sign", "--all", *where)
    assert done.code == 0 and done.out.count(" is signed by key SHA256:") == 3
    assert "this machine signs in this lake for the first time" in done.err
    assert "unsigned" not in run("status", *where).out
    again = run("sign", "--all", *where)
    assert (again.code, again.out, again.err) == (0, "every sealed month is signed\n", "")
    older = shutil.copytree(lake.path, tmp_path / "older")
    shutil.rmtree(older / "statements" / "2026-10")
    make_chain_anew(type(lake)(older))
    put_in_place(lake, older)
    for words in (("--all",), ("2026-09",), (str(places(lake) / "2026-09"),)):
        refused = run("sign", *words, *where)
        assert (refused.code, len(refused.lines)) == (3, 1)
        assert "Remembered is: seals: 3, the newest: 2026-10, root " in refused.err
    gone_on = run("sign", "--all", "--reason", "the newer disk is lost", "--json", *where)
    document = json.loads(gone_on.out)
    assert gone_on.code == 0 and document["refused"] == []
    assert "the newer disk is lost" in document["notes"][0]
    assert run("sign", "--all", "2026-10").code == run("sign").code == 2


def test_what_a_close_signs_is_remembered_as_signed(closer, key):
    """And what it sealed without signing as seen, of which no more is signed than this machine."""
    closer.close("2026-09")
    assert memory.keep(closer.desk.lake).signed == 0
    closer.close("2026-10", sign=True)
    known = memory.keep(closer.desk.lake)
    assert (known.signed, known.chain["size"]) == (0, 2)
    svc.sign_all(closer.desk.lake)
    assert memory.keep(closer.desk.lake).signed == 2
