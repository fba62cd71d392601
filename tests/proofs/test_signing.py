"""Sign and stamp a sealed month, by the command, in Python and while it is closed.

Nobody signs what was not proven: not a close, which signs what it sealed, and not `sign`.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import svc_analytics as svc
from svc_analytics.closing import chain
from svc_analytics.closing.handover.evidence import evidence_text
from svc_analytics.closing.handover.sign import Signer, Stamper, sign_folder, unsigned_months
from svc_analytics.closing.seals import foreign_files, read_manifest
from svc_analytics.closing.verification.proof import prove_folder
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError, NotProven
from svc_analytics.files import state_folder
from svc_analytics.proofs import signature
from svc_analytics.proofs.checkpoint import FILE, QUERY, SIGNATURE, STAMP
from svc_analytics.proofs.signature import fingerprint_of
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.proofs.statuses import Trust
from tests.support import altered
from tests.support.altered import text
from tests.support.closings import Closer, closer_by_commands
from tests.support.fake_service import payment
from tests.support.sealed_months import COMMITS, unpack
from tests.support.signers import (
    Counter,
    StampAuthority,
    is_signed_by,
    make_key,
    serving,
    stamp_status,
)


class Keys(NamedTuple):
    own: Path
    other: Path
    locked: Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    return Keys(*(make_key(folder, name, "x" * (name == "locked") * 8) for name in Keys._fields))


@pytest.fixture
def set_key(monkeypatch, keys) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("SVC_SIGNING_KEY", str(keys.own))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return monkeypatch


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def alone(closer, tmp_path) -> Path:
    """A sealed month away from its lake, which is proven in no time."""
    return shutil.copytree(closer.sealed("2026-10"), tmp_path / "alone" / "2026-10")


@pytest.mark.parametrize("suffix", ["", ".pub"])
def test_a_file_of_two_keys_signs_nothing(keys, tmp_path, suffix):
    """ssh-keygen would take the first, and nobody would know which."""
    both, files = tmp_path / f"both{suffix}", (f"{keys.own}{suffix}", f"{keys.other}{suffix}")
    both.write_bytes(b"".join(Path(each).read_bytes() for each in files))
    both.chmod(0o600)
    with pytest.raises(ConfigError, match=r"there are 2 keys at .*both"):
        signature.sign(b"content", both)


def test_a_reader_who_knows_the_key_finds_the_checkpoint_signed(closer, keys):
    """By ssh-keygen; no other file changes. What a killed run had begun is nobody's."""
    folder = closer.sealed("2026-10")
    before, begun = contents(folder), folder / f".{SIGNATURE}.writing"
    begun.write_text("-----BEGIN")
    assert svc.verify_statement(folder).holds
    done = svc.sign(closer.desk.lake, "2026-10", key=keys.own)
    assert done.is_new and done.file == folder / SIGNATURE
    assert contents(folder) == before | {SIGNATURE: done.file.read_bytes()}
    assert is_signed_by(keys.own, done.file, folder / FILE)
    assert not is_signed_by(keys.other, done.file, folder / FILE)
    assert done.key == signature.fingerprint_of(keys.own)
    assert foreign_files(folder, read_manifest(folder)) == []


def test_signing_again_changes_nothing_and_another_key_takes_its_place(closer, keys):
    """What is not its checkpoint's signature, such as a torn file, is replaced too."""
    folder = closer.sealed("2026-10")
    first = sign_folder(folder, keys.own)
    kept = first.file.stat().st_mtime_ns
    assert not sign_folder(folder, keys.own).is_new
    assert first.file.stat().st_mtime_ns == kept
    assert sign_folder(folder, keys.other).key == signature.fingerprint_of(keys.other)
    first.file.write_bytes(first.file.read_bytes()[:100])
    assert sign_folder(folder, keys.other).is_new
    assert is_signed_by(keys.other, first.file, folder / FILE)


def evidence_of(folder: Path) -> str:
    """The EVIDENCE.txt of a folder away from its lake, its lines joined."""
    return " ".join(evidence_text(prove_folder(folder, read_manifest(folder), None)).split())


