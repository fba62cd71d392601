"""`package`, `sign`: hand a sealed month over to an auditor, signed."""

from collections.abc import Collection
from typing import Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.handover.package import package as pack_month
from svc_analytics.closing.handover.sign import Signature, SignedMonths, sign_all, sign_folder
from svc_analytics.closing.handover.sign import sign as sign_month
from svc_analytics.closing.seals import lake_around
from svc_analytics.errors import EXIT_ATTENTION, ConfigError
from svc_analytics.formatting.tables import to_json
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder


@click.command()
@click.argument("month", metavar="MONTH|DIR")
@options.zone_options
@click.option("--out", metavar="FILE.zip", help="The file to write.  [default: 2026-10.zip here]")
@click.option("--signers", metavar="FILE", help="Whose keys you trust: allowed signers of SSH.")
@options.shared_options
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
        done = pack_folder(folder, out, signers=signers)
    else:
        done = pack_month(options.open_lake(data_dir), month, **at, out=out, signers=signers)
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
@options.zone_options
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
@options.shared_options
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
        done = sign_all(options.open_lake(data_dir), key=key, reason=reason)
    elif ((folder := statement_folder(month)) / MANIFEST).is_file():
        lake = lake_around(folder.absolute()) or options.open_lake(data_dir)
        done = _alone(sign_folder(folder, key, lake, reason))
    else:
        lake = options.open_lake(data_dir)
        done = _alone(sign_month(lake, month, **at, key=key, reason=reason))
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


def _alone(done: Signature) -> SignedMonths:
    return SignedMonths((done,), (), done.notes)


def _echo_signed(done: SignedMonths) -> None:
    if not (done.signed or done.refused):
        click.echo("every sealed month is signed")
    for each in done.signed:
        was = "is signed" if each.is_new else "was signed before"
        click.echo(f"{each.folder} {was} by key {each.key}: {each.file}")
        if each.is_stamped:
            click.echo("it is stamped by the authority of SVC_TSA_URL")


def _signature_document(done: Signature) -> dict[str, object]:
    names = {"file": str(done.file), "folder": str(done.folder), "seal": done.seal}
    facts = {"key": done.key, "is_new": done.is_new, "is_stamped": done.is_stamped}
    return {**names, **facts, "note": done.note, "notes": list(done.notes)}


def _tell_unproven(unproven: Collection[str]) -> None:
    for text in unproven:
        echo_note(f"not proven: {text}", "not_proven", "warning", reason=text)
    if unproven:
        raise SystemExit(EXIT_ATTENTION)
