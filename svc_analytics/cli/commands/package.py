"""`package`: pack a sealed month for an auditor."""

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.handover.package import package as pack_month
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting.tables import to_json
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder


@click.command()
@click.argument("month", metavar="MONTH|DIR")
@options.zone_options
@click.option("--out", metavar="FILE.zip", help="The file to write.  [default: 2026-10.zip here]")
@options.shared_options
def package(
    month: str, at: PeriodOptions, out: str | None, data_dir: str | None, as_json: bool
) -> None:
    """Pack a sealed month into a zip file for an auditor.

    Packs the newest sealed version of MONTH, or the sealed folder DIR, with verify.py,
    which checks it with Python alone, EVIDENCE.txt, README.txt and SHA256SUMS. Prints the
    seal: give it to the auditor by another way than the file. Refuses a folder that was
    altered; exits 3 where not all of it could be proven.
    """
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        done = pack_folder(folder, out)
    else:
        done = pack_month(options.open_lake(data_dir), month, **at, out=out)
    if as_json:
        names = {"out": str(done.file), "folder": str(done.folder)}
        facts = {"seal": done.seal, "sha256": done.sha256, "unproven": list(done.unproven)}
        click.echo(to_json(names | facts))
    else:
        click.echo(f"{done.folder} is packed into {done.file}")
        click.echo(f"seal: {done.seal}")
        click.echo("give the seal to the auditor by another way: in a zip file it proves nothing")
    for text in done.unproven:
        echo_note(f"not proven: {text}", "not_proven", "warning", reason=text)
    if done.unproven:
        raise SystemExit(EXIT_ATTENTION)
