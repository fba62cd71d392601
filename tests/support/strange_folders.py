"""A package of a month that was really sealed, signed and stamped: for readers who know no lake."""

import hashlib
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.closing.chain import chain_text
from svc_analytics.closing.handover import evidence
from svc_analytics.closing.handover.evidence import prove_in_folder
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.proofs.checkpoint import write_checkpoint
from svc_analytics.proofs.stamp import Authority
from tests.support.closings import Closer, table
from tests.support.desks import Desk
from tests.support.prepared import once
from tests.support.readings import keep_readings
from tests.support.ssh_keys import make_key
from tests.support.stamping import StampAuthority, serving

LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       1       0.01  2026-09-10T09:00
 payment  btc       1       0.01  2026-10-05T08:00
 payment  btc       2       0.02  2026-10-06T08:00
 refund   btc       0.5           2026-10-07T08:00  2
 payout   btc       2       0.02  2026-10-09T08:00
 payment  btc       3       0.03  2026-10-10T08:00
"""


class Strange:
    """A packed folder, the keys that sign it, who stamps it, and a proof of its second line."""

    def __init__(self, place: Path) -> None:
        self.place, self.folder = place, place / "data" / "statements" / "2026-10"
        self.key, self.signers = make_key(place, "own"), place / "signers"
        self.signers.write_text(f"mina@shop.example {self.key.with_suffix('.pub').read_text()}")
        self.authority = StampAuthority(place, "authority")
        with pytest.MonkeyPatch.context() as patch:
            keep_readings(patch)
            self.lake = sealed_lake(place / "data")
        self.sign("checkpoint")
        self.stamp(self.authority)
        self.sign("../chain.json")
        second = table(self.folder, "lines")[1]["record_id"]
        proof = prove_in_folder(self.lake, self.folder, second, out=place / "proof.json").file
        self.proof: dict[str, Any] = json.loads(proof.read_text("utf-8"))
        self.folder = self.kept = self.unpacked()

    def unpacked(self) -> Path:
        """Pack the folder as `package` does; return it as who unpacks it has it."""
        with pytest.MonkeyPatch.context() as patch:  # nobody seals a page, and drawing one is slow
            patch.setattr(evidence, "_add_readable", lambda *_: None)
            package = evidence.pack_folder(self.folder, self.place / "2026-10.zip", self.lake)
        with zipfile.ZipFile(package.file) as archive:
            archive.extractall(self.place / "unpacked")
        return self.place / "unpacked" / "2026-10"

    def copied(self, place: Path) -> "Strange":
        """Return a copy to forge, which knows the folder that was packed."""
        copy = object.__new__(Strange)
        copy.__dict__ |= self.__dict__ | {"place": place, "folder": place / self.folder.name}
        shutil.copytree(self.folder, copy.folder)
        return copy

    def sign(self, name: str, key: Path | None = None) -> bytes:
        """Sign a file of the folder; return the signature, which lies beside it then."""
        path, signature = self.folder / name, self.folder / f"{name}.sig"
        signature.unlink(missing_ok=True)
        words = ["ssh-keygen", "-Y", "sign", "-f", str(key or self.key), "-n", "svc-analytics-seal"]
        subprocess.run([*words, str(path)], check=True, capture_output=True)
        return signature.read_bytes()

    def stamp(self, authority: StampAuthority) -> None:
        """Have the checkpoint stamped."""
        with serving(authority) as counter:
            files = Authority(counter.url).stamp((self.folder / "checkpoint").read_bytes())
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    @property
    def trust(self) -> dict[str, Path]:
        """What its reader brings."""
        return {
            "signers": self.signers,
            "authority": self.authority.certificate,
            "earlier": self.signers.with_name("earlier.json"),
        }

    def write(self, name: str, content: str) -> None:
        (self.folder / name).write_bytes(content.encode())

    def hash(self, name: str) -> str:
        return hashlib.sha256((self.folder / name).read_bytes()).hexdigest()

    def sealed_again(self, **facts: Any) -> None:
        """Let the hashes, the seal and the checkpoint fit what the folder now holds."""
        manifest = read_manifest(self.folder) | facts
        for name in manifest["files"]:
            manifest["files"][name]["sha256"] = self.hash(name)
        manifest["seal"] = seal_of(manifest)
        self.write("manifest.json", json.dumps(manifest, ensure_ascii=False, indent=2))
        write_checkpoint(self.folder, manifest)

    def signed_again(self) -> None:
        """Let the owner of the key do the same: the chain lists it, both are signed, unstamped."""
        self.sealed_again()
        path = self.folder / "chain.json"
        entries = json.loads(path.read_text("utf-8"))["checkpoints"]
        seal = read_manifest(self.folder)["seal"]
        entries[-1] |= {"seal": seal, "checkpoint": self.hash("checkpoint")}
        self.chained(entries)
        self.sign("checkpoint")
        for name in ("checkpoint.tsq", "checkpoint.tsr"):
            (self.folder / name).unlink(missing_ok=True)
        self.sums()

    def chained(self, entries: list[dict[str, Any]]) -> None:
        """Write a chain of these entries, and sign it."""
        merchant = read_manifest(self.folder)["merchant"]["id"]
        self.write("chain.json", chain_text(merchant, entries, None))
        self.sign("chain.json")

    def sums(self) -> None:
        """Write the sums of a package again, as a forger would."""
        names = sorted(path.name for path in self.folder.iterdir() if path.name != "SHA256SUMS")
        self.write("SHA256SUMS", "".join(f"{self.hash(name)}  {name}\n" for name in names))


def packed_month(factory: pytest.TempPathFactory) -> Strange:
    """Return the package of this process, which no test changes; skip without its programs."""
    return once("strange", lambda: Strange(factory.mktemp("strange")))


def sealed_lake(place: Path) -> Lakehouse:
    """Seal two months, and keep of the chain of the first what its reader must: its root and size.

    A property of the second's second line holds a newline, a quote, and Persian.
    """
    closer = Closer(Desk.at(place))
    closer.serve(LEDGER)
    second = closer.desk.service.payments[2]
    second |= {"metadata": {"cart": 'second\n"رسید"'}, "receipt": "e30.e30.c2lnbmVk"}
    closer.confirm("2026-09", "2026-10")
    assert closer.close("2026-09", metadata=["cart"]).seal
    first = json.loads((place / "statements" / "chain.json").read_text())
    kept = {name: first[name] for name in ("origin", "size", "root")}
    place.with_name("earlier.json").write_text(json.dumps(kept))
    assert closer.close("2026-10", metadata=["cart"]).seal
    return closer.desk.lake
