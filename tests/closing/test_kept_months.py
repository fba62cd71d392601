"""What lasts: months that a commit sealed once hold, and its lake is read, extended and closed on.

The lakes lie in `sealed_months`, as the programs of two commits wrote them.
"""

import csv
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics import LakeError, diff_statements, package, prove, statement, verify_statement
from svc_analytics.closing import table_diff
from svc_analytics.closing.handover.books import books_source
from svc_analytics.closing.handover.sign import sign_folder
from svc_analytics.closing.month_states import judged_months
from svc_analytics.closing.seals import read_manifest
from svc_analytics.files import hash_file
from svc_analytics.instants import now, to_micros
from svc_analytics.proofs.statuses import HELD, Trust
from svc_analytics.render.folder import FORMAT
from tests.support.altered import fact, forge, text
from tests.support.closings import Closer, row_causes
from tests.support.desks import Desk
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY, payment
from tests.support.loopback import on_a_socket
from tests.support.other_release import run
from tests.support.sealed_months import COMMITS, MONTHS, SEALED_BEFORE, service_of_kept, unpack

LATER = datetime(2026, 12, 5, 12, tzinfo=UTC)
FOLDERS = ("2026-09", "2026-10", "1405-07@Asia-Tehran")


def closer_of(commit: str, folder: Path) -> Closer:
    """Return what closes months of a kept lake, at the service that it was read from."""
    service = service_of_kept()
    service.now = LATER
    return Closer(Desk.at(unpack(commit, folder), service))


@pytest.fixture(autouse=True)
def later(monkeypatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: to_micros(LATER) * 1000)


@pytest.fixture(params=COMMITS)
def kept(request, tmp_path) -> Closer:
    return closer_of(request.param, tmp_path)


def statements(closer: Closer) -> Path:
    return closer.desk.lake.path / "statements"


def holds(folder: Path) -> bool:
    """Whether the lake gives what was sealed; how pages and files look may be of another day."""
    found = verify_statement(folder)
    return not (found.broken or found.reasons or found.table.num_rows)


def test_each_month_that_was_sealed_holds(kept):
    """And stands as sealed, not as changed, where people look."""
    assert all(holds(statements(kept) / name) for name in FOLDERS)
    states = judged_months(kept.desk.lake, to_micros(LATER), lambda text: None)
    kinds = {each.period.folder: each.kind for each in states if each.is_sealed}
    assert kinds == dict.fromkeys(FOLDERS, "sealed")


def test_the_next_month_closes_and_chains(kept):
    """The lake is extended; none of its months is restated, and the next one names the last."""
    late = payment(91, "2026-11-29T10:00:00Z", "7", "0.5")
    kept.desk.service.payments.append(late)
    kept.desk.extract()
    assert late["id"] in kept.desk.ids()
    closed = kept.close_all_due()
    states = [(one.label, one.state, one.version) for one in closed]
    assert states == [(month, "unchanged", 1) for month in MONTHS] + [("2026-11", "sealed", 1)]
    before = read_manifest(statements(kept) / "2026-10")
    assert read_manifest(closed[-1].folder)["previous_seal"] == before["seal"]
    assert holds(closed[-1].folder)


@pytest.mark.thorough
def test_a_late_record_restates_a_kept_month_by_itself(kept):
    """The restatement has it alone, and no payer in another form."""
    late = payment(92, "2026-10-20T10:00:00Z", "7", "0.5")
    kept.desk.service.payments.append(late)
    again = kept.close("2026-10")
    assert again.restatement is not None and again.state == "restated"
    rows = again.restatement.to_dict("records")
    assert row_causes(rows) == [(late["id"], "added", "late")]
    both = diff_statements(statements(kept) / "2026-10", again.folder)
    assert row_causes(both.table.to_pylist()) == [(late["id"], "added", "late")]
    assert holds(again.folder)


def test_a_signature_is_told_as_that_of_its_key(tmp_path):
    """Whoever trusts the key finds the months and their list signed."""
    lake = unpack("26661a7c", tmp_path)
    (tmp_path / "signers").write_text(f"shop@example {(lake / 'key.pub').read_text()}")
    for name in FOLDERS:
        found = Trust.read(tmp_path / "signers", None, None).statuses_of(lake / "statements" / name)
        assert {each.name: each.outcome for each in found}["signed"] == HELD