def test_the_evidence_says_four_statuses_and_never_one_tick(closer, alone, keys):
    """A torn signature is none, and says so; without the lake nothing is proven."""
    said = evidence_of(alone)
    assert "Sealed: every file" in said and "Not signed: no key signed its checkpoint." in said
    assert "Not stamped: no authority" in said and "Not proven: it was not made again" in said
    done = sign_folder(alone, keys.own, closer.desk.lake)
    said = evidence_of(alone)
    assert f"Signed: by the key {done.key}." in said and "Nobody signed it." not in said
    done.file.write_bytes(done.file.read_bytes()[:100])
    said = evidence_of(alone)
    assert "Not signed: checkpoint.sig is no signature of its checkpoint." in said
    assert "Nobody signed it." in said


def test_what_does_not_hold_is_not_signed(closer, alone, keys):
    """A checkpoint, or a table, that is not what was sealed; no lake, or no seal of a month."""
    for name, part in ((FILE, b"version 1"), ("summary.csv", b"btc")):
        content = (alone / name).read_bytes()
        (alone / name).write_bytes(content.replace(part, part[:-1] + b"2"))
        with pytest.raises(NotProven, match=f"is not signed: {name}"):
            sign_folder(alone, keys.own, closer.desk.lake)
        (alone / name).write_bytes(content)
    with pytest.raises(NotProven, match="it lies in no lake, so it cannot be proven"):
        sign_folder(alone, keys.own)
    with pytest.raises(LakeError, match="2026-09 is not sealed"):
        svc.sign(closer.desk.lake, "2026-09", key=keys.own)
    assert not (alone / SIGNATURE).exists()


def test_a_month_without_a_checkpoint_is_refused(keys, tmp_path):
    """Of an earlier release: nothing of it can be signed."""
    kept = unpack(COMMITS[0], tmp_path) / "statements" / "2026-09"
    with pytest.raises(LakeError, match="it has no checkpoint, for an earlier release sealed it"):
        sign_folder(kept, keys.own)


@pytest.mark.usefixtures("set_key")
def test_a_month_is_signed_while_it_is_closed(closer, keys):
    """The note says that this machine had nothing to compare the lake with; it says so once."""
    closed = closer.close("2026-10", sign=True)
    file, by = closed.folder / SIGNATURE, signature.fingerprint_of(keys.own)
    assert closed.signed_by == by and f"  signed by key {by}" in closed.describe()
    assert closed.note and "this machine signs in this lake for the first time" in closed.note
    assert is_signed_by(keys.own, file, closed.folder / FILE)
    kept, again = file.stat().st_mtime_ns, closer.close("2026-10", sign=True)
    assert (again.state, again.signed_by, again.note) == ("unchanged", by, None)
    assert file.stat().st_mtime_ns == kept


@pytest.mark.parametrize("trouble", ["no key", "no file", "passphrase", "no program"])
def test_what_hinders_a_signature_hinders_no_seal(trouble, closer, keys, set_key, tmp_path):
    """One note says why and what to do, for all months of a run; nobody is asked."""
    [closed] = closer.closed("2026-10")
    if trouble == "no key":
        set_key.delenv("SVC_SIGNING_KEY")
    elif trouble == "no program":
        set_key.setenv("PATH", str(tmp_path))
    else:
        path = keys.locked if trouble == "passphrase" else tmp_path / "none"
        set_key.setenv("SVC_SIGNING_KEY", str(path))
    signer = Signer(closer.desk.lake, is_wanted=True)
    told = signer.sign(closed)
    assert (told.state, told.signed_by, told.needs_attention) == ("sealed", None, False)
    assert told.note and told.note.startswith("not signed: ")
    assert "run svc-analytics sign" in told.note
    assert signer.sign(closed).note is None


def test_a_key_is_given_by_its_path(keys, tmp_path):
    """A file that a variable names may be the key, or hold its path; a variable is never a key."""
    path, name = tmp_path / "path", "SVC_SIGNING_KEY"
    path.write_text(f"{keys.own}\n")
    for named in (keys.own, path, keys.own.with_suffix(".pub")):
        found = read_signing_key(environ={f"{name}_FILE": str(named)}, folder=tmp_path)
        assert found == (keys.own if named == path else named)
    assert read_signing_key(keys.other, environ={name: str(keys.own)}) == keys.other
    assert read_signing_key(environ={}, folder=tmp_path) is None
    with pytest.raises(ConfigError, match="SVC_SIGNING_KEY is a key: give the path") as refused:
        read_signing_key(environ={name: keys.own.read_text()}, folder=tmp_path)
    assert "BEGIN" not in str(refused.value)


