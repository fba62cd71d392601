"""What happens on a served sandbox without being asked: sessions expire, events go out."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from svc_analytics.sandbox.resources.service import Service

_PAUSE = 0.2  # seconds of this machine


@contextmanager
def pumping(service: Service) -> Iterator[None]:
    """Keep expiring and delivering on a thread of its own until the block ends."""
    stop = Event()
    thread = Thread(target=_run, args=(service, stop), name="sandbox pump", daemon=True)
    try:
        thread.start()  # in here: an interruption must not leave it running
        yield
    finally:
        stop.set()
        if thread.ident is not None:
            thread.join()


def _run(service: Service, stop: Event) -> None:
    while not stop.wait(_PAUSE):
        try:
            service.sessions.expire()
            service.deliveries.deliver_due(stop.is_set)
        except Exception:
            logging.getLogger(__name__).exception("the sandbox could not deliver")
