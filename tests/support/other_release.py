"""A release that knows one property of payments more than this one does, as a program of its own.

    python -m tests.support.other_release [newer] < COMMANDS

runs a JSON list of commands, by a release with the column `channel` or by this one, and prints the
exit code and the output of each.
"""

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO

from svc_analytics import schema

_LINE = "    receipt,  -- {receipt}\n"
assert "channel" not in schema.PAYMENTS.names, "it is known now: let the older release forget it"


def know_channel() -> None:
    """Do what *How to add a column* says, before anything else is loaded."""
    column = schema.Column("channel", meaning="where it was paid")
    payments = replace(schema.PAYMENTS, columns=(*schema.PAYMENTS.columns, column))
    schema.PAYMENTS = schema.STREAMS["payments"] = payments
    from svc_analytics.warehouse import models

    read, new = models._sql_files, f"    channel,  -- {{channel}}\n{_LINE}"
    models._sql_files = lambda layer: (sql.replace(_LINE, new) for sql in read(layer))


def main() -> None:
    if sys.argv[1:] == ["newer"]:
        know_channel()
    from svc_analytics.cli import app

    done = []
    for words in json.load(sys.stdin):
        sys.argv = ["svc-analytics", *words]
        with redirect_stdout(said := StringIO()), redirect_stderr(said):
            try:
                app.main()
            except SystemExit as end:
                done.append((end.code or 0, said.getvalue()))
    sys.stdout.write(json.dumps(done))


def run(*commands: list[str], newer: bool = False) -> list[tuple[int, str]]:
    """Run commands by this release or the newer one; return the code and the output of each."""
    words = [sys.executable, "-m", "tests.support.other_release", *(["newer"] * newer)]
    sent = json.dumps(commands)
    done = subprocess.run(words, input=sent, capture_output=True, text=True, check=True)
    return [(code, said) for code, said in json.loads(done.stdout)]


if __name__ == "__main__":
    main()
