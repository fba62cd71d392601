"""The four statuses of a sealed statement, and what a reader brings to them."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from svc_analytics import ConfigError, LakeError, verify_statement
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.proofs import signature, verify
from svc_analytics.proofs.checkpoint import FILE, SIGNATURE, write_checkpoint
from svc_analytics.proofs.statuses import Trust, statuses_of
from tests.support.ssh_keys import make_key
from tests.support.strange_folders import Strange, packed_month


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Strange:
    return packed_month(tmp_path_factory)


def outcomes(folder: Path, trust: Trust) -> dict[str, str]:
    return {each.name: each.outcome for each in statuses_of(folder, trust)}


def trusting(*signers: Path, earlier: Path | None = None) -> Trust:
    return Trust.read(*signers, None, earlier)


def test_a_signature_is_believed_by_none_but_the_reader_s_own_keys(original, tmp_path):
    """One that is there, and fits, is not checked until a reader says whom they trust."""
    key, other = make_key(tmp_path, "other"), tmp_path / "others"
    other.write_text(f"omid@shop.example {key.with_suffix('.pub').read_text()}")
    for trust, signed in (
        (Trust(), "not checked"),
        (trusting(original.signers), "held"),
        (trusting(other), "FAILED"),
    ):
        expected = {"sealed": "held", "signed": signed, "stamped": "not checked"}
        assert outcomes(original.folder, trust) == expected


def test_a_status_says_which_check_failed_in_the_words_of_verify_py(original, tmp_path):
    """The others keep their own outcome: there is no one tick for all."""
    strange = original.copied(tmp_path)
    strange.write("summary.csv", "currency\n")
    sealed, signed, _ = statuses_of(strange.folder, trusting(strange.signers))
    assert sealed.outcome == "FAILED" and "summary.csv is not as sealed; lines:" in sealed.text
    assert signed.outcome == "held" and signed.text.startswith("by mina@shop.example, key SHA256:")


def test_the_chain_of_a_lake_lies_beside_its_months(original, tmp_path):
    """A later chain that nobody signed yet takes no signature from a month."""
    strange = original.copied(tmp_path / "statements")
    for name in verify.ADDED:
        shutil.move(strange.folder / name, tmp_path / "statements" / name)
    chain = tmp_path / "statements" / "chain.json"
    trust = trusting(strange.signers, earlier=original.folder / "chain.json")
    expected = {"sealed": "held", "signed": "held", "stamped": "not checked"}
    assert outcomes(strange.folder, trust) == expected
    chain.with_name("chain.json.sig").write_text("signed")
    assert outcomes(strange.folder, trust) == {**expected, "signed": "FAILED"}
    chain.with_name("chain.json.sig").unlink()
    assert outcomes(strange.folder, trust) == expected
    chain.unlink()
    assert outcomes(strange.folder, trust) == {**expected, "sealed": "FAILED"}


def test_a_file_that_a_reader_names_must_be_there():
    """Nothing is taken for trusted by mistake."""
    with pytest.raises(ConfigError, match="--signers nowhere cannot be read"):
        Trust.read("nowhere", None, None)


def test_a_lake_that_is_rewritten_and_sealed_again_lacks_the_signature(closer, tmp_path):
    """Hashes, seal and register may all fit: the key is nowhere in the lake."""
    folder, key, signers = closer.sealed("2026-10"), make_key(tmp_path, "own"), tmp_path / "signers"
    signers.write_text(f"mina@shop.example {key.with_suffix('.pub').read_text()}")
    (folder / SIGNATURE).write_bytes(signature.sign((folder / FILE).read_bytes(), key))
    seal = read_manifest(folder)["seal"]
    held = verify_statement(folder, signers=signers)
    assert held.holds and [each.outcome for each in held.statuses] == [
        *("held", "held", "not checked", "held")
    ]
    manifest = read_manifest(folder) | {"version": 1, "as_of": "2026-12-01T00:00:00.000000Z"}
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_checkpoint(folder, manifest)
    register = folder.parent / "seals.csv"
    register.write_text(register.read_text().replace(seal, manifest["seal"]))
    for text in ("it is not of this text by this key", "not signed, and you named whose"):
        [signed] = [e for e in statuses_of(folder, trusting(signers)) if e.name == "signed"]
        assert signed.outcome == "FAILED" and text in signed.text
        (folder / "checkpoint.sig").unlink(missing_ok=True)


def test_a_package_is_verified_as_it_came(closer, tmp_path):
    """With the lake that made it; a zip file that is none, or that is not whole, is refused."""
    statements, lake = closer.sealed("2026-10").parent, closer.desk.lake
    path = Path(shutil.make_archive(str(tmp_path / "month"), "zip", statements, "2026-10"))
    checked = verify_statement(path, lake)
    assert checked.holds and checked.folder == path and len(checked.statuses) == 4
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("2026-10/summary.csv", "currency\n")
    with pytest.raises(LakeError, match="it names a file twice"):
        verify_statement(path, lake)
    path.write_bytes(b"PK")
    with pytest.raises(LakeError, match=r"unzip it and run python verify\.py in its folder"):
        verify_statement(path, lake)
