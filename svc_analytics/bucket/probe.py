"""Whether a store keeps the conditions of a PUT: asked before the first write, by racing.

A lake in a bucket is right only because of two of the many that replace an object one wins.
Some stores say so and let several win under load, or look at no condition at all.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from svc_analytics.bucket.store import Conflict, LakeStore, Version
from svc_analytics.errors import ConfigError

RULES = "1"  # raised with what is asked: a store that was found sound is asked anew
FOLDER = ".probe"
RACERS = 16  # that put the same object at once, twice in each round
ROUNDS = 2


def probe(store: LakeStore, name: str) -> None:
    """Raise `ConfigError` with the store's `name` unless it keeps all conditions."""
    for _ in range(ROUNDS):
        key = f"{FOLDER}/{secrets.token_hex(8)}"
        try:
            if broken := _find_broken(store, key):
                message = f"{name}: this store cannot hold a lake: {broken}"
                raise ConfigError(f"{message}; choose one that keeps conditional writes")
        finally:
            with suppress(Exception):  # what is wrong with the store was told
                store.delete(key)


def _find_broken(store: LakeStore, key: str) -> str | None:
    """Find the first fault of a store; nothing where it has none."""
    first = _race(store, key, None)
    if isinstance(first, str):
        return first.format("a new object", "If-None-Match")
    if _is_put(store, key, b"another", None):
        return "it replaces an object that was to be new (If-None-Match is ignored)"
    second = _race(store, key, first)
    if isinstance(second, str):
        return second.format("one version", "If-Match")
    if _is_put(store, key, b"late", first):
        return "it replaces a version that is not the one named (If-Match is ignored)"
    if store.list().get(key, Version(None)).etag != second.etag:
        return "its listing does not show what was written last"
    return None


def _race(store: LakeStore, key: str, replaces: Version | None) -> Version | str:
    """Let many replace one object at once; return the winner's version, or what went wrong."""
    bodies = [secrets.token_bytes(16) for _ in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        attempts: list[Callable[[], Version | None]] = [
            partial(_put, store, key, body, replaces) for body in bodies
        ]
        results = [pool.submit(attempt) for attempt in attempts]
    won = [(r.result(), body) for r, body in zip(results, bodies, strict=True) if r.result()]
    if len(won) != 1:
        return f"{len(won)} of {RACERS} that put {{}} at once won, and not one ({{}})"
    version, body = won[0]
    held, of = store.get(key)
    if bytes(held) != body or version is None or of.etag != version.etag:
        return "it reports that it put {} and holds another ({})"
    return of


def _put(store: LakeStore, key: str, body: bytes, replaces: Version | None) -> Version | None:
    try:
        return store.put(key, body, replaces)
    except Conflict:
        return None


def _is_put(store: LakeStore, key: str, body: bytes, replaces: Version | None) -> bool:
    """Tell whether a PUT was reported as done that must not be, or was done in silence."""
    before = bytes(store.get(key)[0])
    return bool(_put(store, key, body, replaces)) or bytes(store.get(key)[0]) != before
