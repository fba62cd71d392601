"""`prove`: prove one line of a sealed month to a stranger, and check such a proof."""

from dataclasses import asdict
from pathlib import Path
from typing import Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note
from svc_analytics.closing.handover.package import newest_sealed_folder
from svc_analytics.closing.handover.prove import LineProof, prove_in_folder
from svc_analytics.closing.seals import lake_around
from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_json
from svc_analytics.lake.lake import Lake
from svc_analytics.proofs.statuses import HELD, check_proof
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder


@click.command()
@click.argument("month", metavar="[MONTH|DIR]", required=False)
@click.argument("record_id", metavar="[RECORD_ID]", required=False)
@click.option("--line", type=click.IntRange(1), help="Which line, if the record has several.")
@options.zone_options
@click.option(
    "--out", metavar="FILE", help="The file to write.  [default: 2026-10-line-7.json here]"
)
@click.option("--check", metavar="FILE", help="Check such a file instead, as verify.py does.")
@click.option(
    "--signers", metavar="FILE", help="With --check: whose keys you trust: allowed signers of SSH."
)
@options.shared_options
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
    done = prove_in_folder(lake, folder, record_id, line, out)
    click.echo(to_json(_document(done)) if as_json else _text(done))


def _sealed(month: str, at: PeriodOptions, data_dir: str | None) -> tuple[Lake, Path]:
    """Return the lake and the sealed folder of a month, or of a folder."""
    folder = statement_folder(month)
    if (folder / MANIFEST).is_file():
        around = None if data_dir else lake_around(folder.absolute())
        return around or Lake(read_data_dir(data_dir)), folder
    lake = options.open_lake(data_dir)
    return lake, newest_sealed_folder(lake, month, at["zone"], at["calendar"])


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


def _text(done: LineProof) -> str:
    is_signed = "signed" if done.is_signed else "not signed: nobody else can tell that it is yours"
    return "\n".join(
        (
            f"line {done.line_number} of {done.folder} is proven in {done.file}",
            f"its checkpoint is {is_signed}",
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
