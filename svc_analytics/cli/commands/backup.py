"""`backup` and `restore`: copies of the lake, and a lake made of one."""

import click

from svc_analytics.backups import backup as backups, restore as restoring
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import counted
from svc_analytics.warehouse.images import write_views


@click.command()
@click.argument("target", metavar="TARGET")
@click.option(
    "--verify",
    "verifies",
    is_flag=True,
    help="Make no backup: read all that are there back, and name what is missing or altered.",
)
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Keep the N newest backups, and remove the older ones.  [default: keep all]",
)
@click.option(
    "--let-go",
    metavar="PATH",
    multiple=True,
    help="Report this file or folder that the lake lost no longer; --keep then removes its "
    "copies. Repeatable.",
)
@shared_options.shared_options
def backup(
    *,
    target: str,
    verifies: bool,
    keep: int | None,
    let_go: tuple[str, ...],
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Back up the lake into a folder or a bucket.

    TARGET is a folder, better one of another disk, or a URL such as s3://backups/finance.
    Copies what is new or changed, and reads back what arrived. It may be made while extract
    runs, and be interrupted: what was there before stays whole, and the next one goes on.
    Exits 3 where a file of the lake is damaged, where the lake lost what nobody can make again,
    or with --verify where a file of a backup is not whole.
    """
    if verifies:
        if keep or let_go:
            other = "--keep" if keep else "--let-go"
            raise ConfigError(f"give --verify or {other}, not both: --verify changes nothing")
        _print_check(backups.verify_backup(target), as_json=as_json)
    else:
        lake = shared_options.open_lake(data_dir)
        _print_backup(backups.backup(lake, target, keep=keep, let_go=let_go), as_json=as_json)


def _print_backup(done: backups.Backup, *, as_json: bool) -> None:
    if as_json:
        click.echo(to_json(vars(done)))
    else:
        held = f"{counted(done.files, 'file')}, {counted(done.size, 'byte')}"
        click.echo(f"backup {done.name} in {done.target}: {held}")
        line = f"{len(done.copied):,} copied, of them {len(done.changed):,} changed"
        line += f"; {len(done.gone):,} gone from the lake since the last backup"
        names = [*backups.things_of(done.gone)]
        click.echo(line + (f": {', '.join(names[:3])}" + ", …" * (len(names) > 3) if names else ""))
    if done.is_first:
        echo_note(
            f"this is the first backup in {done.target}",
            "first_backup",
            target=done.target,
        )
    for path in done.damaged:
        line = f"{path} is torn or altered in the lake: an earlier backup may hold it whole"
        echo_note(line, "torn_file", "warning", path=path)
    for thing in backups.things_of({*done.lost} - {*done.damaged}):
        line = f"{thing} is lost: its last good copy is kept below {done.target}/older"
        on_purpose = f"svc-analytics backup {done.target} --let-go {thing}"
        fix = f"restore it, or, if you removed it on purpose: {on_purpose}"
        echo_note(f"{line}; {fix}", "lost_thing", "warning", path=thing)
    for path in done.unread:
        line = f"{done.target}/{path} is altered, and cannot be read: remove it"
        echo_note(f"{line}; until then --keep removes nothing", "unread_inventory", "warning")
    exit_if_attention(done.damaged or done.lost or done.unread)


def _print_check(result: backups.BackupCheck, *, as_json: bool) -> None:
    if as_json:
        problems = [
            {"backup": name, "path": path, "problem": problem}
            for name, path, problem in result.problems
        ]
        click.echo(to_json(vars(result) | {"problems": problems}))
    else:
        names = counted(len(result.backups), "backup")
        read = f"{counted(result.files, 'file')}, {counted(result.size, 'byte')}"
        what = f"{len(result.problems):,} not whole" if result.problems else "all are whole"
        click.echo(f"{names} in {result.target}, {read} read back: {what}")
        for name, path, problem in result.problems:
            click.echo(f"{name}: {path} is {problem}")
    if "altered" in {problem for *_, problem in result.problems}:
        line = f"remove what is altered below {result.target}, and run svc-analytics backup"
        echo_note(f"{line}: it copies again what the lake still has", "altered_copies")
    exit_if_attention(result.problems)


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--at", metavar="BACKUP", help="The name of an older backup.  [default: the newest]")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="List what would be written.")
@shared_options.shared_options
def restore(
    *, target: str, at: str | None, is_dry_run: bool, data_dir: str | None, as_json: bool
) -> None:
    """Restore a backup into an empty lake folder.

    Writes the files of the newest backup in TARGET, or of the one that --at names, and
    compares each with its digest. The restored lake gives the same statements. A restore that is
    interrupted leaves no lake: run it again, and it goes on.
    """
    place = read_data_dir(data_dir)
    done = restoring.restore(target, place, at=at, dry_run=is_dry_run)
    if not is_dry_run:
        write_views(shared_options.open_lake(data_dir))
    if as_json:
        files = [{"path": path, "size": size} for path, size in done.files.items()]
        click.echo(to_json(vars(done) | {"folder": str(done.folder), "files": files}))
        return
    for path, size in done.files.items() if is_dry_run else ():
        click.echo(f"{size:>15,}  {path}")
    verb = "would write" if is_dry_run else "restored"
    held = f"{counted(len(done.files), 'file')}, {counted(sum(done.files.values()), 'byte')}"
    click.echo(f"{verb} backup {done.backup} into {done.folder}: {held}")
