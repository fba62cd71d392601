"""Check a sealed statement of svc-analytics with Python alone, 3.9 or newer.

    python verify.py [--signers FILE] [--authority FILE] [--earlier FILE] [--proof FILE] [FOLDER]

It opens nothing outside FOLDER (by default its own) but the files that you name, and no network.
Each line says that something held, FAILED, or was not checked, and why. It ends with 0 where all
held, with 1 where something failed, and with 3 where something that is there was not checked.
A key that comes with a statement proves nothing: bring those that you trust in --signers, a file
of "allowed signers" as ssh-keygen reads it, and the certificates of a stamp in --authority.
"""

from __future__ import annotations

import argparse, base64, csv, fnmatch, hashlib, json, re, shutil, subprocess, sys, tempfile
from datetime import datetime, timezone
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

ADDED = {"README.txt", "SHA256SUMS", "EVIDENCE.txt", "verify.py", "chain.json", "chain.json.sig"}
BESIDE = {"manifest.json", "checkpoint", "checkpoint.sig", "checkpoint.tsq", "checkpoint.tsr"}
# How names begin that office programs, file managers, and a signing that was killed leave.
OF_PROGRAMS = (".DS_Store", "~$", ".~lock.", ".checkpoint.")
OURS = "svc-analytics-seal"  # the namespace of signatures
HASH = "[0-9a-f]{64}"
CHECKPOINT = (
    rf"svc-analytics/([^\n]+)\n(0|[1-9][0-9]*)\n({HASH})\nseal {HASH}\n"
    rf"version [1-9][0-9]*\nprevious (?:{HASH}|none)\nsalt hmac-sha256/1\n(?:header ({HASH})\n)?"
)
SIGNER = r'(?m)^("[^"]*"|[^\s#]\S*)\s+(?:((?:[^\s"]|"[^"]*")+)\s+)??(?:ssh|ecdsa|sk)-\S+\s+(\S+)'
# The hash of the names of all columns of lines.csv, but for those that begin with "metadata.":
# for months that were sealed before a checkpoint had the hash of the header.
COLUMNS = "61bf3cea9ee625a5d4dd791ac11a573378f660d5af5806520c6d7fb41db91662"
SUMS = {  # figures of the summary: the kind of line, its column and the sign that add up to each
    "payments_count": ("payment", "", 1), "refunds_count": ("refund", "", 1),
    "payouts_count": ("payout", "", 1), "gross_sales": ("payment", "gross", 1),
    "charged_total": ("payment", "charged", 1), "net_sales": ("payment", "net", 1),
    "refunds_debited": ("refund", "net", -1), "payouts_debited": ("payout", "net", -1),
    "rail_movement": ("", "net", 1), "closing_position": ("", "net", 1),
}
EXACT, sha256 = Context(prec=100), hashlib.sha256
csv.field_size_limit(1 << 30)

class Result(Exception):
    """Why something did not hold: its status, a text, and what this program ends with."""

def require(is_right: object, text: str) -> None:
    if not is_right:
        raise Result("FAILED", text, 1)

# Files, manifest, seal and lines.

def place(folder: Path, name: str) -> Path:
    path = folder / name
    require(path.is_file() and not path.is_symlink(), f"{name} is missing, or is a link")
    return path

def read(folder: Path, name: str) -> bytes:
    return place(folder, name).read_bytes()

def hash_of(folder: Path, name: str) -> str:
    digest = sha256()
    with place(folder, name).open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()

def parse_json(content: bytes) -> Any:
    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "it says one thing twice")
        return dict(pairs)
    return json.loads(content.decode(), object_pairs_hook=once_each)

