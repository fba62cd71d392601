"""`package`, `sign`, `prove`, `statement-verify`: what an auditor gets, and how it is checked."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import shared_options
from svc_analytics.cli.commands.close import differences_text
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.closing import seals
from svc_analytics.closing.handover import evidence, sign as signing
from svc_analytics.closing.verification import verify
from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import single_line
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.proofs.statuses import HELD, check_proof
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder


@click.command()
@click.argument("month", metavar="MONTH|DIR")
@shared_options.zone_options
@click.option("--out", metavar="FILE.zip", help="The file to write.  [default: 2026-10.zip here]")
@click.option("--signers", metavar="FILE", help="Whose keys you trust: allowed signers of SSH.")
@shared_options.shared_options
def package(
    *,
    month: str,
    out: str | None,
    signers: str | None,
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Pack a sealed month into a zip file for an auditor.

    Packs the newest sealed version of MONTH, or the sealed folder DIR, with verify.py,
    which checks it with Python alone, EVIDENCE.txt, README.txt and SHA256SUMS. Prints the
    seal: give it to the auditor by another way than the file. Refuses a folder of which a
    file is altered or not proven; one with a form of another release must be signed by
    the key of SVC_SIGNING_KEY, or by one of those in --signers. Exits 3 where not all
    could be proven.
    """
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        done = evidence.pack_folder(folder, out, signers=signers)
    else:
        done = evidence.package(
            shared_options.open_lake(data_dir), month, **at, out=out, signers=signers
        )
    if as_json:
        names = {"out": str(done.file), "folder": str(done.folder)}
        facts = {"seal": done.seal, "sha256": done.sha256, "unproven": list(done.unproven)}
        click.echo(to_json(names | facts | {"not_compared": list(done.not_compared)}))
    else:
        click.echo(f"{done.folder} is packed into {done.file}")
        click.echo(f"seal: {done.seal}")
        click.echo("give the seal to the auditor by another way: in a zip file it proves nothing")
    for text in done.not_compared:
        echo_note(f"not compared; signed: {text}", "not_compared", reason=text)
    _tell_unproven(done.unproven)


