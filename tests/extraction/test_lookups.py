# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""Sessions and bindings: looked up one by one, held one row an id, typed even when empty."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pandas as pd
import pytest

import svc_analytics as svc
from svc_analytics.api.client import Client
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.cli.commands.extract import extraction_text
from svc_analytics.errors import ConfigError, KeyRefused, Unavailable
from svc_analytics.extraction import lookups
from svc_analytics.extraction.lookups import LookupResult
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.instants import parse_instant
from svc_analytics.sandbox.server import Running
from tests.cli.conftest import connected, running
from tests.support.closings import findings_of
from tests.support.desks import Desk, Run
from tests.support.fake_service import FakeService, binding, once, payment, refusal, session
from tests.support.prepared import extracted
from tests.support.unit_material import Hours

OCTOBER = (parse_instant("2026-10-01T00:00:00Z")[0], parse_instant("2026-11-01T00:00:00Z")[0])
EVER = (0, parse_instant("2027-01-01T00:00:00Z")[0])
FIRST, SECOND, THIRD = (payment(n, f"2026-{n + 8:02d}-10T00:00:00Z") for n in (1, 2, 3))


def look_up(desk: Desk, **wanted: Any) -> list[LookupResult]:
    desk.service.requests.clear()
    limiter = wanted.pop("limiter", None) or Hours().limiter(desk.settings.patience)
    with Client(desk.settings, limiter=limiter, transport=desk.service.transport) as client:
        return lookups.look_up(desk.lake, desk.settings, client=client, workers=2, **wanted)


def held(desk: Desk, view: str = "sessions") -> list[dict[str, Any]]:
    return desk.lake.sql(f"from {view} order by 1").to_dict("records")


@pytest.fixture
def filled(desk, service) -> Desk:
    """Three payments, one each in September, October and November, and their sessions."""
    service.payments = [FIRST, SECOND, THIRD]
    service.sessions = {of["session_id"]: session(of) for of in service.payments}
    service.bindings = {"C-1": binding("C-1"), "C 2": binding("C 2", match_passed=False)}
    return extracted(desk)


def test_views_are_typed_and_empty_when_nothing_was_fetched(filled):
    """A query on them works from the first extraction on."""
    assert held(filled) == [] and held(filled, "bindings") == []
    types = filled.lake.sql(
        "select column_name, data_type from duckdb_columns() where table_name = 'sessions'"
    )
    kinds = dict(zip(types["column_name"], types["data_type"], strict=True))
    assert kinds["price_usd"] == "DECIMAL(38,18)"
    assert kinds["created_at"] == "TIMESTAMP WITH TIME ZONE"


def test_sessions_behind_a_periods_payments_are_fetched_once(filled):
    """October's one only; a second run asks for what is not yet held."""
    [done] = look_up(filled, sessions_of=OCTOBER)
    assert (done.fetched, filled.service.paths()) == (1, [f"/sessions/{SECOND['session_id']}"])
    [done] = look_up(filled, sessions_of=EVER)
    assert done.fetched == 2 and len(filled.service.paths()) == 2
    [done] = look_up(filled, sessions_of=EVER)
    assert done.fetched == 0 and filled.service.paths() == []
    assert {row["session_id"] for row in held(filled)} == {*filled.service.sessions}


def test_a_session_is_held_exactly(filled, service):
    """Eighteen places of a price, quotes as JSON text, and what nobody has heard of."""
    exact = {"price_usd": "0.000000000000000001", "mood": "good"}
    service.sessions[SECOND["session_id"]] = session(SECOND, **exact)
    look_up(filled, sessions_of=OCTOBER)
    [row] = held(filled)
    assert row["price_usd"] == Decimal("0.000000000000000001")
    assert json.loads(row["amounts"])[0]["amount"] == SECOND["amount"]
    assert json.loads(row["payment"]) == {"id": SECOND["id"]}
    assert json.loads(row["extra"]) == {"mood": "good"}


