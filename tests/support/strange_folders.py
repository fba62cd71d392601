"""A packed statement made by hand, of five lines: for readers that know no lake."""

import csv
import hashlib
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from svc_analytics.closing.seals import seal_of
from svc_analytics.proofs import verify
from svc_analytics.proofs.merkle import consistency

HEADER = (
    "line_no,entry_id,kind,status,record_id,receipt_no,reference_id,session_id,parent_payment_id,"
    "parent_receipt_no,parent_reference_id,parent_paid_at,parent_period,occurred_at_utc,"
    "occurred_at_local,period,currency,gross,charged,fee,net,running_position,fee_bearer,"
    "fee_percent,effective_fee_rate,usd_value,implied_usd_rate,refunded_before,refunded_after,"
    "refundable_left,days_to_refund,payer_ref,comment,metadata.cart,receipt_verdict,"
    "receipt_sha256,first_seen_at,record_version,flags"
)
SUMMARY = {
    "currency": "btc",
    "payments_count": "3",
    "gross_sales": "6",
    "charged_total": "6",
    "net_sales": "5.94",
    "refunds_count": "1",
    "refunds_paid": "0.5",
    "refunds_debited": "0.5",
    "payouts_count": "1",
    "payouts_sent": "2",
    "payouts_debited": "2.02",
    "payout_fees": "0.02",
    "rail_movement": "3.42",
    "opening_position": "1",
    "closing_position": "4.42",
}
LINES = (
    ("payment", "1", "1", "-0.01", "0.99"),
    ("payment", "2", "2", "-0.02", "1.98"),
    ("refund", "-0.5", "", "0", "-0.5"),
    ("payout", "-2", "", "-0.02", "-2.02"),
    ("payment", "3", "3", "-0.03", "2.97"),
)


def line_text(number: int, facts: tuple[str, ...]) -> str:
    """Write one line of lines.csv; a comment holds a newline, a quote and a letter of Persian."""
    kind, gross, charged, fee, net = facts
    values = {
        "line_no": str(number),
        "kind": kind,
        "record_id": f"record-{number}",
        "currency": "btc",
        "gross": gross,
        "charged": charged,
        "fee": fee,
        "net": net,
        "comment": 'second\n"رسید"' if number == 2 else "",
        "receipt_sha256": hashlib.sha256(b"token %d" % number).hexdigest() if charged else "",
    }
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values.get(name, "") for name in HEADER.split(","))
    return text.getvalue()


