"""Notes on stderr, and the exit code for what a person should look at."""

import click

from svc_analytics.formatting.sanitize import single_line

EXIT_ATTENTION = 3  # done, but a person should look


def echo_note(text: str) -> None:
    """Print a note on stderr."""
    click.echo(f"svc-analytics: {single_line(text)}", err=True)
