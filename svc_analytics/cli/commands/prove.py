"""`prove`: prove one line of a sealed month to a stranger."""

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.closing.handover.prove import LineProof, prove_in_folder
from svc_analytics.closing.handover.prove import prove as prove_month
from svc_analytics.closing.register import lake_around
from svc_analytics.config import read_data_dir
from svc_analytics.formatting.tables import to_json
from svc_analytics.lake.lake import Lake
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder


@click.command()
@click.argument("month", metavar="MONTH|DIR")
@click.argument("record_id")
@click.option("--line", type=click.IntRange(1), help="Which line, if the record has several.")
@options.zone_options
@click.option(
    "--out", metavar="FILE", help="The file to write.  [default: 2026-10-line-7.json here]"
)
@options.shared_options
def prove(
    month: str,
    record_id: str,
    line: int | None,
    at: PeriodOptions,
    out: str | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Prove one line of a sealed month to a stranger.

    Writes a small file with the line of RECORD_ID and the hashes that lead from it to the
    month's checkpoint; no other line can be read from it. MONTH is taken in its newest sealed
    version; DIR is a sealed folder, in the lake that sealed it or with --data-dir. The
    stranger checks it with verify.py --proof FILE and Python alone.
    """
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        around = None if data_dir else lake_around(folder.absolute())
        lake = around or Lake(read_data_dir(data_dir))
        done = prove_in_folder(lake, folder, record_id, line, out)
    else:
        lake = options.open_lake(data_dir)
        done = prove_month(lake, month, record_id, **at, line=line, out=out)
    click.echo(to_json(_document(done)) if as_json else _text(done))


def _text(done: LineProof) -> str:
    signed = "signed" if done.is_signed else "not signed: who made it, only its way to you says"
    return "\n".join(
        (
            f"line {done.line_number} of {done.folder} is proven in {done.file}",
            f"its checkpoint is {signed}",
            f"who checks it runs: python verify.py --proof {done.file.name}",
        )
    )


def _document(done: LineProof) -> dict[str, object]:
    return {
        "out": str(done.file),
        "folder": str(done.folder),
        "line_number": done.line_number,
        "line": done.line,
        "is_signed": done.is_signed,
    }