# ---------- stamps of checkpoints: asked for where an authority is named, and in nobody's way


@pytest.fixture(scope="module")
def counter(authority) -> Iterator[Counter]:
    with serving(authority) as found:
        yield found


@pytest.fixture
def stamped(counter, tmp_path) -> Path:
    """A folder with a checkpoint that was stamped."""
    counter.answer = (200, None)
    (tmp_path / FILE).write_text("a checkpoint\n")
    for name, content in Authority(counter.url).stamp((tmp_path / FILE).read_bytes()).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_a_stamp_holds_for_who_trusts_its_authority(stamped, authority, tmp_path):
    """For nobody else, and while no authority is named it is not checked."""
    assert stamp_status(stamped, authority)[0] == "held"
    assert stamp_status(stamped, None)[0] == "not checked" and has_stamp(stamped)
    other = StampAuthority(tmp_path, "other")
    assert stamp_status(stamped, other) == ("FAILED", "it is no stamp of this authority")


def test_a_stamp_is_of_one_checkpoint_and_of_each_byte(stamped, authority):
    """The checkpoint, the query and what the authority signed cannot be altered."""
    for name in (FILE, QUERY, STAMP):
        content = (stamped / name).read_bytes()
        at = content.find(b"20") + 4 if name == STAMP else 6  # in the year, or in the head
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        (stamped / name).write_bytes(changed)
        assert stamp_status(stamped, authority)[0] == "FAILED", name
        (stamped / name).write_bytes(content)
    (stamped / STAMP).unlink()
    assert stamp_status(stamped, None) == ("not checked", "no stamp")
    assert stamp_status(stamped, authority) == ("FAILED", "no stamp, and you named whose you trust")


def test_only_a_hash_is_sent_and_a_number_that_is_new_each_time(stamped, counter):
    """The authority learns nothing of the month."""
    Authority(counter.url).stamp((stamped / FILE).read_bytes())
    first, second = (each["query"] for each in counter.asked[-2:])
    assert counter.asked[-1]["type"] == "application/timestamp-query"
    assert first != second and max(len(first), len(second)) < 100
    assert b"checkpoint" not in first


def test_a_reply_that_is_no_stamp_is_refused_with_the_reason(stamped, counter):
    """An error, a rejection, another query's stamp, a text, and nobody at the address."""
    rejected = counter.authority.reply(b"no query")
    answers = [
        (503, b"", "answered 503"),
        (200, rejected, "refuses: "),
        (200, (stamped / STAMP).read_bytes(), "no stamp of this checkpoint"),
        (200, b"<html>", "no stamp of this checkpoint"),
    ]
    for code, reply, said in answers:
        counter.answer = (code, reply)
        with pytest.raises(ConfigError, match=said):
            Authority(counter.url).stamp(b"a checkpoint\n")
    for url, why in (("http://127.0.0.1:1/", "cannot be reached"), ("tsa", "is not an address")):
        with pytest.raises(ConfigError, match=why):
            Authority(url).stamp(b"a checkpoint\n")


def test_a_month_is_stamped_when_it_is_closed(closer, counter, authority, monkeypatch):
    """What stops a stamp stops no close: it is a note, and the next close asks again."""
    counter.answer = (200, None)
    [closed], storage = closer.closed("2026-10"), closer.desk.lake.storage
    monkeypatch.setenv("SVC_TSA_URL", "http://127.0.0.1:1/")
    noted, folder = Stamper(storage).stamp(closed), closed.folder
    assert noted.seal and not noted.is_stamped and not (folder / STAMP).exists()
    assert noted.note and "not stamped: the authority of SVC_TSA_URL cannot be" in noted.note
    monkeypatch.setenv("SVC_TSA_URL", counter.url)
    assert closer.close("2026-10").is_stamped
    asked, kept = len(counter.asked), (folder / STAMP).read_bytes()
    assert Stamper(storage).stamp(closed).is_stamped
    assert len(counter.asked) == asked and (folder / STAMP).read_bytes() == kept
    *_, stamped = Trust(authority=str(authority.certificate)).statuses_of(folder)
    assert stamped.outcome == "held" and stamped.text.startswith("the checkpoint was there at ")


