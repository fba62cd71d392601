"""Check a sealed statement of svc-analytics with Python alone, 3.9 or newer.

    python verify.py [--signers FILE] [--authority FILE] [--earlier FILE] [--proof FILE] [FOLDER]

It opens nothing outside FOLDER (by default its own) but the files that you name, and no network.
Each line says that something held, FAILED, or was not checked, and why. It ends with 0 where all
held, 1 where something failed, 3 where something was not checked, and 4 where it cannot run here.
A key that comes with a statement proves nothing: bring those that you trust in --signers, a file
of "allowed signers" as ssh-keygen reads it, and the certificates of a stamp in --authority.
"""
import sys
if sys.version_info < (3, 9):  # an older one gets here, for it can read all that follows
    sys.exit(sys.stdout.write("not checked  this needs Python 3.9 or newer\n") and 4)
import argparse, base64, calendar, csv, json, os, re, shutil, subprocess, tempfile, time
from hashlib import new, sha256, sha512
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional

ADDED = {"README.txt", "SHA256SUMS", "EVIDENCE.txt", "verify.py", "chain.json", "chain.json.sig"}
BESIDE = {"manifest.json", "checkpoint", "checkpoint.sig", "checkpoint.tsq", "checkpoint.tsr"}
OURS, HASH = "svc-analytics-seal", "[0-9a-f]{64}"  # the namespace of signatures; a hash
CHECKPOINT = (
    rf"svc-analytics/([^\n]+)\n(0|[1-9][0-9]*)\n({HASH})\nseal {HASH}\nversion [1-9][0-9]*\n"
    rf"previous (?:{HASH}|none)\nsalt hmac-sha256/1\n(?:header ({HASH})\n)?")
# The hash of the names of all columns of lines.csv, but for those that begin with "metadata.":
# for months that were sealed before a checkpoint had the hash of the header.
COLUMNS = "61bf3cea9ee625a5d4dd791ac11a573378f660d5af5806520c6d7fb41db91662"
# Figures of the summary, and which lines add up to each: what they are, the sign and the column.
SUMS = re.findall(r"(\S+)=(\S+) ([+-])(\S+)", """
    payments_count=payment +one gross_sales=payment +gross charged_total=payment +charged
    payment_fees=payment -fee net_sales=payment +net refunds_count=refund +one
    refunds_paid=refund -gross refunds_debited=refund -net refunds_same_period=refund:same -gross
    refunds_prior_period=refund:prior -gross refunds_unresolved=refund:lost -gross
    payouts_count=payout +one payouts_sent=payout -gross payout_fees=payout -fee
    payouts_debited=payout -net total_fees_borne=payment/merchant -fee total_fees_borne=refund -fee
    total_fees_borne=payout -fee net_settlement=payment +net net_settlement=refund +net
    rail_movement=line +net closing_position=line +net usd_gross=payment +usd
    usd_refunds=refund +usd usd_payouts=payout +usd receipts_checked=payment +one
    receipts_checked=payment.not_checked -one receipts_valid=payment.valid +one""")
VALID = dict.fromkeys(("valid_previous_secret", "proven_by_record"), "valid")  # receipts too
csv.field_size_limit(1 << 30)

class Result(Exception):
    """Why something did not hold: its status, a text, and what this program ends with."""

def require(is_right: object, text: str) -> None:
    if not is_right:
        raise Result("FAILED", text, 1)

def leave_if(is_so: object, text: str, code: int = 3) -> None:
    if is_so:
        raise Result("not checked", text, code)

def listed(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:20]) + f" and {len(known) - 20} more" * (len(known) > 20)

def counted(size: int, noun: str) -> str:
    return f"{size} {noun}{'s' * (size != 1)}"

# Files, manifest and seal.

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