@click.command()
@click.argument("month", metavar="[MONTH|DIR]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Every sealed month that nobody signed.")
@shared_options.zone_options
@click.option(
    "--key",
    metavar="FILE",
    help="The SSH key: a private one, or the public half of one in an agent or on a hardware key.  "
    "[default: SVC_SIGNING_KEY]",
)
@click.option(
    "--reason",
    metavar="TEXT",
    default="",
    help="Why to go on with a lake that does not continue what this machine remembers; it is kept.",
)
@shared_options.shared_options
def sign(
    *,
    month: str | None,
    is_all: bool,
    key: str | None,
    reason: str,
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Sign a sealed month with an SSH key.

    Proves the newest sealed version of MONTH, or the sealed folder DIR, against its lake, as
    statement-verify does; then signs it, as ssh-keygen -Y sign does, and writes
    checkpoint.sig beside its checkpoint; no sealed file changes. What the key had signed
    before stays as it is. With --all, each sealed month that nobody signed. Exits 3 where a
    month is not proven, or the lake does not continue the chain of seals that this machine
    remembers: that is not signed.
    """
    if is_all == (month is not None):
        raise ConfigError("give a month, such as 2026-10, a sealed folder, or --all")
    if month is None:
        done = signing.sign_all(shared_options.open_lake(data_dir), key=key, reason=reason)
    elif ((folder := statement_folder(month)) / MANIFEST).is_file():
        lake = seals.lake_around(folder.absolute()) or shared_options.open_lake(data_dir)
        done = _alone(signing.sign_folder(folder, key, lake, reason))
    else:
        lake = shared_options.open_lake(data_dir)
        done = _alone(signing.sign(lake, month, **at, key=key, reason=reason))
    if as_json:
        documents = [_signature_document(each) for each in done.signed]
        facts = {"signed": documents, "refused": list(done.refused), "notes": list(done.notes)}
        click.echo(to_json(facts if is_all else documents[0]))
    else:
        _echo_signed(done)
    for note in filter(None, [each.note for each in done.signed]):
        echo_note(note, "not_stamped", "warning", reason=note)
    for note in done.notes:
        echo_note(note, "signing", "warning", reason=note)
    _tell_unproven(done.refused)


def _alone(done: signing.Signature) -> signing.SignedMonths:
    return signing.SignedMonths((done,), (), done.notes)


def _echo_signed(done: signing.SignedMonths) -> None:
    if not (done.signed or done.refused):
        click.echo("every sealed month is signed")
    for each in done.signed:
        was = "is signed" if each.is_new else "was signed before"
        click.echo(f"{each.folder} {was} by key {each.key}: {each.file}")
        if each.is_stamped:
            click.echo("it is stamped by the authority of SVC_TSA_URL")


def _signature_document(done: signing.Signature) -> dict[str, object]:
    names = {"file": str(done.file), "folder": str(done.folder), "seal": done.seal}
    facts = {"key": done.key, "is_new": done.is_new, "is_stamped": done.is_stamped}
    return {**names, **facts, "note": done.note, "notes": list(done.notes)}


def _tell_unproven(unproven: Collection[str]) -> None:
    for text in unproven:
        echo_note(f"not proven: {text}", "not_proven", "warning", reason=text)
    exit_if_attention(unproven)


@click.command()
@click.argument("month", metavar="[MONTH|DIR]", required=False)
@click.argument("record_id", metavar="[RECORD_ID]", required=False)
@click.option("--line", type=click.IntRange(1), help="Which line, if the record has several.")
@shared_options.zone_options
@click.option(
    "--out", metavar="FILE", help="The file to write.  [default: 2026-10-line-7.json here]"
)
@click.option("--check", metavar="FILE", help="Check such a file instead, as verify.py does.")
@click.option(
    "--signers", metavar="FILE", help="With --check: whose keys you trust: allowed signers of SSH."
)
@shared_options.shared_options
def prove(
    *,
    month: str | None,
    record_id: str | None,
    line: int | None,
    out: str | None,
    check: str | None,
    signers: str | None,
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Prove one line of a sealed month to a stranger.

    Writes a small file with the line of RECORD_ID and the hashes that lead from it to the
    month's checkpoint; no other line can be read from it. MONTH is taken in its newest sealed
    version; DIR is a sealed folder, in the lake that sealed it or with --data-dir. The
    stranger checks the file with verify.py --proof FILE and Python alone, or with --check,
    which needs no lake: it ends with 1 where the proof does not hold, and with 3 where its
    signature was not checked.
    """
    if check is not None:
        if (month, line, out) != (None, None, None):
            raise ConfigError("--check FILE goes with --signers alone: it proves nothing anew")
        _check(check, signers, as_json=as_json)
        return
    if month is None or record_id is None:
        raise ConfigError("give a month and the id of a record, or --check FILE")
    if signers is not None:
        raise ConfigError("--signers goes with --check FILE")
    lake, folder = _sealed(month, at, data_dir)
    done = evidence.prove_in_folder(lake, folder, record_id, line, out)
    click.echo(to_json(_document(done)) if as_json else _text(done))


def _sealed(month: str, at: PeriodOptions, data_dir: str | None) -> tuple[Lake, Path]:
    """Return the lake and the sealed folder of a month, or of a folder."""
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        around = None if data_dir else seals.lake_around(folder.absolute())
        return around or Lake(read_data_dir(data_dir)), folder
    lake = shared_options.open_lake(data_dir)
    return lake, evidence.newest_sealed_folder(lake, month, at["zone"], at["calendar"])


def _check(file: str, signers: str | None, *, as_json: bool) -> None:
    result = check_proof(Path(file), Path(signers) if signers else None)
    if as_json:
        click.echo(to_json({"checks": [*map(asdict, result)]}))
    else:
        click.echo("\n".join(map(str, result)))
    if code := min((each.code for each in result if each.code), default=0):
        raise SystemExit(code)
    if any(each.status != HELD for each in result):
        text = "compare its checkpoint with one that you got by another way"
        echo_note(f"nobody signed it: {text}", "unsigned", "warning")


def _text(done: evidence.LineProof) -> str:
    is_signed = "signed" if done.is_signed else "not signed: nobody else can tell that it is yours"
    return "\n".join(
        (
            f"line {done.line_number} of {done.folder} is proven in {done.file}",
            f"its checkpoint is {is_signed}",
            f"to check it, run: python verify.py --proof {done.file.name}",
        )
    )


def _document(done: evidence.LineProof) -> dict[str, object]:
    return {
        "out": str(done.file),
        "folder": str(done.folder),
        "line_number": done.line_number,
        "line": done.line,
        "is_signed": done.is_signed,
    }


@click.command("statement-verify")
@click.argument("folder", metavar="DIR|ZIP")
@click.option("--signers", metavar="FILE", help="Whose keys you trust: allowed signers of SSH.")
@click.option("--authority", metavar="FILE", help="Whose stamps you trust: certificates (PEM).")
@click.option("--earlier", metavar="FILE", help="A chain.json that you kept.")
@shared_options.wide_option
@shared_options.shared_options
def statement_verify(
    *, folder: str, is_wide: bool, data_dir: str | None, as_json: bool, **trusted: str | None
) -> None:
    """Check a sealed statement against its seal and the lake.

    Renders the statement again and compares every file, every fact and the chain of
    earlier seals, and every figure with the lake; prints each difference, and what
    could not be proven. Then it says whether the statement is sealed, signed, stamped
    and proven, each held, FAILED, not checked, or not compared, such as a page that another
    release made. DIR may be a package (ZIP).
    """
    lake = None if data_dir is None else Lakehouse(data_dir)
    checked = verify.verify_statement(folder, lake, **trusted)
    document = _verification_document(checked)
    click.echo(to_json(document) if as_json else _verification_text(checked, is_wide))
    exit_if_attention(not checked.holds)


def _verification_text(checked: verify.SealVerification, is_wide: bool) -> str:
    notes = [f"  note: {single_line(text)}" for text in checked.notes]
    for each in checked.statuses:
        notes.append(f"  {each.outcome}  {each.name}: {single_line(each.text)}")
    if checked.holds:
        text = f"{checked.folder} holds: the files and the lake agree with seal {checked.seal}"
        return "\n".join([text, *notes])
    if (newest := _newest(checked)) != checked.folder:
        text = "is as it was sealed, and a later version replaced it: verify"
        lines = [f"{checked.folder} {text} {newest}"]
    elif checked.broken or (checked.seal and (checked.reasons or checked.table.num_rows)):
        lines = [f"{checked.folder} does not hold"]
    elif checked.seal is None:
        lines = [f"{checked.folder} was never sealed"]
    else:
        lines = [f"{checked.folder} agrees with seal {checked.seal}, but not all was proven"]
    lines += [f"  {single_line(text)}" for text in checked.broken]
    lines += [f"  not proven: {single_line(text)}" for text in checked.unproven]
    if checked.signed_by is None:
        lines += [f"  not compared: {single_line(text)}" for text in checked.not_compared]
    reasons = [single_line(reason.text) for reason in checked.reasons]
    lines += [f"  today it would not be final: {reason}" for reason in reasons]
    lines += notes
    if checked.table.num_rows:
        lines += ["  the lake now gives other figures or records:", ""]
        lines.append(differences_text(checked.table, checked.new_lines, is_wide))
    return "\n".join(lines)


def _newest(checked: verify.SealVerification) -> Path:
    """Return the folder of the newest version beside one that is as it was sealed."""
    is_as_sealed = any(each.name == "sealed" and each.outcome == HELD for each in checked.statuses)
    if checked.broken or not is_as_sealed or not checked.folder.is_dir():
        return checked.folder
    first = seals.first_folder(checked.folder, seals.read_manifest(checked.folder))
    return [checked.folder, *seals.versions(first)][-1]


def _verification_document(checked: verify.SealVerification) -> dict[str, Any]:
    return {
        "folder": str(checked.folder),
        "seal": checked.seal,
        "holds": checked.holds,
        "broken": list(checked.broken),
        "unproven": list(checked.unproven),
        "not_compared": list(checked.not_compared),
        "signed_by": checked.signed_by,
        "notes": list(checked.notes),
        "statuses": {each.name: each.to_json() for each in checked.statuses},
        "reasons": [reason.text for reason in checked.reasons],
        "restatement": checked.table.to_pylist(),
    }