def test_without_openssl_a_month_is_not_stamped(stamped, counter, authority, monkeypatch):
    """The note says what to install; whose a stamp is that is there, is not checked."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="openssl is not installed: install it"):
        Authority(counter.url).stamp(b"a checkpoint\n")
    said = "this needs openssl, which is not here"
    assert stamp_status(stamped, authority) == ("not checked", said)
    assert stamp_status(stamped, None)[0] == "not checked" and has_stamp(stamped)


CHAIN = "chain.json.sig"
OF_MONTHS = [f"{month}/checkpoint.sig" for month in altered.MONTHS]


@pytest.fixture
def unsigned(closer, key) -> Closer:
    """A desk whose months nobody signed; this machine remembers nothing of them."""
    closer.closed(*altered.MONTHS)
    shutil.rmtree(state_folder(), ignore_errors=True)
    return closer


def notes(closed: list[svc.CloseResult]) -> list[str]:
    return [str(each.note) for each in closed if each.note]


def test_a_close_signs_no_month_of_a_lake_that_was_put_in_place(unsigned, tmp_path, monkeypatch):
    """With ten times the money, and the true seals before its own; the machine is a new one."""
    other = altered.lake_of_another_service(tmp_path / "other", monkeypatch)
    altered.continue_chain(other.desk.lake, altered.places(unsigned.desk.lake))
    altered.put_in_place(unsigned.desk.lake, other.desk.lake.path)
    closed = unsigned.close_all_due(sign=True)
    assert [each.state for each in closed] == ["unchanged"] * 3
    assert altered.signatures(unsigned.desk.lake) == []
    said = notes(closed)
    for month, note in zip(altered.MONTHS, said, strict=True):
        assert f"nobody signed {month}" in note
    assert "nobody signed chain.json: svc-analytics sign --all" in said[0]


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_sealed_page_that_was_replaced_is_signed_by_nobody(is_signed, closer, key):
    """Hashes, seal, checkpoint, register and chain fit; what was signed before was removed."""
    folder = closer.sealed("2026-10", formats=("csv", "html"))
    if is_signed:
        altered.signed_by_hand(closer.desk.lake, key)
    shutil.rmtree(state_folder(), ignore_errors=True)
    altered.forge(folder, text("statement.html", "</style>", "td.n{font-size:0}</style>", count=1))
    altered.make_chain_anew(closer.desk.lake)
    (folder / "checkpoint.sig").unlink(missing_ok=True)
    with pytest.raises(LakeError, match=r"altered after it was sealed \(statement\.html"):
        closer.close("2026-10", sign=True)
    assert altered.signatures(closer.desk.lake) == []
    with pytest.raises(NotProven, match=r"2026-10 is not signed: statement\.html"):
        svc.sign(closer.desk.lake, "2026-10")
    [refused] = svc.sign_all(closer.desk.lake).refused
    assert "statement.html" in refused and altered.signatures(closer.desk.lake) == []


def test_a_close_signs_what_it_sealed_and_names_what_is_not(closer, key):
    """The chain lists months that nobody signed, so it is not signed either, until they are."""
    closer.closed("2026-08", "2026-09")
    august, september, october = closer.close_all_due(sign=True)
    assert altered.signatures(closer.desk.lake) == ["2026-10/checkpoint.sig"]
    assert october.signed_by == fingerprint_of(key) and not october.needs_attention
    assert "nobody signed 2026-08: svc-analytics sign --all" in str(august.note)
    assert "nobody signed 2026-09: svc-analytics sign --all" in str(september.note)
    assert [CHAIN[:10] in text for text in notes([august, september, october])][1:] == [False]
    done = svc.sign_all(closer.desk.lake)
    assert [each.folder.name for each in done.signed] == ["2026-08", "2026-09"]
    assert altered.signatures(closer.desk.lake) == [*OF_MONTHS, CHAIN]
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    again = closer.close("2026-10", sign=True)
    assert (again.state, again.note) == ("restated", None)
    statements = altered.places(closer.desk.lake)
    assert is_signed_by(key, statements / CHAIN, statements / "chain.json")


def test_a_signature_that_is_gone_is_named_and_made_by_a_person_alone(unsigned, key):
    """Of the chain, which did not grow; of a month, whose files are as they were."""
    lake = unsigned.desk.lake
    altered.signed_by_hand(lake, key)
    for name in (CHAIN, OF_MONTHS[1]):
        (altered.places(lake) / name).unlink()
    closed = unsigned.close_all_due(sign=True)
    first, second = notes(closed)
    assert "nobody signed chain.json" in first and "nobody signed 2026-09" in second
    assert not any(each.needs_attention for each in closed)
    assert altered.signatures(lake) == [OF_MONTHS[0], OF_MONTHS[2]]
    assert [each.folder.name for each in svc.sign_all(lake).signed] == ["2026-09"]
    assert notes(unsigned.close_all_due(sign=True)) == []


def test_a_chain_is_signed_by_its_key_alone_where_another_signed_a_month(unsigned, key, tmp_path):
    """What a forger signs with a key of his own is proven before the chain is signed."""
    lake, other = unsigned.desk.lake, make_key(tmp_path, "forger")
    svc.sign(lake, "2026-08", key=other)
    svc.sign(lake, "2026-09", key=other)
    done = svc.sign(lake, "2026-10")
    assert "nobody signed chain.json" in done.notes[-1] and CHAIN not in altered.signatures(lake)
    altered.forge(altered.places(lake) / "2026-09", text("summary.csv", "btc,1,", "btc,2,"))
    altered.make_chain_anew(lake)
    shutil.rmtree(state_folder())
    assert [text.split(" is not")[0][-7:] for text in svc.sign_all(lake).refused] == ["2026-09"]
    assert CHAIN not in altered.signatures(lake)


def test_a_month_that_the_lake_would_state_otherwise_is_named_and_the_others_are_signed(unsigned):
    """A record came since; the chain, which lists that month, is not signed."""
    lake = unsigned.desk.lake
    unsigned.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    unsigned.confirm("2026-10")
    done = svc.sign_all(lake)
    [refused] = done.refused
    assert "2026-10 is not signed: " in refused
    assert altered.signatures(lake) == OF_MONTHS[:2]


def test_forms_beside_the_seal_that_were_altered_keep_it_from_a_signature(closer, key):
    """They lie outside of the seal, and people read them first."""
    closer.sealed("2026-10")
    closer.close("2026-10", formats=("csv", "html"))
    page = altered.places(closer.desk.lake) / "2026-10-forms" / "statement.html"
    page.write_text(page.read_text().replace("</style>", "td{display:none}</style>"))
    with pytest.raises(NotProven, match="2026-10 is not signed: 2026-10-forms"):
        svc.sign(closer.desk.lake, "2026-10")
    assert altered.signatures(closer.desk.lake) == []


def test_the_status_counts_unsigned_months_where_months_are_signed(unsigned, monkeypatch, key):
    """Where a key is set, or a month is signed."""
    lake = unsigned.desk.lake
    assert unsigned_months(lake) == [*altered.MONTHS]
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
    assert json.loads(run("status", "--json", *where).out)["unsigned"] == [*altered.MONTHS]
    done = run("sign", "--all", *where)
    assert done.code == 0 and done.out.count(" is signed by key SHA256:") == 3
    assert "this machine signs in this lake for the first time" in done.err
    assert "unsigned" not in run("status", *where).out
    again = run("sign", "--all", *where)
    assert (again.code, again.out, again.err) == (0, "every sealed month is signed\n", "")
    older = shutil.copytree(lake.path, tmp_path / "older")
    shutil.rmtree(older / "statements" / "2026-10")
    altered.make_chain_anew(type(lake)(older))
    altered.put_in_place(lake, older)
    for words in (("--all",), ("2026-09",), (str(altered.places(lake) / "2026-09"),)):
        refused = run("sign", *words, *where)
        assert (refused.code, len(refused.lines)) == (3, 1)
        assert "Remembered: seals: 3, the newest: 2026-10, root " in refused.err
    gone_on = run("sign", "--all", "--reason", "the newer disk is lost", "--json", *where)
    document = json.loads(gone_on.out)
    assert gone_on.code == 0 and document["refused"] == []
    assert "the newer disk is lost" in document["notes"][0]
    assert run("sign", "--all", "2026-10").code == run("sign").code == 2


def test_what_a_close_signs_is_remembered_as_signed(closer, key):
    """And what it sealed without signing as seen, of which no more is signed than this machine."""
    closer.close("2026-09")
    assert chain.remember(closer.desk.lake).signed == 0
    closer.close("2026-10", sign=True)
    known = chain.remember(closer.desk.lake)
    assert (known.signed, known.chain["size"]) == (0, 2)
    svc.sign_all(closer.desk.lake)
    assert chain.remember(closer.desk.lake).signed == 2