def compact(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()

def check_seal(folder: Path, manifest: dict[str, Any]) -> str:
    manifest.update(parse_json(read(folder, "manifest.json")))
    text = compact({name: value for name, value in manifest.items() if name != "seal"})
    require(sha256(text).hexdigest() == manifest["seal"], "manifest.json is not as sealed")
    return f"{manifest['seal']}. Compare it with the seal you were given"

def left_over(folder: Path) -> set[str]:
    """Return the names of files that programs leave beside others, or a signing that was killed."""
    here = {each.name for each in folder.iterdir() if each.is_file() and not each.is_symlink()}
    known = {form % n for form in ("~$%s", ".~lock.%s#", ".%s.writing") for n in here | BESIDE}
    known |= {f"~${n[2:]}" for n in here if n[0] != "~"} | {".DS_Store", "Thumbs.db", "desktop.ini"}
    return here & known

def unsealed(folder: Path) -> list[str]:
    """Name the files in a folder that neither seal nor signature covers."""
    here = {each.name for each in folder.iterdir()} & ADDED
    return sorted(here - {"chain.json", "chain.json.sig"} | left_over(folder))

def check_files(folder: Path, manifest: dict[str, Any]) -> str:
    files = {name: facts["sha256"] for name, facts in manifest["files"].items()}
    known, form = {*files, *ADDED, *BESIDE}, r"[a-z0-9][a-z0-9_.-]*[a-z0-9]"
    require(all(re.fullmatch(form, name) for name in files), "a name is none of a statement's")
    here = {each.name for each in folder.iterdir()} - left_over(folder)
    sums = {name: hash_of(folder, name) for name in here & known}
    wrong = {f"{name} is not as sealed" for name in files if files[name] != sums.get(name)}
    wrong |= {f"{name} is not a file of this statement" for name in here - known}
    if here & ADDED:
        lines = {*read(folder, "SHA256SUMS").decode("utf-8", "replace").splitlines(keepends=True)}
        lines ^= {f"{sums[name]}  {name}\n" for name in sums if name != "SHA256SUMS"}
        others = {line[66:-1] for line in lines} - (here - known)
        wrong |= {f"{name} is not as in SHA256SUMS" for name in others}
    require(not wrong, listed(sorted(wrong)))
    return f"{len(files)} of {len(files)} are as sealed"

def check_checkpoint(folder: Path, manifest: dict[str, Any]) -> str:
    tree: Any = manifest.get("tree")
    require(tree or not (folder / "checkpoint").exists(), "the manifest has no tree for it")
    leave_if(tree is None, "no tree: sealed before there were trees", 0)
    text = (f"svc-analytics/{manifest['merchant']['id']}/{manifest['label']}\n{tree['size']}\n"
        f"{tree['root']}\nseal {manifest['seal']}\nversion {manifest['version']}\n"
        f"previous {manifest['previous_seal'] or 'none'}\nsalt {tree['salt']}\n"
        + (f"header {tree['header']}\n" if "header" in tree else ""))
    require(read(folder, "checkpoint") == text.encode(), "it is not that of the manifest")
    said = "not computed again here (it needs the lake's secret)"
    return f"{counted(tree['size'], 'line')}; root {tree['root']} {said}"

# Lines. Amounts are whole numbers, in units of 18 places.

def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table; no heading stands twice, and no row is longer or shorter."""
    with place(folder, name).open(encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file, strict=True)
        names = next(table, [])
        known = {n for n in names if re.fullmatch(r"[a-z0-9_]+|metadata\..*", n, re.DOTALL)}
        require(len(known) == len(names), f"{name} has a heading twice, or a strange one")
        for row in table:
            require(len(row) == len(names), f"{name} has a row of {len(row)} cells")
            yield dict(zip(names, row))

def amount(text: str) -> int:
    form = re.fullmatch(r"(-?(?:0|[1-9][0-9]{0,59}))(?:\.([0-9]{1,18}))?", text)
    require(form, f"{text[:40]!r} is no plain decimal")
    return int(form[1] + (form[2] or "").ljust(18, "0"))  # type: ignore[index]

def stated(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of the summary, by coin and name; one that is empty is unknown: None."""
    coins: dict[str, dict[str, Any]] = {}
    for row in rows(folder, "summary.csv"):
        coin, texts = row.pop("currency"), (row.pop("period"), "implied_rate_at")
        require(coin not in coins, f"{coin} stands twice in the summary")
        coins[coin] = {n: amount(row[n]) if row[n] and n not in texts else None for n in row}
    return coins

def take_off(coins: dict[str, dict[str, Any]], folder: Path, start: str) -> int:
    """Take each line off the figures that it adds to, and return how many lines there are."""
    size, ids = 0, set[str]()
    for size, line in enumerate(rows(folder, "lines.csv"), 1):
        coin, kind, paid = line["currency"], line["kind"], line["parent_paid_at"]
        entry = f"{kind}:{line['record_id']}"
        is_own = (line["entry_id"], line["line_no"]) == (entry, str(size)) and entry not in ids
        is_known = kind in ("payment", "refund", "payout") and coin in coins
        require(is_own and is_known, f"line {size} stands twice, or where none of its kind does")
        ids.add(entry)
        age = "lost" if not paid else "prior" if paid[:19] < start[:19] else "same"
        words = {"line", kind, f"{kind}:{age}", f"{kind}/{line['fee_bearer']}"}
        words.add(f"{kind}.{VALID.get(line['receipt_verdict'], line['receipt_verdict'])}")
        names = ("gross", "fee", "net", "charged")[: 4 if kind == "payment" else 3]
        cells = {"usd": amount(line["usd_value"] or "0"), **{n: amount(line[n]) for n in names}}
        for figure, word, sign, cell in SUMS:
            if word in words and coins[coin].get(figure) is not None:
                coins[coin][figure] -= int(sign + "1") * cells.get(cell, 10**18)
    return size

def check_lines(folder: Path, manifest: dict[str, Any]) -> str:
    leave_if({"lines.csv", "summary.csv"} - {*manifest["files"]}, "the tables are not here as CSV")
    coins, sums = stated(folder), {each[0] for each in SUMS}
    size = take_off(coins, folder, manifest["start"])
    with place(folder, "lines.csv").open(encoding="utf-8-sig", newline="") as file:
        [names] = re.findall(r'\A(?:[^"\n]+|"[^"]*")*', file.read(1 << 24))  # to their newline
    header, tree = sha256(names.encode()).hexdigest(), manifest.get("tree", {"size": size})
    require((tree["size"], tree.get("header", header)) == (size, header), "the tree is of others")
    gaps = {f"{n} of {c}" for e in manifest["unknown"] for n in e["figures"] for c in e["coins"]}
    wrong, others = [], dict[str, None]()
    for coin, name, rest in [(c, n, coins[c][n]) for c in coins for n in coins[c]]:
        may_lack = f"{name} of {coin}" in gaps or name.startswith(("usd_", "receipts_"))
        if name not in sums or (rest is None and may_lack):
            others[name] = None
        elif rest != (name == "closing_position") * (coins[coin]["opening_position"] or 0):
            wrong.append(f"{name} of {coin}")
    require(not wrong, f"they do not add up to the summary: {listed(wrong)}")
    said = f"{size} add up to the summary of {counted(len(coins), 'coin')}; not checked"
    return f"{said} (unknown, or no sum of lines): {', '.join(others) or 'nothing'}"

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
    half = times(scalar >> 1, add(base, base)) if scalar else (0, 1)
    return add(half, base) if scalar & 1 else half

def is_ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(sha512(r + key + message).digest(), "little") % ORDER
    x, y = add(times(s, point(BASE)), times(ORDER - k, point(key)))
    return s < ORDER and signature == ((s << 256) + (y | (x & 1) << 255)).to_bytes(64, "little")

def strings(content: bytes) -> Iterator[bytes]:
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        yield content[4:end]
        content = content[end:]

def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

def run(name: str, *words: str, content: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    leave_if(shutil.which(name) is None, f"this needs {name}, which is not here")
    return subprocess.run([shutil.which(name) or name, *words], input=content, capture_output=True)

def signing_key(armour: bytes, message: bytes) -> bytes:
    """Return the key that signed a message, or fail: whose it is, is not known yet."""
    head, end = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
    blob = base64.b64decode(armour[len(head) : -len(end)])
    key, namespace, reserved, hashing, signature = parts = list(strings(blob[10:]))
    text = base64.b64encode(b"SSHSIG\0\0\0\1" + packed(*parts))
    is_strict = armour == head + re.sub(b".{1,70}", rb"\g<0>\n", text) + end
    is_ours = namespace == OURS.encode() and not reserved and hashing in (b"sha256", b"sha512")
    require(is_strict and is_ours, "it is not in the only form of an SSH signature of statements")
    signed = packed(namespace, reserved, hashing, new(hashing.decode(), message).digest())
    if key.startswith(packed(b"ssh-ed25519")):
        [kind, public], [_, value] = strings(key), strings(signature)
        is_right = (key, signature) == (packed(kind, public), packed(kind, value))
        is_right = is_right and is_ed25519(public, b"SSHSIG" + signed, value)
    else:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sig").write_bytes(armour)
            words = ("check-novalidate", "-n", OURS, "-s", f"{folder}/sig")
            is_right = not run("ssh-keygen", "-Y", *words, content=message).returncode
    require(is_right, "it is not of this text by this key")
    return key

def signer_of(signers: str, key: bytes, armour: bytes, message: bytes) -> tuple[str, str]:
    """Return who signs with a key by the lines of a file, as ssh-keygen reads them, or why not."""
    why, kind, text = "", next(strings(key)).decode(), base64.b64encode(key).decode()
    own = rf'([\w.@+-]+) (?:namespaces="{OURS}" )?{kind} {re.escape(text)}\r*(?:[ \t].*)?'
    for line in (each for each in re.sub("\0.*", "", signers).split("\n") if text in each):
        known = re.fullmatch(own, line, re.ASCII)
        if known:  # this needs no ssh-keygen
            return known[1], ""
        with tempfile.TemporaryDirectory() as folder:
            files = (f"{folder}/signature", f"{folder}/signers")
            Path(files[0]).write_bytes(armour)
            Path(files[1]).write_bytes(line.encode("utf-8", "surrogateescape"))
            [names] = re.findall(r'\A[ \t\r]*([^ \t\r"]*(?:"[^"]*")?)', line)
            for name in names.replace('"', "").split(","):
                one = ("-I", re.sub("[*?]", "x", name), "-n", OURS, "-s", files[0], "-f", files[1])
                done = run("ssh-keygen", "-Y", "verify", *one, content=message)
                if name and not done.returncode:
                    return name, ""
                why = done.stderr.decode("utf-8", "replace").replace(f"{folder}/", ": ").strip()
    return "", why

def check_signature(armour: Optional[bytes], message: bytes, signers: Optional[bytes]) -> str:
    require(armour is not None or signers is None, "not signed, and you named whose you trust")
    leave_if(armour is None, "not signed", 0)
    key = signing_key(armour or b"", message)
    shown = "SHA256:" + base64.b64encode(sha256(key).digest()).decode().rstrip("=")
    leave_if(signers is None, f"it fits the key {shown}; whom do you trust? (--signers)")
    text = (signers or b"").decode("utf-8", "surrogateescape")
    who, why = signer_of(text, key, armour or b"", message)
    require(who, f"it is by the key {shown}, which --signers does not allow{why}")
    return f"by {who}, key {shown}"

def check_signed(folder: Path, name: str, signers: Optional[bytes]) -> str:
    armour = read(folder, f"{name}.sig") if (folder / f"{name}.sig").exists() else None
    return check_signature(armour, read(folder, name) if armour else b"", signers)

# Stamps of RFC 3161.

def parts(content: bytes, *path: int) -> list[bytes]:
    """Return the parts of a value in DER, found by its place in those around it."""
    values = []
    while content:
        start, size = 2, content[1]
        if size > 127:
            start, size = size - 126, int.from_bytes(content[2 : size - 126], "big")
        values.append(content[start : start + size])
        content = content[start + size :]
    require((path[:1] != (0,) or not values[1:]) and len(values[-1]) == size, "it is not whole")
    return parts(values[path[0]], *path[1:]) if path else values

def check_stamp(folder: Path, authority: Optional[str]) -> str:
    """Compare the imprint of a stamp with the checkpoint; openssl decides whose stamp it is."""
    query, reply = folder / "checkpoint.tsq", folder / "checkpoint.tsr"
    require(reply.exists() or authority is None, "no stamp, and you named whose you trust")
    leave_if(not reply.exists(), "no stamp", 0)
    digest = hash_of(folder, "checkpoint")
    _, _, stamped, _, at, *_ = parts(read(folder, reply.name), 0, 1, 1, 0, 2, 1, 0, 0)
    heads = ("300d06096086480165030402010500", "300b0609608648016503040201")  # both of SHA-256
    imprints = {bytes.fromhex(f"{head}0420{digest}") for head in heads}
    require({parts(read(folder, query.name), 0)[1], stamped} <= imprints, "it is of another text")
    then = time.strptime(re.sub(r"\.[0-9]+", "", at.decode("ascii")), "%Y%m%d%H%M%SZ")
    said = time.strftime("%Y-%m-%d %H:%M:%S UTC", then)
    leave_if(calendar.timegm(then) > time.time() + 900, f"it says {said}, ahead of the clock here")
    leave_if(authority is None, f"it says {said}; whom do you trust? (--authority)")
    leave_if(b"-----BEGIN " not in Path(authority or "").read_bytes(), "--authority has no PEM", 4)
    for what in (("-digest", digest), ("-queryfile", str(query))):
        trusted = ("-CAfile", authority or "", "-attime", str(calendar.timegm(then)))
        answer = run("openssl", "ts", "-verify", "-in", str(reply), *what, *trusted)
        leave_if(b"Verification: " not in answer.stdout, "this openssl cannot do it for that time")
        require(not answer.returncode, "it is no stamp of this authority")
    return f"the checkpoint was there at {said}; whether a certificate was revoked is not checked"

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

def chain_leaf(entry: dict[str, Any], is_old: bool = False) -> bytes:
    """Return a leaf of a chain: all that an entry says, or in earlier releases its checkpoint."""
    old = bytes.fromhex(entry["checkpoint"] or "") or f"none {entry['seal']}".encode()
    return sha256(b"\0" + (old if is_old else compact(entry))).digest()

def begins(chain: dict[str, Any], old: dict[str, Any]) -> int:
    """Tell whether a chain begins with another, of which all is known, or its size and root alone.

    It is 2 where that root is of all that the entries say, 1 where it is of their checkpoints.
    """
    listed = chain["checkpoints"][: old["size"]]
    roots = [root_of([chain_leaf(e, is_old) for e in listed]).hex() for is_old in (True, False)]
    is_same = (old["size"], old.get("checkpoints", listed)) == (len(listed), listed)
    return 1 + roots.index(old["root"]) if is_same and old["root"] in roots else 0

def read_chain(content: bytes) -> dict[str, Any]:
    """Return a chain, which fits its own root and begins with the one that it names as earlier."""
    chain = parse_json(content)
    text = f"{json.dumps(chain, sort_keys=True, indent=2, ensure_ascii=False)}\n".encode()
    require(content == text and begins(chain, chain), "it does not fit its size and root")
    require(begins(chain, chain["earlier"] or chain), "it lacks the chain before")
    return dict(chain)

def check_months(chain: dict[str, Any], size: int, month: dict[str, Any]) -> None:
    """Refuse another seal of what the first entries are of; tell of two, and of a later version."""
    pairs = [(tuple(e[name] for name in month), e["seal"]) for e in chain["checkpoints"]]
    old, every = {*pairs[:size]}, dict(pairs)
    again = {of[0] for of, _ in {*pairs} - old if of in dict(old)}
    require(not again, f"the earlier one has another seal of {listed(sorted(again))}")
    newest = max(of[-1] for of in every if of[:-1] == tuple(month.values())[:-1])
    leave_if(newest > month["version"], f"version {newest} of it was sealed: ask for that")
    twice = {of[0] for of, seal in pairs if every[of] != seal}
    leave_if(twice, f"a version of {listed(sorted(twice))} has two seals")

def check_chain(folder: Path, at: Path, manifest: dict[str, Any],
        older: Optional[bytes], signers: Optional[bytes] = None) -> str:
    is_here = (at / "chain.json").exists()
    require(is_here or older is None, "there is no chain.json, and you have an earlier one")
    leave_if(not is_here, "there is no chain.json", 0 if signers is None else 3)
    chain = read_chain(read(at, "chain.json"))
    origin = f"svc-analytics/{manifest['merchant']['id']}/chain"
    facts = {name: manifest[name] for name in ("label", "calendar", "zone", "version")}
    checkpoint = "tree" in manifest and sha256(read(folder, "checkpoint")).hexdigest()
    entry = {**facts, "seal": manifest["seal"], "checkpoint": checkpoint or None}
    is_listed = chain["origin"] == origin and chain["checkpoints"].count(entry) == 1
    require(is_listed, "it does not list this statement once")
    old = chain if older is None else parse_json(older)
    require(begins(chain, old) and old["origin"] == origin, "the earlier one was cut or rewritten")
    check_months(chain, old["size"], facts)
    is_bound = begins(chain, old) == 2 or (older and "checkpoints" in old)
    said = counted(chain["size"], "checkpoint") + ", the earlier ones first" * bool(older)
    return said + "; their labels and seals are not under the root" * (not is_bound)

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
    facts = dict(zip(names, values)) if len({*names}) == len(names) == len(values) else {}
    is_known = sha256(text.encode()).hexdigest() == (header or COLUMNS)
    receipt = facts and is_known and (facts["receipt_sha256"] or "0" * 64)
    require(receipt == proof["receipt"], "its header or receipt is not that of the line")
    said = ", ".join(f"{name} {facts[name]}" for name in facts if facts[name])
    return f"line {at + 1} of {size} of {label}: {said}"

def check_proof_signature(content: bytes, signers: Optional[bytes]) -> str:
    proof = parse_json(content)
    armour = proof["signature"] and proof["signature"].encode()
    return check_signature(armour, proof["checkpoint"].encode(), signers)

# What is printed.

def outcome(check: Callable[..., str], *facts: Any) -> tuple[Any, ...]:
    """Return the status of a check, its text, and what this program ends with."""
    try:
        return "held", check(*facts), 0
    except Result as result:
        return result.args
    except OSError as error:  # of this machine
        return "not checked", f"it cannot be read here: {error}", 4
    except Exception as error:  # whatever a forger wrote: it is not as it was made
        said = "it lacks" if isinstance(error, KeyError) else "it cannot be read:"
        return "FAILED", f"{said} {error}", 1

def check_all(options: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each check with its outcome."""
    folder, signers, proof, facts = options.folder, options.signers, options.proof, dict[str, Any]()
    if proof is not None:
        yield ("proof", *outcome(check_proof, proof))
        yield ("proof's signature", *outcome(check_proof_signature, proof, signers))
    if folder is not None:
        yield ("seal of manifest.json", *outcome(check_seal, folder, facts))
        yield ("files", *outcome(check_files, folder, facts))
        yield ("lines", *outcome(check_lines, folder, facts))
        yield ("checkpoint", *outcome(check_checkpoint, folder, facts))
        yield ("signature", *outcome(check_signed, folder, "checkpoint", signers))
        yield ("stamp", *outcome(check_stamp, folder, options.authority))
        yield ("chain", *outcome(check_chain, folder, folder, facts, options.earlier, signers))
        if (folder / "chain.json").exists():
            yield ("chain's signature", *outcome(check_signed, folder, "chain.json", signers))
        beside = [Path(f"{folder.absolute()}-{name}") for name in ("forms", "matches")]
        names = listed(unsealed(folder) + [each.name for each in beside if each.exists()])
        yield from [(names, "not checked", "no seal covers them", 0)] * bool(names)

def content_of(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

def arguments(words: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="[default: where verify.py lies]")
    parser.add_argument("--signers", type=content_of, help="whose keys you trust: allowed signers")
    parser.add_argument("--authority", help="whose stamps you trust: certificates (PEM)")
    parser.add_argument("--earlier", type=content_of, help="a chain.json you kept, or its root")
    parser.add_argument("--proof", type=content_of, help="the proof of one line")
    options = parser.parse_args(words)
    if options.folder and not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder: unpack the zip, and name what it held")
    options.folder = options.folder or (None if options.proof else Path(__file__).absolute().parent)
    return options

def main(words: Optional[list[str]] = None) -> int:
    outcomes = list(check_all(arguments(words)))
    code = min((code for *_, code in outcomes if code), default=0)
    try:
        getattr(sys.stdout, "reconfigure", dict)(errors="backslashreplace")  # if it lacks a letter
        for name, status, text, _ in outcomes:
            line = (c if c.isprintable() else "?" for c in f"{status}  {name}: {text:.5000}")
            print("".join(line), flush=True)
    except OSError:  # nobody reads on, or there is no room
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code or 4
    return code

if __name__ == "__main__":
    sys.exit(main())
