"""Fifty ways to forge a packed statement; a forger makes SHA256SUMS anew, and has no key."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from typing import Any

from svc_analytics.closing.chain import chain_text
from svc_analytics.closing.seals import seal_of
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, SIGNATURE, STAMP
from tests.support.ssh_keys import make_key
from tests.support.stamping import StampAuthority
from tests.support.strange_folders import Strange

Forgery = Callable[[Strange], None]


def text(name: str, old: str, new: str) -> Forgery:
    """Replace a text of a file once."""

    def forge(strange: Strange) -> None:
        before = (strange.folder / name).read_bytes().decode()
        assert old in before
        strange.write(name, before.replace(old, new, 1))

    return forge


def lines(change: Callable[[list[str]], list[str]]) -> Forgery:
    """Change the lines of lines.csv, the header first."""

    def forge(strange: Strange) -> None:
        known = (strange.folder / "lines.csv").read_text("utf-8").splitlines(keepends=True)
        strange.write("lines.csv", "".join(change(known)))

    return forge


def sealed_again(forge: Forgery) -> Forgery:
    """Forge, and let hashes, seal and checkpoint fit; only a signature is not to be had."""

    def both(strange: Strange) -> None:
        forge(strange)
        strange.sealed_again()

    return both


def changed(name: str, change: Callable[[dict[str, Any]], object], *, is_sorted: bool) -> Forgery:
    """Change a JSON file of the folder, and write it as it was written."""

    def forge(strange: Strange) -> None:
        known = json.loads((strange.folder / name).read_text("utf-8"))
        change(known)
        text = json.dumps(known, ensure_ascii=is_sorted, sort_keys=is_sorted, indent=2)
        strange.write(name, text + "\n" * is_sorted)

    return forge


def fact(**facts: Any) -> Forgery:
    return changed("manifest.json", lambda known: known.update(facts), is_sorted=False)


def removed(*names: str) -> Forgery:
    def forge(strange: Strange) -> None:
        for name in names:
            (strange.folder / name).unlink()

    return forge


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


def stamp_with(old: bytes, new: bytes) -> Forgery:
    def forge(strange: Strange) -> None:
        content = (strange.folder / STAMP).read_bytes()
        assert old in content
        (strange.folder / STAMP).write_bytes(content.replace(old, new))

    return forge


def signed_by_another(*names: str) -> Forgery:
    def forge(strange: Strange) -> None:
        key = make_key(strange.place, "forger")
        for name in names:
            strange.sign(name, key)

    return forge


def blob(change: Callable[[bytes], bytes]) -> Forgery:
    """Change what the armour of the signature holds."""

    def forge(strange: Strange) -> None:
        head, *body, end = (strange.folder / "checkpoint.sig").read_text().splitlines()
        content = base64.b64encode(change(base64.b64decode("".join(body)))).decode()
        rows = [content[at : at + 70] for at in range(0, len(content), 70)]
        strange.write("checkpoint.sig", "\n".join([head, *rows, end, ""]))

    return forge


def with_order_added(content: bytes) -> bytes:
    """Add the order of the curve to a signature's number: lax readers take it."""
    number = int.from_bytes(content[-32:], "little") + verify.ORDER
    return content[:-32] + number.to_bytes(32, "little")


def chained(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Forgery:
    """Change the chain's months, with a root that fits."""

    def forge(strange: Strange) -> None:
        known = json.loads((strange.folder / "chain.json").read_text("utf-8"))
        merchant = known["origin"].split("/")[1]
        strange.write("chain.json", chain_text(merchant, change(known["checkpoints"]), None))

    return forge


def chain_fact(change: Callable[[dict[str, Any]], object]) -> Forgery:
    return changed("chain.json", change, is_sorted=True)


def without_sums(forge: Forgery) -> Forgery:
    """Forge, and leave SHA256SUMS as it was."""

    def both(strange: Strange) -> None:
        before = (strange.folder / "SHA256SUMS").read_bytes()
        forge(strange)
        strange.sums = lambda: None  # type: ignore[method-assign]
        (strange.folder / "SHA256SUMS").write_bytes(before)

    return both


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


def proof_of(strange: Strange, **facts: Any) -> dict[str, Any]:
    return {**strange.proof, **facts}


PROOFS: dict[str, Callable[[Strange], dict[str, Any]]] = {
    "another amount": lambda s: proof_of(s, line=s.proof["line"].replace(",2,2,", ",9,9,")),
    "another line number": lambda s: proof_of(s, line_number=3),
    "line 0": lambda s: proof_of(s, line_number=0),
    "a line behind the last": lambda s: proof_of(s, line_number=6),
    "another salt": lambda s: proof_of(s, salt="0" * 64),
    "another receipt": lambda s: proof_of(s, receipt="1" * 64),
    "two hashes exchanged": lambda s: proof_of(s, hashes=s.proof["hashes"][::-1]),
    "a hash less": lambda s: proof_of(s, hashes=s.proof["hashes"][1:]),
    "a hash more": lambda s: proof_of(s, hashes=[*s.proof["hashes"], "0" * 64]),
    "a hash in capitals": lambda s: proof_of(s, hashes=[h.upper() for h in s.proof["hashes"]]),
    "two columns exchanged": lambda s: proof_of(
        s, header=s.proof["header"].replace("gross,charged", "charged,gross")
    ),
    "a checkpoint of another size": lambda s: proof_of(
        s, checkpoint=s.proof["checkpoint"].replace("\n5\n", "\n6\n")
    ),
    "a checkpoint of a higher tree": lambda s: proof_of(
        s, checkpoint=s.proof["checkpoint"].replace("\n5\n", "\n11\n")
    ),
    "another root": lambda s: proof_of(
        s, checkpoint=re.sub(r"\n[0-9a-f]{64}\n", f"\n{'0' * 64}\n", s.proof["checkpoint"])
    ),
    "another label": lambda s: proof_of(
        s, checkpoint=s.proof["checkpoint"].replace("2026-10", "2026-11")
    ),
    "no signature": lambda s: proof_of(s, signature=None),
    "a signature with a blank": lambda s: proof_of(s, signature=s.proof["signature"] + "\n"),
}
