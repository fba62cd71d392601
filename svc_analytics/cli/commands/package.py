"""`package`, `sign`: hand a sealed month over to an auditor, signed."""

from collections.abc import Collection

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.handover.package import package as pack_month
from svc_analytics.closing.handover.sign import sign as sign_month
from svc_analytics.closing.handover.sign import sign_folder
from svc_analytics.errors import EXIT_ATTENTION
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
    month: str,
    at: PeriodOptions,
    out: str | None,
    signers: str | None,
    data_dir: str | None,
    as_json: bool,
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
@click.argument("month", metavar="MONTH|DIR")
@options.zone_options
@click.option(
    "--key",
    metavar="FILE",
    help="The SSH key: a private one, or the public half of one in an agent or on a hardware key.  "
    "[default: SVC_SIGNING_KEY]",
)
@options.shared_options
def sign(
    month: str, at: PeriodOptions, key: str | None, data_dir: str | None, as_json: bool
) -> None:
    """Sign a sealed month with an SSH key.

    Signs the newest sealed version of MONTH, or the sealed folder DIR, as ssh-keygen -Y sign
    does, and writes checkpoint.sig beside its checkpoint; no sealed file changes. What the
    key had signed before stays as it is. Refuses a folder that was altered; exits 3 where
    not all of it could be proven.
    """
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        done = sign_folder(folder, key)
    else:
        done = sign_month(options.open_lake(data_dir), month, **at, key=key)
    if as_json:
        names = {"file": str(done.file), "folder": str(done.folder), "seal": done.seal}
        facts = {"key": done.key, "is_new": done.is_new, "is_stamped": done.is_stamped}
        facts |= {"unproven": list(done.unproven), "note": done.note}
        click.echo(to_json(names | facts))
    else:
        was = "is signed" if done.is_new else "was signed before"
        click.echo(f"{done.folder} {was} by key {done.key}: {done.file}")
        if done.is_stamped:
            click.echo("it is stamped by the authority of SVC_TSA_URL")
    if done.note:
        echo_note(done.note, "not_stamped", "warning", reason=done.note)
    _tell_unproven(done.unproven)


def _tell_unproven(unproven: Collection[str]) -> None:
    for text in unproven:
        echo_note(f"not proven: {text}", "not_proven", "warning", reason=text)
    if unproven:
        raise SystemExit(EXIT_ATTENTION)
