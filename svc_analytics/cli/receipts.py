"""`svc-analytics receipts`: what tokens prove, of the lake or of files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click
import pyarrow as pa
from tqdm import tqdm

from svc_analytics.api.client import Client
from svc_analytics.cli.console import EXIT_ATTENTION, echo_note
from svc_analytics.cli.options import open_lake, patience_option, shared_options
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.row_files import check_form, write_rows
from svc_analytics.formatting.tables import to_json
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import month as read_month
from svc_analytics.receipts.bulk import VerifyOnline
from svc_analytics.receipts.duplicates import is_duplicate
from svc_analytics.receipts.online import OnlineVerifier
from svc_analytics.receipts.token_files import read_sources
from svc_analytics.receipts.verify_files import OUTPUT, open_payments, verify_batches
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import PROVEN, WEBHOOK_SIGNED
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

MANY = 300_000  # payments; below, starting processes costs more than it saves
# Of the lake: what is on file, for every payment or for those that nothing proves.
_ON_FILE = """
select
    'payments/' || month || '.parquet' as source,
    null::bigint as line_no,
    verdict,
    reason,
    payment_id,
    receipt_no,
    differences
from receipt_status
where ($month is null or month = $month)
    and ($every or not list_contains($proven, verdict))
order by month, payment_id
"""
_COUNTS = """
select verdict, count(*) as receipts
from receipt_status
where $month is null or month = $month
group by verdict
"""


@click.group()
def receipts() -> None:
    """Verify the signed receipts of payments."""


@receipts.command("verify")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--month", metavar="MONTH", help="Verify only this UTC month of the lake: 2026-10.")
@click.option(
    "--column", metavar="NAME", help="The column that holds the tokens.  [default: found]"
)
@click.option(
    "--online", is_flag=True, help="Ask the service about receipts that are unsure offline."
)
@click.option("--out", metavar="FILE", help="Write this .csv, .parquet or .json file.")
@click.option("--every", is_flag=True, help="List the lake's proven payments too.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes that verify the lake.  [default: one per core; 1 for a small lake]",
)
@patience_option
@shared_options
def verify(
    files: tuple[str, ...],
    month: str | None,
    column: str | None,
    online: bool,
    out: str | None,
    every: bool,
    workers: int | None,
    patience: int | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Verify the receipts of the lake, or the tokens in FILEs.

    FILEs are CSV, Parquet, NDJSON or text; - is stdin. Prints source, line_no, verdict,
    reason, payment_id, receipt_no and differences as CSV: of files, a row for each
    token; of the lake, the payments that are not proven. The lake keeps the verdicts,
    and a later run checks only new and changed payments. Works offline without
    --online. Exits 3 when a receipt is not proven.
    """
    if out:
        check_form(out)
    if files and (month or every):
        raise ConfigError("--month and --every are for the lake: give no files with them")
    settings = read_settings(data_dir, patience=patience)
    settings.require_receipt_secrets()
    with _opinion(settings, online) as confirm:
        if files:
            code = _verify_files(files, column, settings, confirm, out, as_json)
        else:
            code = _verify_lake(data_dir, month, every, workers, settings, confirm, out, as_json)
    raise SystemExit(code)


@contextmanager
def _opinion(settings: Settings, online: bool) -> Iterator[VerifyOnline | None]:
    if not online:
        yield None
        return
    settings.require_service()
    with Client(settings, workers=1) as client:
        yield OnlineVerifier(client, settings.receipt_secrets).verify


def _verify_files(
    files: tuple[str, ...],
    column: str | None,
    settings: Settings,
    confirm: VerifyOnline | None,
    out: str | None,
    as_json: bool,
) -> int:
    counts: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    with ExitStack() as stack:
        payments = stack.enter_context(open_payments(Lake(settings.data_dir)))
        bar = stack.enter_context(_bar())
        tables = verify_batches(read_sources(files, column), payments, settings, confirm)
        _write(_counted(tables, counts, remarks, bar), counts, out, as_json)
    return _conclude(counts, remarks)


def _verify_lake(
    data_dir: str | None,
    month: str | None,
    every: bool,
    workers: int | None,
    settings: Settings,
    confirm: VerifyOnline | None,
    out: str | None,
    as_json: bool,
) -> int:
    lake = open_lake(data_dir)
    label = read_month(month).label if month else None
    with _bar() as bar:
        run = verify_lake(
            lake,
            settings,
            [label] if label else None,
            workers=workers or _workers_for(lake),
            verify_online=confirm,
            on_rows=bar.update,
        )
    echo_note(
        f"{run.checked:,} receipts checked, {run.unchanged:,} unchanged since an earlier check"
    )
    with open_warehouse(lake, models_used_by(_ON_FILE, _COUNTS)) as warehouse:
        listed = warehouse.query(_ON_FILE, {"month": label, "every": every, "proven": PROVEN})
        found = warehouse.query(_COUNTS, {"month": label}).to_pylist()
    counts = Counter({row["verdict"]: row["receipts"] for row in found})
    _write([listed], counts, out, as_json)
    return _conclude(counts, _remarks_on(listed))


def _workers_for(lake: Lake) -> int:
    """Return how many processes are worth their start, which takes as long as many tokens."""
    rows = sum(footer.totals.rows for footer in lake.footers(PAYMENTS).values())
    has_affinity = hasattr(os, "sched_getaffinity")  # what this process may use, not all there is
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return cores if rows >= MANY else 1


def _bar() -> Any:
    return tqdm(desc="verifying", unit=" receipts", disable=None, leave=False)


def _counted(
    tables: Iterable[pa.Table], counts: Counter[str], remarks: Counter[str], bar: Any
) -> Iterator[pa.Table]:
    for table in tables:
        counts.update(table["verdict"].to_pylist())
        remarks.update(_remarks_on(table))
        bar.update(len(table))
        yield table


def _remarks_on(table: pa.Table) -> Counter[str]:
    """Count what a person should be told at the end, beyond the verdicts."""
    reasons = table["reason"].to_pylist()
    return Counter(
        repeated=sum(map(is_duplicate, reasons)),
        webhook_signed=sum(reason.startswith(WEBHOOK_SIGNED) for reason in reasons),
    )


def _write(
    tables: Iterable[pa.Table], counts: Counter[str], out: str | None, as_json: bool
) -> None:
    told = write_rows(tables, OUTPUT, "receipts", out, as_json)
    if as_json:
        document = {"verdicts": dict(sorted(counts.items())), "unproven": _unproven(counts)}
        click.echo(to_json(document | told))


def _unproven(counts: Counter[str]) -> int:
    from svc_analytics.signing.receipts import PROVEN

    return sum(n for name, n in counts.items() if name not in PROVEN)


def _conclude(counts: Counter[str], remarks: Counter[str]) -> int:
    """Sum up on stderr; return the exit code."""
    total, unproven = sum(counts.values()), _unproven(counts)
    listed = ", ".join(f"{name} {n:,}" for name, n in counts.most_common())
    echo_note(f"{total:,} receipts, {total - unproven:,} of them proven ({listed or 'none'})")
    if repeated := remarks["repeated"]:
        echo_note(
            f"{repeated:,} rows repeat the token or the payment of another row: see their reasons"
        )
    if misread := remarks["webhook_signed"]:
        echo_note(
            f"settings error: {misread:,} receipts are signed with a webhook secret; "
            "put the receipt secret into SVC_RECEIPT_SECRETS"
        )
    return EXIT_ATTENTION if unproven else 0
