"""Packages of months that were really sealed, signed and stamped: for readers who know no lake.

Fifty ways to forge one: a forger makes SHA256SUMS anew, and has or has not the key. Statements of
a few columns are made by hand, for trees of their lines.
"""

import base64
import csv
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import pytest

from svc_analytics.closing.chain import chain_text
from svc_analytics.closing.handover import evidence
from svc_analytics.closing.handover.evidence import prove_in_folder
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, SIGNATURE, STAMP, tree_of, write_checkpoint
from svc_analytics.proofs.stamp import Authority
from tests.support.closings import Closer, table
from tests.support.desks import Desk
from tests.support.prepared import keep_readings, once
from tests.support.signers import StampAuthority, make_key, serving

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


Forgery = Callable[[Strange], None]
P = ParamSpec("P")


def forgery(act: Callable[Concatenate[Strange, P], None]) -> Callable[P, Forgery]:
    """Make a forgery of what is to be done to a folder, and how."""
    return lambda *how, **named: lambda strange: act(strange, *how, **named)


@forgery
def text(strange: Strange, name: str, old: str, new: str) -> None:
    """Replace a text of a file once."""
    before = (strange.folder / name).read_bytes().decode()
    assert old in before
    strange.write(name, before.replace(old, new, 1))


@forgery
def lines(strange: Strange, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of lines.csv, the header first."""
    known = (strange.folder / "lines.csv").read_text("utf-8").splitlines(keepends=True)
    strange.write("lines.csv", "".join(change(known)))


@forgery
def sealed_again(strange: Strange, forge: Forgery) -> None:
    """Forge, and let hashes, seal and checkpoint fit; only a signature is not to be had."""
    forge(strange)
    strange.sealed_again()


@forgery
def changed(
    strange: Strange, name: str, change: Callable[[dict[str, Any]], object], *, is_sorted: bool
) -> None:
    """Change a JSON file of the folder, and write it as it was written."""
    known = json.loads((strange.folder / name).read_text("utf-8"))
    change(known)
    text = json.dumps(known, ensure_ascii=is_sorted, sort_keys=is_sorted, indent=2)
    strange.write(name, text + "\n" * is_sorted)


def fact(**facts: Any) -> Forgery:
    return changed("manifest.json", lambda known: known.update(facts), is_sorted=False)


@forgery
def removed(strange: Strange, *names: str) -> None:
    for name in names:
        (strange.folder / name).unlink()


def added(name: str) -> Forgery:
    return lambda strange: strange.write(name, "audited")


def linked(strange: Strange) -> None:
    moved = shutil.move(strange.folder / "summary.csv", strange.place / "elsewhere.csv")
    (strange.folder / "summary.csv").symlink_to(moved)


def without_tree(strange: Strange) -> None:
    """Pass for a month that was sealed before there were trees."""
    facts = json.loads((strange.folder / "manifest.json").read_text("utf-8"))
    del facts["tree"]
    facts["seal"] = seal_of(facts)
    strange.write("manifest.json", json.dumps(facts))
    for name in (FILE, SIGNATURE, QUERY, STAMP, "chain.json", "chain.json.sig"):
        (strange.folder / name).unlink()


def without_header(strange: Strange) -> None:
    """Pass for a month that was sealed before its headings were covered."""
    facts = json.loads((strange.folder / "manifest.json").read_text("utf-8"))
    del facts["tree"]["header"]
    strange.sealed_again(tree=facts["tree"])


def stamped_by_another(strange: Strange) -> None:
    strange.stamp(StampAuthority(strange.place, "forger-s-authority"))


def stamp_of_another_checkpoint(strange: Strange) -> None:
    """Let a stamp of the right authority be of a checkpoint with another seal."""
    before = (strange.folder / FILE).read_bytes()
    (strange.folder / FILE).write_bytes(before.replace(b"version 1", b"version 2"))
    strange.stamp(strange.authority)
    (strange.folder / FILE).write_bytes(before)


@forgery
def stamp_with(strange: Strange, old: bytes, new: bytes) -> None:
    content = (strange.folder / STAMP).read_bytes()
    assert old in content
    (strange.folder / STAMP).write_bytes(content.replace(old, new))


@forgery
def signed_by_another(strange: Strange, *names: str) -> None:
    key = make_key(strange.place, "forger")
    for name in names:
        strange.sign(name, key)


@forgery
def blob(strange: Strange, change: Callable[[bytes], bytes]) -> None:
    """Change what the armour of the signature holds."""
    head, *body, end = (strange.folder / "checkpoint.sig").read_text().splitlines()
    content = base64.b64encode(change(base64.b64decode("".join(body)))).decode()
    rows = [content[at : at + 70] for at in range(0, len(content), 70)]
    strange.write("checkpoint.sig", "\n".join([head, *rows, end, ""]))


def with_order_added(content: bytes) -> bytes:
    """Add the order of the curve to a signature's number: lax readers take it."""
    number = int.from_bytes(content[-32:], "little") + verify.ORDER
    return content[:-32] + number.to_bytes(32, "little")


@forgery
def chained(
    strange: Strange, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    """Change the chain's months, with a root that fits."""
    known = json.loads((strange.folder / "chain.json").read_text("utf-8"))
    merchant = known["origin"].split("/")[1]
    strange.write("chain.json", chain_text(merchant, change(known["checkpoints"]), None))


def chain_fact(change: Callable[[dict[str, Any]], object]) -> Forgery:
    return changed("chain.json", change, is_sorted=True)


@forgery
def without_sums(strange: Strange, forge: Forgery) -> None:
    """Forge, and leave SHA256SUMS as it was."""
    before = (strange.folder / "SHA256SUMS").read_bytes()
    forge(strange)
    strange.sums = lambda: None  # type: ignore[method-assign]
    (strange.folder / "SHA256SUMS").write_bytes(before)


def no_sums(strange: Strange) -> None:
    (strange.folder / "SHA256SUMS").unlink()
    strange.sums = lambda: None  # type: ignore[method-assign]


FORGERIES: dict[str, Forgery] = {
    # of lines
    "an amount": text("lines.csv", ",2,2,", ",3,3,"),
    "an amount, sealed again": sealed_again(text("lines.csv", ",2,2,", ",3,3,")),
    "a line removed": lines(lambda known: known[:-1]),
    "a line removed, sealed again": sealed_again(lines(lambda known: known[:-1])),
    "a line doubled, sealed again": sealed_again(lines(lambda known: [*known, known[-1]])),
    "two lines exchanged, sealed again": sealed_again(
        lines(lambda known: [*known[:-2], known[-1], known[-2]])
    ),
    "a coin": text("lines.csv", ",btc,", ",eth,"),
    "a comment, sealed again": sealed_again(text("lines.csv", "order-2", "order-9")),
    "two columns exchanged": text("lines.csv", "gross,charged", "charged,gross"),
    # of files
    "a figure": text("summary.csv", ",5.94,", ",6.94,"),
    "a figure, sealed again": sealed_again(text("summary.csv", ",5.94,", ",6.94,")),
    "a table removed": removed("summary.csv"),
    "a file more": added("audit.csv"),
    "a hidden file": added(".note"),
    "a link": linked,
    "line endings": text("summary.csv", "\n", "\r\n"),
    # of seals
    "a fact": fact(status="audited"),
    "a fact, sealed again": sealed_again(fact(status="audited")),
    "another merchant, sealed again": sealed_again(fact(merchant={"id": "m-2"})),
    "a month before, sealed again": sealed_again(fact(previous_seal="0" * 64)),
    "a version, sealed again": sealed_again(fact(version=2)),
    "a fact twice": text("manifest.json", '"status"', '"status": "audited", "status"'),
    "the seal": fact(seal="0" * 64),
    "no tree": without_tree,
    "no headings": without_header,
    "a heading, sealed again": sealed_again(text("lines.csv", "metadata.cart", "metadata.car")),
    "a checkpoint of fewer lines": text("checkpoint", "\n5\n", "\n4\n"),
    "a line more in the checkpoint": text("checkpoint", "salt", "note audited\nsalt"),
    "no checkpoint": removed("checkpoint"),
    # of signatures
    "another's key": signed_by_another("checkpoint", "chain.json"),
    "sealed and signed by another": lambda s: (
        sealed_again(fact(status="audited"))(s),
        signed_by_another("checkpoint")(s),
    )[0],
    "no signature": removed("checkpoint.sig"),
    "an empty signature": lambda s: s.write("checkpoint.sig", ""),
    "a signature of another file": lambda s: s.write(
        "checkpoint.sig", (s.folder / "chain.json.sig").read_text()
    ),
    "the order of the curve added": blob(with_order_added),
    "bytes behind the signature": blob(lambda content: content + b"\0"),
    "another namespace": blob(
        lambda content: content.replace(b"svc-analytics-seal", b"git-" * 4 + b"gi")
    ),
    "a blank line in the armour": text("checkpoint.sig", "\n-----END", "\n\n-----END"),
    "a text before the armour": text("checkpoint.sig", "-----BEGIN", "audited\n-----BEGIN"),
    # of stamps
    "another's stamp": stamped_by_another,
    "a stamp of another checkpoint": stamp_of_another_checkpoint,
    "an earlier stamp": stamp_with(b"\x18\x0f20", b"\x18\x0f19"),
    "a stamp without its query": removed(QUERY),
    "an empty stamp": lambda s: s.write(STAMP, ""),
    "no stamp": removed(STAMP),
    # of the chain
    "a month cut from the chain": chained(lambda months: months[1:]),
    "this month cut from the chain": chained(lambda months: months[:-1]),
    "a month rewritten in the chain": chained(
        lambda months: [{**months[0], "checkpoint": "0" * 64}, *months[1:]]
    ),
    "two months exchanged": chained(lambda months: months[::-1]),
    "a month more in the chain": chained(
        lambda months: [{**months[0], "label": "2026-08", "seal": "0" * 64}, *months]
    ),
    "the root of the chain": chain_fact(lambda chain: chain.update(root="0" * 64)),
    "the earlier chain": chain_fact(lambda chain: chain["earlier"].update(root="0" * 64)),
    "a chain of another merchant": chain_fact(
        lambda chain: chain.update(origin="svc-analytics/m-2/chain")
    ),
    "no signature of the chain": removed("chain.json.sig"),
    # of the package
    "an altered README": without_sums(text("README.txt", "read", "trust")),
    "a sum": lambda s: without_sums(lambda _: None)(s) or text("SHA256SUMS", "a", "b")(s),
    "no sums": no_sums,
    "an altered table and its sum": text("summary.csv", "3.42", "3.43"),
}


def proof_with(**facts: Any) -> Callable[[Strange], dict[str, Any]]:
    return lambda strange: {**strange.proof, **facts}


def proof_saying(name: str, old: str, new: str) -> Callable[[Strange], dict[str, Any]]:
    """Replace a text of a fact of the proof."""
    return lambda strange: {**strange.proof, name: re.sub(old, new, strange.proof[name])}


def hashed(change: Callable[[list[str]], list[str]]) -> Callable[[Strange], dict[str, Any]]:
    return lambda strange: {**strange.proof, "hashes": change(strange.proof["hashes"])}


PROOFS: dict[str, Callable[[Strange], dict[str, Any]]] = {
    "another amount": proof_saying("line", ",2,2,", ",9,9,"),
    "another line number": proof_with(line_number=3),
    "line 0": proof_with(line_number=0),
    "a line behind the last": proof_with(line_number=6),
    "another salt": proof_with(salt="0" * 64),
    "another receipt": proof_with(receipt="1" * 64),
    "two hashes exchanged": hashed(lambda hashes: hashes[::-1]),
    "a hash less": hashed(lambda hashes: hashes[1:]),
    "a hash more": hashed(lambda hashes: [*hashes, "0" * 64]),
    "a hash in capitals": hashed(lambda hashes: [each.upper() for each in hashes]),
    "two columns exchanged": proof_saying("header", "gross,charged", "charged,gross"),
    "a checkpoint of another size": proof_saying("checkpoint", "\n5\n", "\n6\n"),
    "a checkpoint of a higher tree": proof_saying("checkpoint", "\n5\n", "\n11\n"),
    "another root": proof_saying("checkpoint", r"\n[0-9a-f]{64}\n", f"\n{'0' * 64}\n"),
    "another label": proof_saying("checkpoint", "2026-10", "2026-11"),
    "no signature": proof_with(signature=None),
    "a signature with a blank": proof_saying("signature", r"\Z", "\n"),
}


HEADER = ("line_no", "entry_id", "kind", "record_id", "receipt_no", "comment", "receipt_sha256")
SECRET = bytes(range(32))


@dataclass(frozen=True)
class Sealed:
    """A folder with lines, a manifest that has a tree and a seal, and a checkpoint."""

    folder: Path
    manifest: dict[str, Any]


def row(number: int, *, kind: str = "payment", record: str = "", comment: str = "") -> list[str]:
    """Make the cells of a line; every second one has a receipt."""
    record = record or f"record-{number}"
    receipt = f"{number:064x}" if number % 2 else ""
    name = f"SVC-{number}"
    return [str(number), f"{kind}:{record}", kind, record, name, comment, receipt]


def seal_rows(folder: Path, rows: Iterable[list[str]]) -> Sealed:
    """Write lines.csv and what a seal adds to it."""
    folder.mkdir(exist_ok=True)
    with (folder / "lines.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    manifest: dict[str, Any] = {"merchant": {"id": "m"}, "files": {"lines.csv": {}}}
    manifest |= {"calendar": "gregorian", "zone": "UTC", "label": "2026-10", "version": 1}
    manifest["previous_seal"] = None
    manifest["tree"] = tree_of(folder, manifest, SECRET)
    manifest["seal"] = seal_of(manifest)
    write_checkpoint(folder, manifest)
    return Sealed(folder, manifest)