class Strange:
    """A packed folder, the keys that sign it, and a proof of its second line."""

    def __init__(self, place: Path, key_type: str = "ed25519", *, is_old: bool = False) -> None:
        self.place, self.folder = place, place / "2026-10"
        self.kept = self.folder  # as it was sealed
        self.key, self.signers = place / key_type, place / "signers"
        make_key(self.key, key_type)
        self.signers.write_text(f"mina@shop.example {self.key.with_suffix('.pub').read_text()}")
        self.folder.mkdir()
        self.header = {} if is_old else {"header": hashlib.sha256(HEADER.encode()).hexdigest()}
        self.lines = [line_text(number, facts) for number, facts in enumerate(LINES, 1)]
        self.write_statement()
        self.write_chain()
        self.sums()

    def copied(self, place: Path) -> "Strange":
        """Return a copy to forge, which knows the folder that was sealed."""
        copy = object.__new__(Strange)
        copy.__dict__ |= self.__dict__ | {"place": place, "folder": place / self.folder.name}
        copy.kept = shutil.copytree(self.folder, copy.folder) and self.folder
        return copy

    def sign(self, name: str) -> bytes:
        """Sign a file of the folder; return the signature, which lies beside it then."""
        path = self.folder / name
        path.with_name(f"{name}.sig").unlink(missing_ok=True)
        words = ["ssh-keygen", "-Y", "sign", "-f", str(self.key), "-n", "svc-analytics-seal"]
        subprocess.run([*words, str(path)], check=True, capture_output=True)
        return path.with_name(f"{name}.sig").read_bytes()

    def write(self, name: str, content: str) -> None:
        (self.folder / name).write_bytes(content.encode())

    def write_statement(self) -> None:
        """Write tables, manifest, checkpoint and the proof of line 2."""
        self.write("lines.csv", "".join(f"{line}\n" for line in (HEADER, *self.lines)))
        values = f"2026-10,{','.join(SUMMARY.values())}"
        self.write("summary.csv", f"period,{','.join(SUMMARY)}\n{values}\n")
        leaves = [self.leaf(number) for number in range(1, len(self.lines) + 1)]
        root = verify.root_of(leaves).hex()
        facts: dict[str, Any] = {
            "status": "final",
            "merchant": {"id": "m-1", "display_name": "Shop é"},
            "label": "2026-10",
            "version": 1,
            "calendar": "gregorian",
            "zone": "UTC",
            "previous_seal": None,
            "files": {name: {"sha256": self.hash(name)} for name in ("lines.csv", "summary.csv")},
            "tree": {"size": len(leaves), "root": root, "salt": "hmac-sha256/1"} | self.header,
        }
        self.manifest = facts | {"seal": seal_of(facts)}
        self.write("manifest.json", json.dumps(self.manifest, ensure_ascii=False, indent=2))
        self.checkpoint = (
            f"svc-analytics/m-1/2026-10\n{len(leaves)}\n{root}\nseal {self.manifest['seal']}\n"
            "version 1\nprevious none\nsalt hmac-sha256/1\n"
            + "".join(f"header {digest}\n" for digest in self.header.values())
        )
        self.write("checkpoint", self.checkpoint)
        self.proof = self.prove(2, leaves, self.sign("checkpoint").decode())

    def hash(self, name: str) -> str:
        return hashlib.sha256((self.folder / name).read_bytes()).hexdigest()

    def parts(self, number: int) -> tuple[bytes, bytes]:
        """Return the salt of a line and the hash of its receipt."""
        token = hashlib.sha256(b"token %d" % number).digest()
        return hashlib.sha256(b"salt %d" % number).digest(), token if LINES[number - 1][
            2
        ] else bytes(32)

    def leaf(self, number: int) -> bytes:
        salt, receipt = self.parts(number)
        text = self.lines[number - 1].encode()
        return hashlib.sha256(b"\0" + salt + receipt + text).digest()

    def prove(self, number: int, leaves: list[bytes], signature: str | None) -> dict[str, Any]:
        """Return the proof of a line as a document."""
        salt, receipt = self.parts(number)
        return {
            "line": self.lines[number - 1],
            "line_number": number,
            "header": HEADER,
            "salt": salt.hex(),
            "receipt": receipt.hex(),
            "hashes": [each.hex() for each in path_of(number - 1, leaves)],
            "checkpoint": self.checkpoint,
            "signature": signature,
        }

    def write_chain(self, before: int = 6, earlier: int = 3) -> None:
        """Write and sign a chain of so many months before this one, and the statement's own."""
        months = [listed(f"2026-0{month}") for month in range(1, before + 1)]
        own = {
            name: self.manifest[name] for name in ("label", "calendar", "zone", "version", "seal")
        }
        months.append(own | {"checkpoint": self.hash("checkpoint")})
        self.write("chain.json", chain_text(months, earlier))
        self.sign("chain.json")

    def sums(self) -> None:
        """Write what a package adds."""
        self.write("README.txt", "read me")
        names = sorted(path.name for path in self.folder.iterdir() if path.name != "SHA256SUMS")
        self.write("SHA256SUMS", "".join(f"{self.hash(name)}  {name}\n" for name in names))


def make_key(path: Path, key_type: str) -> None:
    words = ["ssh-keygen", "-q", "-t", key_type, "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(words, check=True, capture_output=True)


def listed(label: str) -> dict[str, Any]:
    """Return a month as a chain lists it; the first two were sealed before there were trees."""
    digest = hashlib.sha256(label.encode()).hexdigest()
    checkpoint = None if label < "2026-03" else digest[::-1]
    facts = {"label": label, "calendar": "gregorian", "zone": "UTC", "version": 1}
    return facts | {"seal": digest, "checkpoint": checkpoint}


def chain_leaf(month: dict[str, Any]) -> bytes:
    said = month["checkpoint"]
    content = bytes.fromhex(said) if said else b"none " + month["seal"].encode()
    return hashlib.sha256(b"\0" + content).digest()


def chain_text(
    months: list[dict[str, Any]], earlier: int, origin: str = "svc-analytics/m-1/chain"
) -> str:
    leaves = [chain_leaf(month) for month in months]
    document = {
        "origin": origin,
        "size": len(months),
        "root": verify.root_of(leaves).hex(),
        "checkpoints": months,
        "earlier": {
            "size": earlier,
            "root": verify.root_of(leaves[:earlier]).hex(),
            "proof": [each.hex() for each in consistency(leaves, earlier)],
        },
    }
    return json.dumps(document, sort_keys=True, indent=2) + "\n"


def path_of(index: int, leaves: list[bytes]) -> list[bytes]:
    """Return the hashes beside the way from a leaf to the root."""
    if len(leaves) == 1:
        return []
    at = 1 << (len(leaves) - 1).bit_length() - 1
    if index < at:
        return [*path_of(index, leaves[:at]), verify.root_of(leaves[at:])]
    return [*path_of(index - at, leaves[at:]), verify.root_of(leaves[:at])]
