"""A form of a sealed month to give away, such as its page: made on demand, beside the seal."""

from pathlib import Path

from svc_analytics.closing import seals
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.verification.derived_forms import forms_folder, write_forms
from svc_analytics.closing.verification.proof import require_unaltered
from svc_analytics.errors import LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.render.folder import Output
from svc_analytics.render.formats import DOCUMENTS

ZIP = "zip"


def readable_file(lake: Lake, folder: Path, name: str) -> Path:
    """Return the file of a form of a sealed folder, or its zip for an auditor; make what lacks.

    Raises `LakeError` where the folder was altered, and `ConfigError` where the form needs
    something that is not installed.
    """
    if name == ZIP:
        return pack_folder(folder, folder.with_name(f"{folder.name}.{ZIP}"), lake).file
    manifest, [file, *_] = seals.read_manifest(folder), DOCUMENTS[name].files
    proof = require_unaltered(lake, folder, manifest)
    if file in manifest["files"]:
        return folder / file
    if proof.sealed is None:
        raise LakeError(f"{folder} cannot be shown: {'; '.join(proof.unproven)}")
    write_forms(proof.sealed, Output((name,)), lake.storage)
    return forms_folder(folder) / file
