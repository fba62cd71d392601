"""The chain of checkpoints: one small file that lists all months a lake sealed, in their order.

A reader who keeps it sees later that no month was taken out, put in before, or sealed anew: each
later chain begins with it. Its tree lets them prove that by its root and size alone. A leaf of the
tree is all that an entry says; in earlier releases it was its checkpoint alone, and a chain gets
another tree when it grows.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from svc_analytics.proofs.checkpoint import checkpoint_text
from svc_analytics.proofs.merkle import consistency, is_consistent, root_of
from svc_analytics.proofs.verify import chain_leaf

FILE = "chain.json"
SIGNATURE = f"{FILE}.sig"
Entry = dict[str, Any]
Chain = dict[str, Any]


def digest_of(manifest: dict[str, Any]) -> str | None:
    """Hash the checkpoint of a sealed manifest; None where an earlier release sealed it."""
    text = checkpoint_text(manifest)
    return None if text is None else sha256(text.encode()).hexdigest()


def require_beginning(known: Chain) -> None:
    """Raise `ValueError` where a chain does not prove that it begins with the one before."""
    if (earlier := known["earlier"]) is not None:
        before, all_of_it = ((one["size"], bytes.fromhex(one["root"])) for one in (earlier, known))
        if not is_consistent(before, all_of_it, [*map(bytes.fromhex, earlier["proof"])]):
            raise ValueError("its proof of consistency does not hold")


def chain_text(merchant_id: object, entries: Sequence[Entry], before: Chain | None) -> str:
    """Write the chain of these checkpoints, which proves that it begins with the one before."""
    leaves, size = [chain_leaf(each) for each in entries], before["size"] if before else 0
    earlier = None
    if before and list(entries[:size]) == before["checkpoints"]:
        proof = [each.hex() for each in consistency(leaves, size)]
        earlier = {"size": size, "root": root_of(leaves[:size]).hex(), "proof": proof}
    chain = {
        "origin": f"svc-analytics/{merchant_id}/chain",
        "size": len(entries),
        "root": root_of(leaves).hex(),
        "checkpoints": list(entries),
        "earlier": earlier,
    }
    return json.dumps(chain, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
