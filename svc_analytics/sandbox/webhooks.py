"""Webhook delivery: signed, at least once, retried for a day.

They go to the setting `deliver_to`, or else to the merchant's webhook URL, and only if
that is on this machine; otherwise each attempt fails and says so.
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

from svc_analytics.instants import DAY, MINUTE, SECOND
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.platform import Platform
from svc_analytics.sandbox.validation import loopback_url, request_target
from svc_analytics.signing.webhooks import sign_webhook

# The pause after each failed attempt; after the last the event is abandoned.
BACKOFF = (10 * SECOND, *(MINUTE * n for n in (1, 5, 15, 30, 60, 120, 240, 480, 480)))
ATTEMPT_SECONDS = 5
_AT_ONCE = 100
# One query for all events: a query for each takes minutes for a year of them.
_LOG = """
    select id, type, state, newest.at, next_at, attempts.at, outcome
    from (select rowid as place, * from events order by rowid desc limit ?) as newest
    left join attempts on event_id = id
    order by place desc, attempts.rowid
"""

Post = Callable[[str, bytes, dict[str, str]], str]  # url, body, headers; "" when answered 2xx


class WebhookSender:
    """Send queued events; whoever emits an event does not wait for it."""

    def __init__(self, platform: Platform, post: Post | None = None) -> None:
        self._platform = platform
        self._post = post or post_to_this_machine
        self._lock = Lock()

    def deliver_due(self, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Try to deliver every event that is due, oldest first; return how many.

        Checks `is_stopped` before each: a receiver that hangs makes each attempt slow.
        """
        with self._lock:
            due = self._platform.store.fetch(
                "select id, body, at, attempts from events where state = 'pending'"
                " and next_at <= ? order by rowid limit ?",
                (self._platform.now(), _AT_ONCE),
            )
            done = 0
            for event in due:
                if is_stopped():
                    break
                self._attempt(*event)
                done += 1
            return done

    def log(self, most: int | None = None) -> list[dict[str, Any]]:
        """List events with their attempts, newest first, at most so many."""
        rows = self._platform.store.fetch(_LOG, (-1 if most is None else most,))
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
        """Count the events."""
        [(count,)] = self._platform.store.fetch("select count(*) from events")
        return int(count)

    def _attempt(self, event_id: str, body: str, emitted_at: int, attempts: int) -> None:
        now, raw = self._platform.now(), body.encode()
        secrets = self._platform.signing_secrets.webhook_secrets(now)
        signature = sign_webhook(raw, secrets, now // SECOND)
        headers = {"content-type": "application/json", "x-pay-signature": signature}
        failure = self._send(raw, headers)
        state = "pending" if failure else "delivered"
        is_last = attempts >= len(BACKOFF) or now - emitted_at >= DAY
        if failure and is_last:
            state = "abandoned"
        next_at = now + (0 if is_last else BACKOFF[attempts])
        with self._platform.store.transaction():
            self._platform.store.fetch(
                "update events set state = ?, attempts = attempts + 1, next_at = ? where id = ?",
                (state, next_at, event_id),
            )
            self._platform.store.insert("attempts", event_id, now, failure or "delivered")

    def _send(self, body: bytes, headers: dict[str, str]) -> str:
        settings = self._platform.settings
        url = settings["deliver_to"] or settings["webhook_url"]
        if not loopback_url(url):
            return "not sent: no receiver on this machine is set"
        try:
            return self._post(url, body, headers)
        except Exception as error:  # Delivery 1: anything but a 2xx is a failed attempt
            return f"no answer: {type(error).__name__}"


def post_to_this_machine(url: str, body: bytes, headers: dict[str, str]) -> str:
    """Post to a receiver on this machine; return the error, or an empty text."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port or 80, timeout=ATTEMPT_SECONDS
    )
    # That timeout is per read: a slow trickle of bytes would never reach it.
    limit, started = Timer(ATTEMPT_SECONDS, _hang_up, (connection,)), time.monotonic()
    try:
        limit.start()
        connection.request("POST", request_target(url), body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        is_late = time.monotonic() - started >= ATTEMPT_SECONDS
        return f"no answer: {'TimeoutError' if is_late else type(error).__name__}"
    finally:
        limit.cancel()
        connection.close()
    return "" if 200 <= status < 300 else f"answered {status}"


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """Close a connection from another thread, so that a waiting read ends."""
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