def test_a_lost_file_of_sessions_is_missed(filled):
    """No figure rests on it; it is advice, until they are looked up again."""
    look_up(filled, sessions_of=OCTOBER)
    files = {path.stem: path for path in (filled.lake.path / "sessions").glob("*.parquet")}
    [name] = files.keys() - {"0000-00"}
    files[name].unlink()
    found = findings_of(filled.lake, "looked_up_objects_are_on_file")
    assert found[["record_id", "severity"]].to_dict("records") == [
        {"record_id": f"sessions/{name}", "severity": "advisory"}
    ]


def test_a_session_that_is_not_there_is_noted(filled, service):
    """The others are fetched, and it is asked for again next time."""
    gone = SECOND["session_id"]
    del service.sessions[gone]
    [done] = look_up(filled, sessions_of=EVER)
    assert (done.fetched, done.not_found, done.rejected) == (2, [gone], {})
    service.sessions[gone] = session(SECOND)
    assert look_up(filled, sessions_of=EVER)[0].fetched == 1


def test_what_cannot_be_held_is_said_and_not_held(filled, service):
    """The session beside them is."""
    fourth = payment(4, "2026-11-11T00:00:00Z")
    service.payments.append(fourth)
    filled.extract(rereads=True)
    wrongs = [{"id": "another"}, {"status": None}, {"status": 1}]
    for of, wrong in zip((FIRST, SECOND, THIRD), wrongs, strict=True):
        service.sessions[of["session_id"]] = session(of, **wrong)
    service.sessions[fourth["session_id"]] = session(fourth)
    [done] = look_up(filled, sessions_of=EVER)
    said = [done.rejected[of["session_id"]] for of in (FIRST, SECOND, THIRD)]
    reasons = ("another session", "status is missing", "status is not a text")
    assert all(reason in text for reason, text in zip(reasons, said, strict=True))
    assert [row["session_id"] for row in held(filled)] == [fourth["session_id"]]


def test_odd_optional_facts_of_a_session_are_left_out(filled, service):
    """The session is held, and what was received stands in `extra`."""
    odds = [
        {"price_usd": "1e3", "created_at": "yesterday"},
        {"price_usd": 10, "title": 5, "expires_at": ""},
    ]
    for of, odd in zip((FIRST, SECOND), odds, strict=True):
        service.sessions[of["session_id"]] = session(of, **odd)
    # In capitals, and its title with half a pair, the third is the session asked for.
    third = session(THIRD, title="tea \ud83d") | {"id": THIRD["session_id"].upper()}
    service.sessions[THIRD["session_id"]] = third
    [done] = look_up(filled, sessions_of=EVER)
    assert (done.fetched, done.rejected) == (3, {})
    rows = {row["session_id"]: row for row in held(filled)}
    for of, odd in zip((FIRST, SECOND), odds, strict=True):
        row = rows[of["session_id"]]
        assert json.loads(row["extra"]) == odd
        assert all(pd.isna(row[name]) for name in odd)
    assert rows[THIRD["session_id"]]["title"] == r"tea \ud83d"


def test_what_was_fetched_is_kept_when_a_run_breaks(filled, service):
    """A key revoked half-way: the error is told, the first session is there."""
    first, *_ = sorted(service.sessions)

    def revoke(request: httpx.Request) -> httpx.Response | None:
        return None if request.url.path.endswith(first) else refusal(401, "UNAUTHORIZED")

    service.intercept = revoke
    with pytest.raises(KeyRefused):
        look_up(filled, sessions_of=EVER)
    assert [row["session_id"] for row in held(filled)] == [first]


def test_an_id_at_which_the_service_fails_keeps_no_other_away(filled, service, monkeypatch):
    """It is asked with one other, and the third later: both are there, and the error is told."""
    monkeypatch.setattr(lookups, "CHUNK", 2)
    first, *others = sorted(service.sessions)

    def fail(request: httpx.Request) -> httpx.Response | None:
        is_first = request.url.path.endswith(first)
        return refusal(500, "INTERNAL_SERVER_ERROR") if is_first else None

    service.intercept = fail
    with pytest.raises(Unavailable, match="500 INTERNAL_SERVER_ERROR"):
        look_up(filled, sessions_of=EVER, limiter=RateLimiter(patience=1))
    assert [row["session_id"] for row in held(filled)] == others


