"""For the doctor: whether those who are to be told can be reached, and metrics be written."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from svc_analytics.errors import SvcError, install
from svc_analytics.unattended.looks.point import Point
from svc_analytics.unattended.notifiers import Notifier
from svc_analytics.unattended.settings import Watching

_TELLS = "it tells of runs: see the page Schedule the close, Be notified"


def notices(watching: Watching) -> Iterator[Point]:
    """Yield whether each receiver can be told; a mail server is asked, and gets no mail."""
    for one in watching.receivers:
        yield _receiver(one, watching)
    if not watching.notifiers:
        mend = "give SVC_NOTIFY, such as smtps://mail.example?from=…&to=…"
        yield Point("notices", "note", "nobody is told what became of a run", mend)


def _receiver(one: Notifier, watching: Watching) -> Point:
    if one.scheme == "exec":
        if Path(one.command).is_file() and os.access(one.command, os.X_OK):
            return Point("notices", "well", f"{one.name} can be run")
        return Point("notices", "wrong", f"{one.name} cannot be run", "chmod +x, or correct it")
    try:
        if one.is_mail:
            from svc_analytics.unattended.mail import try_receiver

            try_receiver(one, watching)
            return Point("notices", "well", f"the mail server takes mail for {one.name}")
        return _called("notices", one.parts.geturl(), one.name, watching)
    except SvcError as error:
        text = f"{one.name} is not reached: {error}"
        return Point("notices", "wrong", text, "correct SVC_NOTIFY, or see to its server")


def ping(watching: Watching) -> Iterator[Point]:
    """Yield whether the address of pings can be reached; it is not called."""
    if not watching.ping_url:
        return
    name = Notifier("ping", watching.ping_url).parts.hostname or ""
    try:
        yield _called("ping", watching.ping_url, name, watching)
    except SvcError as error:
        text = f"{name} is not reached: {error}"
        yield Point("ping", "wrong", text, "correct SVC_PING_URL, or see to its server")


def _called(point: str, url: str, name: str, watching: Watching) -> Point:
    """Connect to the server of an address, which is not called: it would be a message."""
    from svc_analytics.unattended.web import connect

    if watching.proxy:
        text = f"{name} was not looked at: it is behind the proxy of SVC_PROXY"
        return Point(point, "note", text, f"look once whether it comes: {_TELLS}")
    connect(url, watching)
    return Point(point, "well", f"{name} is reached; what it takes shows the first message")


def metrics(watching: Watching) -> Iterator[Point]:
    """Yield whether the file of metrics can be written."""
    if not watching.metrics_file:
        return
    file = Path(watching.metrics_file).absolute()
    if importlib.util.find_spec("prometheus_client") is None:
        yield Point(
            "metrics", "wrong", "the library that writes them is missing", install("metrics")
        )
    elif not file.parent.is_dir():
        mend = f"make it, or correct SVC_METRICS_FILE: mkdir -p {file.parent}"
        yield Point("metrics", "wrong", f"there is no folder {file.parent}", mend)
    elif file.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        mend = "give it to who runs the close, or correct SVC_METRICS_FILE"
        yield Point("metrics", "wrong", f"{file} cannot be written", mend)
    elif file.suffix != ".prom":
        mend = "let SVC_METRICS_FILE end in .prom"
        yield Point("metrics", "note", f"node_exporter does not read {file.name}", mend)
    else:
        yield Point("metrics", "well", f"{file} can be written")
