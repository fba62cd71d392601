"""Lakes that are put in the place of a true one: whole, and each proof within them fits."""

import json
import shutil
from pathlib import Path

import pytest

from svc_analytics.closing import chain
from svc_analytics.closing.chain import chain_text, keep_chain
from svc_analytics.closing.handover.signatures import (
    content_of,
    newest_versions,
    put_signature,
    sign_chain,
)
from svc_analytics.closing.seals import all_sealed, read_manifest, register_seal
from svc_analytics.lakehouse import Lakehouse
from tests.support.closings import LEDGER, Closer
from tests.support.desks import Desk

MONTHS = ("2026-08", "2026-09", "2026-10")


def lake_of_another_service(
    folder: Path, patch: pytest.MonkeyPatch, ledger: str = LEDGER.replace(" 100 ", " 900 ")
) -> Closer:
    """Seal the same months of the same merchant, of what another service lists."""
    other = Closer(Desk.at(folder))
    other.serve(ledger)
    with patch.context() as elsewhere:
        elsewhere.setenv("SVC_STATE_DIR", str(folder.with_name("of the forger")))
        other.closed(*MONTHS)
    return other


def signed_by_hand(lake: Lakehouse, key: Path) -> None:
    """Sign all of a lake as `sign --all` does, and remember it, without the proofs."""
    for folder, manifest in newest_versions(lake):
        content = content_of(folder, manifest, manifest["seal"])
        put_signature(lake.storage, folder / "checkpoint.sig", content, key)
    sign_chain(lake, key)
    chain.remember(lake, is_signed=True)


def put_in_place(lake: Lakehouse, folder: Path) -> None:
    """Let another lake lie where one lies."""
    shutil.rmtree(lake.path)
    shutil.copytree(folder, lake.path)


def continue_chain(lake: Lakehouse, statements: Path) -> None:
    """Let the register and the chain of a lake begin with those of other statements."""
    own = [json.loads((each / "chain.json").read_text()) for each in (statements, places(lake))]
    entries = [entry for each in own for entry in each["checkpoints"]]
    (places(lake) / "seals.csv").unlink()
    for each in entries:
        register_seal(lake.storage, each, each["seal"])
    text = chain_text(lake.merchant_id, entries, own[0])
    (places(lake) / "chain.json").write_text(text, encoding="utf-8", newline="\n")


def make_chain_anew(lake: Lakehouse) -> None:
    """Let register and chain be those of the folders that are there, whatever was sealed."""
    for name in ("seals.csv", "chain.json", "chain.json.sig"):
        (places(lake) / name).unlink(missing_ok=True)
    for folder, _ in all_sealed(places(lake)):
        manifest = read_manifest(folder)
        register_seal(lake.storage, manifest, manifest["seal"])
    keep_chain(lake)


def places(lake: Lakehouse) -> Path:
    return lake.path / "statements"


def signatures(lake: Lakehouse) -> list[str]:
    """Every signature in a lake's statements."""
    found = places(lake).rglob("*.sig")
    return sorted(path.relative_to(places(lake)).as_posix() for path in found)
