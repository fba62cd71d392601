"""Seal a folder that is written: its tree of lines, its seal, its checkpoint, in this order."""

from pathlib import Path

from svc_analytics.closing.register import register_seal
from svc_analytics.closing.seals import Manifest, seal_of
from svc_analytics.lake.lake import Lake
from svc_analytics.proofs.checkpoint import tree_of, write_checkpoint
from svc_analytics.proofs.secret import require_secret


def seal_folder(lake: Lake, folder: Path, manifest: Manifest) -> str:
    """Return the seal of a folder, which the lake's register then knows.

    The manifest gains its tree, which the seal covers, and the folder its checkpoint.
    """
    manifest["tree"] = tree_of(folder, manifest, require_secret(lake.storage))
    seal = seal_of(manifest)
    register_seal(lake.storage, manifest, seal)
    write_checkpoint(folder, manifest | {"seal": seal})
    return seal