def check_seal(folder: Path, manifest: dict[str, Any]) -> str:
    manifest.update(parse_json(read(folder, "manifest.json")))
    bare = {name: value for name, value in manifest.items() if name != "seal"}
    text = json.dumps(bare, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    require(sha256(text.encode()).hexdigest() == manifest["seal"], "manifest.json is not as sealed")
    return f"{manifest['seal']}: compare it with the one that you were given"

def check_files(folder: Path, manifest: dict[str, Any]) -> str:
    files = {name: facts["sha256"] for name, facts in manifest["files"].items()}
    here = sorted(each.name for each in folder.iterdir() if not each.name.startswith(OF_PROGRAMS))
    sums = {name: hash_of(folder, name) for name in here}
    wrong = {f"{name} is not as sealed" for name in files if files[name] != sums.get(name)}
    wrong |= {f"{name} is not of it" for name in set(sums) - set(files) - ADDED - BESIDE}
    if set(sums) & ADDED:
        lines = read(folder, "SHA256SUMS").decode("utf-8", "replace").splitlines(keepends=True)
        sums_now = [f"{sums[name]}  {name}\n" for name in here if name != "SHA256SUMS"]
        wrong |= {f"{line[66:-1]} is not as in SHA256SUMS" for line in {*lines} ^ {*sums_now}}
    require(not wrong, ", ".join(sorted(wrong)))
    return f"{len(files)} of {len(files)} are as sealed"

def check_checkpoint(folder: Path, manifest: dict[str, Any]) -> str:
    tree = manifest.get("tree")
    if tree is None:
        require(not (folder / "checkpoint").exists(), "it is of no tree of the manifest")
        raise Result("not checked", "no tree: sealed before there were trees", 0)
    text = (
        f"svc-analytics/{manifest['merchant']['id']}/{manifest['label']}\n{tree['size']}\n"
        f"{tree['root']}\nseal {manifest['seal']}\nversion {manifest['version']}\n"
        f"previous {manifest['previous_seal'] or 'none'}\nsalt {tree['salt']}\n"
        + (f"header {tree['header']}\n" if "header" in tree else "")
    )
    require(read(folder, "checkpoint") == text.encode(), "it is not that of the manifest")
    return f"{tree['size']} lines, root {tree['root']}"

def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    with place(folder, name).open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file, strict=True)

def header_of(folder: Path) -> str:
    """Return the hash of the headings of lines.csv; one in quotes may hold newlines."""
    text = ""
    with place(folder, "lines.csv").open(encoding="utf-8-sig", newline="") as file:
        while not text or text.count('"') % 2:
            text += next(file)
    return sha256(text[:-1].encode()).hexdigest()

def check_lines(folder: Path, manifest: dict[str, Any]) -> str:
    if not {"lines.csv", "summary.csv"} <= set(manifest["files"]):
        raise Result("not checked", "the tables are not here as CSV", 3)
    left: dict[str, dict[str, Decimal]] = {}  # of each figure; what is empty, is unknown
    for row in rows(folder, "summary.csv"):
        known = {name: Decimal(row[name] or "NaN") for name in (*SUMS, "opening_position")}
        moved = EXACT.subtract(known["closing_position"], known["opening_position"])
        left[row["currency"]] = {**known, "closing_position": moved}
    size = 0
    for size, line in enumerate(rows(folder, "lines.csv"), 1):
        coin = left[line["currency"]]
        for name, (kind, column, sign) in SUMS.items():
            if kind in ("", line["kind"]):
                amount = Decimal(line[column] if column else 1)
                coin[name] = EXACT.fma(amount, Decimal(-sign), coin[name])
    tree, header = manifest.get("tree", {"size": size}), header_of(folder)
    require((tree["size"], tree.get("header", header)) == (size, header), "the tree is of others")
    wrong = [f"{name} of {coin}" for coin in left for name in SUMS if left[coin][name].is_normal()]
    require(not wrong, f"they do not add up to the summary: {', '.join(wrong)}")
    return f"{size} add up to the summary of {len(left)} coins"

# Signatures: SSHSIG, with Ed25519 by RFC 8032 and other keys by ssh-keygen.

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, BASE = -121665 * pow(121666, -1, P) % P, bytes.fromhex("58" + "66" * 31)

