"""Hashes of ids: what tells where an id may be, without reading it."""

import pyarrow as pa
import pytest

from svc_analytics.lake.id_index import hash_ids

IDS = ["5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f", "pay_1", "pay_10", "شناسه", "", "pay_2"]
WHOLE = pa.chunked_array([IDS], pa.string())
CUTS = {
    "one by one": pa.chunked_array([[i] for i in IDS], pa.string()),
    "with empty chunks": pa.chunked_array([[], IDS[:2], [], IDS[2:]], pa.string()),
    "out of a longer column": pa.chunked_array([["before", *IDS, "behind"]], pa.string())[1:-1],
}


@pytest.mark.parametrize("name", CUTS)
def test_an_id_has_one_hash_however_its_column_is_cut(name: str) -> None:
    """Ids of one length go another way than ids of several; both come to the same."""
    assert hash_ids(CUTS[name]).tolist() == hash_ids(WHOLE).tolist()


def test_ids_that_differ_in_a_letter_differ_in_their_hash() -> None:
    ids = pa.chunked_array([[f"pay_{n:06}" for n in range(10_000)]], pa.string())
    assert len(set(hash_ids(ids).tolist())) == 10_000
