"""`doctor`: what must be right for runs that nobody looks at."""

from dataclasses import asdict
from functools import partial

import click

from svc_analytics.cli.options import shared_options
from svc_analytics.config import read_settings
from svc_analytics.environment import here
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import single_line
from svc_analytics.unattended.doctor import Doctor
from svc_analytics.unattended.looks.point import Point
from svc_analytics.unattended.settings import read_watching


@click.command()
@shared_options
def doctor(data_dir: str | None, as_json: bool) -> None:
    """Look at all that runs without a person need, and say what to do.

    Looks at settings, memory, keys, the service, its certificate, the clock, secrets, what signs
    and stamps, mail servers and other receivers of notices, metrics, the timer, permissions, free
    space, the files of records, the age of the data, due months and sealed ones; whether close
    --all-due begins; and says what it did not look at. It sends no notice, alters nothing, and
    exits 3 where something is wrong.
    """
    points = []
    for point in Doctor(here(), partial(read_settings, data_dir), read_watching).points():
        points.append(point)
        if not as_json:
            click.echo(_line(point))
    is_well = not any(point.state == "wrong" for point in points)
    if as_json:
        click.echo(to_json({"is_well": is_well, "points": list(map(asdict, points))}))
    if not is_well:
        raise SystemExit(EXIT_ATTENTION)


def _line(point: Point) -> str:
    step = f"; next: {point.next_step}" if point.next_step else ""
    return single_line(f"{point.state} {point.name}: {point.text}{step}")