def point(text: bytes) -> tuple[int, int]:
    """Return a point of the curve, from the only text that stands for it."""
    y, sign = int.from_bytes(text, "little") & (1 << 255) - 1, text[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    require(len(text) == 32 and y < P and x * x % P == square and x | sign != 1, "it is by no key")
    return (x if x & 1 == sign else P - x), y

def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    x, y = one[0] * other[1] + one[1] * other[0], one[1] * other[1] + one[0] * other[0]
    product = D * one[0] * one[1] * other[0] * other[1]
    return x * pow(1 + product, -1, P) % P, y * pow(1 - product, -1, P) % P

def times(scalar: int, base: tuple[int, int]) -> tuple[int, int]:
    product = (0, 1)
    for bit in bin(scalar)[2:]:
        product = add(add(product, product), base if bit == "1" else (0, 1))
    return product

def is_ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % ORDER
    x, y = add(times(s, point(BASE)), times(ORDER - k, point(key)))
    return s < ORDER and signature == ((s << 256) + (y | (x & 1) << 255)).to_bytes(64, "little")

def strings(content: bytes) -> Iterator[bytes]:
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        yield content[4:end]
        content = content[end:]

def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

def signing_key(armour: bytes, message: bytes) -> bytes:
    """Return the key that signed a message, or fail: whose it is, is not known yet."""
    head, end = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
    blob = base64.b64decode(armour[len(head) : -len(end)])
    text = re.sub(b".{1,70}", rb"\g<0>\n", base64.b64encode(blob))
    key, namespace, reserved, hashing, signature = parts = list(strings(blob[10:]))
    is_strict = armour == head + text + end and blob == b"SSHSIG\0\0\0\1" + packed(*parts)
    is_ours = namespace == OURS.encode() and not reserved and hashing in (b"sha256", b"sha512")
    require(is_strict and is_ours, "it is not in the only form of an SSH signature of statements")
    signed = packed(namespace, reserved, hashing, hashlib.new(hashing.decode(), message).digest())
    if (kind := b"ssh-ed25519") in key[:15]:
        [_, public], [_, value] = strings(key), strings(signature)
        is_right = (key, signature) == (packed(kind, public), packed(kind, value))
        is_right = is_right and is_ed25519(public, b"SSHSIG" + signed, value)
    else:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sig").write_bytes(armour)
            words = ("check-novalidate", "-n", OURS, "-s", f"{folder}/sig")
            is_right = not run("ssh-keygen", "-Y", *words, content=message).returncode
    require(is_right, "it is not of this text by this key")
    return key

def run(name: str, *words: str, content: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    if shutil.which(name) is None:
        raise Result("not checked", f"this needs {name}, which is not here", 3)
    return subprocess.run([shutil.which(name) or name, *words], input=content, capture_output=True)

def check_signature(armour: bytes | None, message: bytes, signers: bytes | None) -> str:
    if armour is None:
        require(signers is None, "not signed, and you named whose you trust")
        raise Result("not checked", "not signed", 0)
    key = signing_key(armour, message)
    shown = "SHA256:" + base64.b64encode(sha256(key).digest()).decode().rstrip("=")
    if signers is None:
        raise Result("not checked", f"it fits the key {shown}; whom do you trust? (--signers)", 3)
    people = [who for who, known in trusted(signers) if known == base64.b64encode(key).decode()]
    require(people, f"it is by the key {shown}, which --signers does not allow")
    return f"by {people[0]}, key {shown}"

def trusted(signers: bytes) -> Iterator[tuple[str, str]]:
    """Yield whose keys may sign statements now, as ssh-keygen reads allowed signers."""
    for person, options, key in re.findall(SIGNER, signers.decode("utf-8", "replace")):
        if all(is_allowed(*each) for each in re.findall(r'([a-z-]+)(?:="([^"]*)")?', options)):
            yield person.strip('"'), key

def is_allowed(option: str, value: str) -> bool:
    if option in ("valid-after", "valid-before"):
        at = datetime.strptime(value.rstrip("Z").ljust(14, "0"), "%Y%m%d%H%M%S")
        at = at.replace(tzinfo=timezone.utc) if value.endswith("Z") else at.astimezone()
        return option == ("valid-before" if datetime.now(timezone.utc) < at else "valid-after")
    names = [name for name in value.split(",") if fnmatch.fnmatchcase(OURS, name.lstrip("!"))]
    return option == "namespaces" and bool(names) and not any(name[0] == "!" for name in names)

def check_signed(folder: Path, name: str, signers: bytes | None) -> str:
    armour = read(folder, f"{name}.sig") if (folder / f"{name}.sig").exists() else None
    return check_signature(armour, read(folder, name) if armour else b"", signers)

def check_stamp(folder: Path, authority: str | None) -> str:
    """Let openssl decide a stamp by RFC 3161."""
    query, reply = folder / "checkpoint.tsq", folder / "checkpoint.tsr"
    if not reply.exists():
        require(authority is None, "no stamp, and you named whose you trust")
        raise Result("not checked", "no stamp", 0)
    known = b"\4\x20" + sha256(read(folder, "checkpoint")).digest()
    require(all(known in read(folder, p.name) for p in (query, reply)), "it is of another text")
    stated = run("openssl", "ts", "-reply", "-in", str(reply), "-text").stdout
    [at] = re.findall("Time stamp: (.*)", stated.decode("utf-8", "replace"))
    if authority is None:
        raise Result("not checked", f"it says {at}; whom do you trust? (--authority)", 3)
    words = ("ts", "-verify", "-in", str(reply), "-queryfile", str(query), "-CAfile", authority)
    require(not run("openssl", *words).returncode, "it is no stamp of this authority")
    return f"the checkpoint was there at {at}"

# Trees of RFC 9162: the chain of all checkpoints, and one line alone.

def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()

def root_of(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    at = 1 << (len(leaves) - 1).bit_length() - 1
    return node(root_of(leaves[:at]), root_of(leaves[at:]))

def root_by(path: list[bytes], leaf: bytes, index: int, size: int) -> bytes:
    """Return the root of a tree of so many leaves, from one of them and the hashes beside it."""
    require(0 <= index < size and (size > 1) is bool(path), "it is not of its place in the tree")
    if size == 1:
        return leaf
    at = 1 << (size - 1).bit_length() - 1
    if index < at:
        return node(root_by(path[:-1], leaf, index, at), path[-1])
    return node(path[-1], root_by(path[:-1], leaf, index - at, size - at))

def chain_leaf(checkpoint: str | None, seal: str) -> bytes:
    said = bytes.fromhex(checkpoint) if checkpoint else f"none {seal}".encode()
    return sha256(b"\0" + said).digest()

def begins(chain: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a chain begins with another, of which all is known, or its size and root alone."""
    listed = chain["checkpoints"][: old["size"]]
    root = root_of([chain_leaf(each["checkpoint"], each["seal"]) for each in listed]).hex()
    return (old["size"], old["root"], old.get("checkpoints", listed)) == (len(listed), root, listed)

def read_chain(content: bytes) -> dict[str, Any]:
    """Return a chain, which fits its own root and begins with the one that it names as earlier."""
    chain = parse_json(content)
    text = f"{json.dumps(chain, sort_keys=True, indent=2, ensure_ascii=False)}\n".encode()
    require(content == text and begins(chain, chain), "it does not fit its size and root")
    require(begins(chain, chain["earlier"] or chain), "it lacks the chain before")
    return dict(chain)

def check_chain(folder: Path, at: Path, manifest: dict[str, Any], older: bytes | None) -> str:
    if not (at / "chain.json").exists():
        require(older is None, "there is no chain.json, and you have an earlier one")
        raise Result("not checked", "there is no chain.json", 0)
    chain = read_chain(read(at, "chain.json"))
    origin = f"svc-analytics/{manifest['merchant']['id']}/chain"
    facts = {name: manifest[name] for name in ("label", "calendar", "zone", "version", "seal")}
    checkpoint = "tree" in manifest and sha256(read(folder, "checkpoint")).hexdigest()
    listed = chain["checkpoints"].count({**facts, "checkpoint": checkpoint or None})
    require(chain["origin"] == origin and listed == 1, "it does not list this statement once")
    old = chain if older is None else parse_json(older)
    require(begins(chain, old) and old["origin"] == origin, "the earlier one was cut or rewritten")
    return f"{chain['size']} checkpoints" + ("" if older is None else ", the earlier ones first")

def check_proof(content: bytes) -> str:
    """Check the proof of one line, but for its signature."""
    proof = parse_json(content)
    form = re.fullmatch(CHECKPOINT, proof["checkpoint"])
    hashes, at = [proof["salt"], proof["receipt"], *proof["hashes"]], proof["line_number"] - 1
    require(form and all(re.fullmatch(HASH, each) for each in hashes), "its form is wrong")
    label, size, root, header = form.groups()  # type: ignore[union-attr]
    salt, token, *path = map(bytes.fromhex, hashes)
    leaf = sha256(b"\0" + salt + token + proof["line"].encode()).digest()
    require(root_by(path, leaf, at, int(size)).hex() == root, f"line {at + 1} is not in the tree")
    [names], [values] = (list(csv.reader([proof[part]])) for part in ("header", "line"))
    text = proof["header"] if header else ",".join(n for n in names if n[:9] != "metadata.")
    known = sha256(text.encode()).hexdigest() == (header or COLUMNS) and len(names) == len(values)
    receipt = known and (dict(zip(names, values))["receipt_sha256"] or "0" * 64)
    require(receipt == proof["receipt"], "its header or receipt is not that of the line")
    return f"line {at + 1} of {size} of {label}: {', '.join(filter(None, values))}"

def check_proof_signature(content: bytes, signers: bytes | None) -> str:
    proof = parse_json(content)
    armour = proof["signature"] and proof["signature"].encode()
    return check_signature(armour, proof["checkpoint"].encode(), signers)

# What is printed.

def outcome(find: Callable[..., str], *facts: Any) -> tuple[Any, ...]:
    """Return the status of a check, its text, and what this program ends with."""
    try:
        return "held", find(*facts), 0
    except Result as result:
        return result.args
    except Exception as error:  # whatever a forger wrote: it is not as it was made
        return "FAILED", f"it cannot be read: {error!r}", 1

def check_all(options: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each check with its outcome."""
    folder, signers, manifest = options.folder, options.signers, dict[str, Any]()
    if options.proof is not None:
        yield "proof", *outcome(check_proof, options.proof)
        yield "proof's signature", *outcome(check_proof_signature, options.proof, signers)
    if folder is not None:
        yield "seal of manifest.json", *outcome(check_seal, folder, manifest)
        yield "files", *outcome(check_files, folder, manifest)
        yield "lines", *outcome(check_lines, folder, manifest)
        yield "checkpoint", *outcome(check_checkpoint, folder, manifest)
        yield "signature", *outcome(check_signed, folder, "checkpoint", signers)
        yield "stamp", *outcome(check_stamp, folder, options.authority)
        yield "chain", *outcome(check_chain, folder, folder, manifest, options.earlier)
        if (folder / "chain.json").exists():
            yield "chain's signature", *outcome(check_signed, folder, "chain.json", signers)

def file(path: str) -> bytes:
    [known] = filter(Path.is_file, [Path(path)])  # else "invalid file value"
    return known.read_bytes()

def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="[default: where verify.py lies]")
    parser.add_argument("--signers", type=file, help="whose keys you trust: allowed signers")
    parser.add_argument("--authority", help="whose stamps you trust: certificates (PEM)")
    parser.add_argument("--earlier", type=file, help="a chain.json that you kept, or its root")
    parser.add_argument("--proof", type=file, help="the proof of one line")
    options = parser.parse_args(words)
    options.folder = options.folder or (None if options.proof else Path(__file__).absolute().parent)
    return options

def main(words: list[str] | None = None) -> int:
    outcomes = list(check_all(arguments(words)))
    for name, status, text, _ in outcomes:
        print(f"{status}  {name}: {''.join(c if c.isprintable() else '?' for c in text)}")
    return min((code for *_, code in outcomes if code), default=0)

if __name__ == "__main__":
    sys.exit(main())