def test_no_kept_lake_is_made_again():
    """Whoever makes one again, to be rid of a difference, must change its hash too."""
    sums = (SEALED_BEFORE / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    kept = {path.name: hash_file(path) for path in SEALED_BEFORE.glob("*.xz")}
    assert dict(reversed(line.split()) for line in sums) == kept
    assert kept.keys() == {f"{commit}.tar.xz" for commit in COMMITS}


@pytest.mark.parametrize("table", ["lines.csv", "payouts.csv"])
def test_a_forged_payer_of_an_older_form_is_found(tmp_path, table):
    """It is compared without the prefix alone: another payer is another one."""
    folder = statements(closer_of("e830cbc", tmp_path)) / FOLDERS[-1]
    [payer, *_] = re.findall(",([0-9a-f]{12})[,\n]", (folder / table).read_text())
    for forged in ("0" * 12, f"p-{payer}", payer[1:], ""):
        found = forge(folder, text(table, f",{payer}(?=[,\n])", f",{forged}", count=1))
        assert found.table.num_rows and not found.holds, forged
        forge(folder, text(table, f",{forged}(?=[,\n])", f",{payer}", count=1))


def test_a_payer_of_today_s_form_keeps_its_prefix():
    """Only a seal from before there was a trend has none; of another it was taken off."""
    bare, new = (pa.table({"payer_ref": [text]}) for text in ("0a1b", "p-0a1b"))
    for sealed, is_same in (({}, True), ({"trend": pa.table({})}, False)):
        old, now = table_diff.comparable({"lines": bare, **sealed}, {"lines": new})
        assert old["lines"].equals(now["lines"]) is is_same


@pytest.mark.thorough
def test_a_restatement_that_names_the_older_form_is_still_proven(tmp_path, monkeypatch):
    """The release between compared payers with their prefix, and wrote each of them down."""
    kept = closer_of("e830cbc", tmp_path)
    with monkeypatch.context() as its:
        its.setattr(table_diff, "in_older_form", lambda sealed, new: new)
        again = kept.close("2026-10")
    assert again.state == "restated" and again.table.num_rows
    found = verify_statement(again.folder)
    assert (found.broken, found.unproven, found.table.num_rows) == ((), (), 0)


# ---------- a release that knows a property more


CHANNELS = ["sql", "select payment_id, channel from payments where channel is not null", "--csv"]
AGAIN = ["extract", "--reread", "--from", "2026-11-01"]


def channels(said: str) -> dict[str, str]:
    return {row["payment_id"]: row["channel"] for row in csv.DictReader(StringIO(said))}


def have_channel(lake: Path) -> set[bool]:
    files = (lake / "payments").glob("*.parquet")
    return {"channel" in pq.read_schema(path).names for path in files}


@pytest.fixture(params=[COMMITS[0], pytest.param(COMMITS[1], marks=pytest.mark.thorough)])
def served(request, tmp_path, monkeypatch) -> Iterator[tuple[Path, dict[str, str]]]:
    """A kept lake, and what its service, which is on a socket, says of channels."""
    lake, service = unpack(request.param, tmp_path), service_of_kept()
    with on_a_socket(service) as address:
        keys = {"CHECKOUT_KEY": CHECKOUT_KEY, "PAYOUT_KEY": PAYOUT_KEY}
        for name, value in {"BASE_URL": address, "DATA_DIR": str(lake), **keys}.items():
            monkeypatch.setenv(f"SVC_{name}", value)
        yield lake, {each["id"]: each["channel"] for each in service.payments if each["channel"]}


def test_a_lake_gains_a_column(served, tmp_path):
    """No command finds a file torn; what was kept in `extra` stands in the column at once."""
    lake, given = served
    sealed = ["statement-verify", str(lake / "statements" / "2026-10")]
    stated = ["statement", "--month", "2026-10", "--out", str(tmp_path / "stated")]
    read = run(["status"], ["check"], stated, sealed, ["views"], CHANNELS, newer=True)
    assert [code for code, _ in read] == [0, 3, 0, 0, 0, 0]  # 3: for the record set aside
    assert channels(read[-1][1]).items() <= given.items() and have_channel(lake) == {False}
    [(code, said), (_, now)] = run(["extract"], CHANNELS, newer=True)
    assert code == 0 and "changed" not in said and have_channel(lake) == {True}
    assert channels(now) == channels(read[-1][1])


@pytest.mark.thorough
def test_a_lake_with_a_column_more_is_read_and_loses_nothing(served):
    """The older release shows it in `extra`, and says so; the newer one has it back."""
    lake, given = served
    run(AGAIN, newer=True)
    sealed = ["statement-verify", str(lake / "statements" / "2026-10")]
    extra = ["sql", "select count(*) from payments where extra like '%channel%'", "--csv"]
    read = run(["status"], ["check"], sealed, ["views"], extra, AGAIN, ["check"], extra)
    assert [code for code, _ in read] == [0, 0, 0, 0, 0, 0, 0, 0]
    assert "column      channel: a newer release wrote it" in read[0][1]
    assert read[4][1].split()[1] == str(len(given)) and have_channel(lake) == {True, False}
    assert channels(run(CHANNELS, newer=True)[0][1]) == given
    run(["extract"], newer=True)
    assert have_channel(lake) == {True}


# ---------- the format of a manifest


READERS: dict[str, Callable[[Closer, Path], object]] = {
    "verify": lambda closer, folder: verify_statement(folder),
    "close": lambda closer, folder: closer.close(),
    "close what is due": lambda closer, folder: closer.close_all_due(),
    "status": lambda closer, folder: judged_months(closer.desk.lake, now(), lambda text: None),
    "state": lambda closer, folder: statement(closer.desk.lake, "2026-10"),
    "package": lambda closer, folder: package(closer.desk.lake, "2026-10"),
    "prove": lambda closer, folder: prove(closer.desk.lake, "2026-10", "any"),
    "books": lambda closer, folder: books_source(closer.desk.lake, "2026-10", {}),
    "sign": lambda closer, folder: sign_folder(folder, Path("key")),
    "compare": lambda closer, folder: diff_statements(folder, folder),
}


@pytest.mark.parametrize("what", READERS)
def test_a_seal_of_a_newer_format_is_said_to_be_newer(closer, what):
    """It may lack what every manifest has today; nothing calls it altered, or closes it again."""
    folder = closer.sealed(formats=("csv",))
    assert read_manifest(folder)["format"] == FORMAT
    (folder / "manifest.json").write_text('{"format": 3, "seal": "of another kind"}')
    told = r"2026-10 was written by a newer release \(format 3; this one reads up to 2\): update"
    with pytest.raises(LakeError, match=told):
        READERS[what](closer, folder)


@pytest.mark.parametrize("number", [1, 0, True, "2", None])
def test_the_format_of_a_seal_of_this_release_is_its_own(closer, number):
    """Whoever writes another number has altered it."""
    folder = closer.sealed(formats=("csv",))
    try:
        assert not forge(folder, fact(format=number)).holds
    except LakeError as error:
        assert "is not a statement" in str(error)
