"""Webhook deliveries: signed, at least once, with backoff over a day of the sandbox's clock.

Deliveries never leave this machine: they go to the receiver of the setting
`deliver_to`, whatever URL the merchant has registered, or else to that URL if it is on
this machine; without either, each attempt fails and says so. Not shown by the contract:
we chose the schedule below, 5 seconds an attempt, and that a redirect is a failure.
"""

import http.client
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from threading import Lock, Timer
from typing import Any
from urllib.parse import urlsplit

from svc_analytics.periods import DAY, HOUR, MINUTE, SECOND
from svc_analytics.sandbox.core.validation import loopback_url
from svc_analytics.sandbox.state.platform import World
from svc_analytics.sandbox.state.records import instant_text
from svc_analytics.tokens import sign_webhook

# The pauses behind each failed attempt; behind the last, the event is abandoned.
BACKOFF = (
    *(10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR),
)
ATTEMPT_SECONDS = 5
_AT_ONCE = 100
# One statement for all: asked event by event, a year of them takes minutes.
_LOG = """
    select id, type, state, newest.at, next_at, attempts.at, outcome
    from (select rowid as place, * from events order by rowid desc limit ?) as newest
    left join attempts on event_id = id
    order by place desc, attempts.rowid
"""

Post = Callable[[str, bytes, dict[str, str]], str]  # url, body, headers; "" when answered 2xx


class Deliveries:
    """Sends queued events; nobody who emits one waits for it."""

    def __init__(self, world: World, post: Post | None = None) -> None:
        self._world = world
        self._post = post or post_to_this_machine
        self._lock = Lock()

    def deliver_due(self, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Attempt every event that is due now, oldest first; return how many that were.

        Asks `is_stopped` before each: a receiver that hangs makes every one last.
        """
        with self._lock:
            due = self._world.store.fetch(
                "select id, body, at, attempts from events where state = 'pending'"
                " and next_at <= ? order by rowid limit ?",
                (self._world.now(), _AT_ONCE),
            )
            done = 0
            for event in due:
                if is_stopped():
                    break
                self._attempt(*event)
                done += 1
            return done

    def log(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return every event with its attempts, newest first, or the newest of them."""
        rows = self._world.store.fetch(_LOG, (-1 if most is None else most,))
        return [
            {
                "event_id": id_,
                "type": type_,
                "state": state,
                "created_at": instant_text(at),
                "next_attempt_at": instant_text(next_at) if state == "pending" else None,
                "attempts": [
                    {"at": instant_text(row[-2]), "outcome": row[-1]}
                    for row in tried
                    if row[-1] is not None
                ],
            }
            for (id_, type_, state, at, next_at), tried in groupby(rows, lambda row: row[:5])
        ]

    def count(self) -> int:
        """Return how many events there are."""
        [(count,)] = self._world.store.fetch("select count(*) from events")
        return int(count)

    def _attempt(self, event_id: str, body: str, emitted_at: int, attempts: int) -> None:
        now, raw = self._world.now(), body.encode()
        secrets = self._world.rings.webhook_secrets(now)
        signature = sign_webhook(raw, secrets, now // SECOND)
        headers = {"content-type": "application/json", "x-pay-signature": signature}
        failure = self._send(raw, headers)
        state = "pending" if failure else "delivered"
        is_last = attempts >= len(BACKOFF) or now - emitted_at >= DAY
        if failure and is_last:
            state = "abandoned"
        next_at = now + (0 if is_last else BACKOFF[attempts])
        with self._world.store.transaction():
            self._world.store.fetch(
                "update events set state = ?, attempts = attempts + 1, next_at = ? where id = ?",
                (state, next_at, event_id),
            )
            outcome = failure or "delivered"
            values = (event_id, now, outcome)
            self._world.store.fetch("insert into attempts values (?, ?, ?)", values)

    def _send(self, body: bytes, headers: dict[str, str]) -> str:
        settings = self._world.settings
        url = settings["deliver_to"] or settings["webhook_url"]
        if not loopback_url(url):
            return "not sent: no receiver on this machine is set"
        return self._post(url, body, headers)


def post_to_this_machine(url: str, body: bytes, headers: dict[str, str]) -> str:
    """Post to a loopback receiver; return why it failed, or nothing."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port or 80, timeout=ATTEMPT_SECONDS
    )
    # The timeout above is one of each read: a drop now and then would get round it.
    limit, started = Timer(ATTEMPT_SECONDS, _hang_up, (connection,)), time.monotonic()
    try:
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        limit.start()
        connection.request("POST", path, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        is_late = time.monotonic() - started >= ATTEMPT_SECONDS
        return f"no answer: {'TimeoutError' if is_late else type(error).__name__}"
    finally:
        limit.cancel()
        connection.close()
    return "" if 200 <= status < 300 else f"answered {status}"


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """End a conversation from another thread: what waits for a byte gets none."""
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