def test_bindings_are_held_one_row_a_customer(filled, service):
    """Also a customer without one; an id that is free text is asked for as it is."""
    service.bindings["C-3"] = {"customer_id": "C-3", "state": "none", "binding": None}
    [done] = look_up(filled, customers=["C-1", "C 2", "C-1", "C-3", "C-4", ".."])
    assert (done.fetched, done.not_found, list(done.rejected)) == (3, ["C-4"], [".."])
    found = {row["customer_id"]: row for row in held(filled, "bindings")}
    assert [found[id_]["state"] for id_ in ("C-1", "C 2", "C-3")] == ["active", "active", "none"]
    assert [found[id_]["match_passed"] for id_ in ("C-1", "C 2")] == [True, False]
    assert (
        filled.lake.sql("select count(*) as n from bindings where binding_id is null")["n"][0] == 1
    )


def test_the_newest_observation_of_a_binding_wins(filled, service):
    """What changed is replaced; what did not keeps the instant since when it is known."""
    look_up(filled, customers=["C-1", "C 2"])
    before = {row["customer_id"]: row for row in held(filled, "bindings")}
    service.bindings["C-1"] = binding("C-1", status="pending_review")
    look_up(filled, customers=["C-1", "C 2"])
    after = {row["customer_id"]: row for row in held(filled, "bindings")}
    assert len(after) == 2 and after["C-1"]["status"] == "pending_review"
    assert after["C-1"]["extracted_at"] > before["C-1"]["extracted_at"]
    assert after["C 2"]["extracted_at"] == before["C 2"]["extracted_at"]


def test_an_answer_about_another_customer_is_not_held(filled, service):
    """Nobody gets somebody else's name."""
    service.bindings["C-1"] = binding("C 2")
    [done] = look_up(filled, customers=["C-1"])
    assert "another customer" in done.rejected["C-1"] and held(filled, "bindings") == []


def test_any_parquet_tool_reads_one_row_an_id(filled):
    """The folder as it lies there, without our views; nothing half-written beside it."""
    look_up(filled, sessions_of=EVER)
    look_up(filled, customers=["C-1"])
    for folder, rows in (("sessions", 3), ("bindings", 1)):
        files = f"{filled.lake.path}/{folder}/*.parquet"
        assert duckdb.sql(f"select count(*) from read_parquet('{files}')").fetchall() == [(rows,)]
        assert not list((filled.lake.path / folder).glob(".*"))


# ---------- the command, on the sandbox


def test_extract_fetches_sessions_and_bindings(connected, run):
    """Beside the records of the same bounds, all in one document."""
    Path("customers.txt").write_text("\ufeffnobody\n\n")
    bounds = ("--from", "2026-11-18", "--to", "2026-11-20")
    done = run("extract", *bounds, "--sessions", "--bindings", "customers.txt", "--json")
    assert done.code == 0, done.err
    sessions, bindings = json.loads(done.out)["looked_up"]
    lake = svc.open_lake("data")
    wanted = lake.sql("select count(distinct session_id) as n from payments")["n"][0]
    assert sessions["fetched"] + len(sessions["not_found"]) == wanted > 0
    assert len(lake.sql("from sessions")) == sessions["fetched"]
    assert bindings["fetched"] + len(bindings["not_found"]) == 1


def test_ids_that_are_not_found_are_named(filled):
    """The first of them; a file that names nobody is told as that."""
    for ids, said in (([], "0 fetched, 0 not found"), (["x", "C-1"], "1 not found ('x')")):
        asked = look_up(filled, customers=ids)
        assert said in extraction_text(filled.lake, ExtractionResult("m", 0), asked)
