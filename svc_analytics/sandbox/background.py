"""Background work of a served sandbox: expire sessions and deliver webhooks."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from svc_analytics.sandbox.resources.service import Service

_PAUSE = 0.2  # seconds of this machine


@contextmanager
def background_work(service: Service) -> Iterator[None]:
    """Expire sessions and deliver webhooks in a thread until the block ends."""
    stop = Event()
    thread = Thread(target=_run, args=(service, stop), name="sandbox background", daemon=True)
    try:
        thread.start()  # inside `try`: an interruption must not leave it running
        yield
    finally:
        stop.set()
        if thread.ident is not None:
            thread.join()


def _run(service: Service, stop: Event) -> None:
    while not stop.wait(_PAUSE):
        try:
            service.sessions.expire()
            service.webhooks.deliver_due(stop.is_set)
        except Exception:
            logging.getLogger(__name__).exception("the sandbox could not deliver")
