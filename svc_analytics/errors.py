"""Errors that this package raises on purpose, and their exit codes.

SvcError                   the base of them all                                exit 1
  ConfigError              a setting or an argument is missing or wrong        exit 2
  ApiError                 the service said no: .status, .codes, .path         exit 1
    KeyRefused             401, or no more the class it was                    exit 1
    WrongKeyClass          PAY_WRONG_KEY_KIND at a key's first use             exit 2
    NotFound               no such object under this account                   exit 1
    NoService              no service is there, or none to trust: see settings exit 1
    ProtocolError          an answer that breaks the contract's own rules      exit 1
      TooLarge             an answer too large to hold; ask for fewer records  exit 1
    Unavailable            429, 5xx, no network, after the patience was spent  exit 75
  DataError                a value that cannot be held exactly                 exit 1
  LakeError                a month file is torn, altered or not ours           exit 1
    NoLake                 the folder holds no lake yet; .path                 exit 1
    NotProven              what was to be signed is not proven: look at it     exit 3
    LakeBusy               another process is writing to the lake              exit 75
      LakeChanged          another machine was first; nothing was overwritten  exit 75
    StoreError             the store of a bucket refused what it was asked     exit 1
      StoreUnavailable     it did not answer                                   exit 75
  QueryError               a query that is not read-only, or that failed       exit 1
  EngineError              another engine could not answer a query             exit 1
    EngineRefused          it fails a line of the probe: its sums may be wrong exit 1
    EngineUnavailable      nothing answers at its address                      exit 75
  PeriodNotClosed          the month is still running                          exit 1

Exit codes are those of the command line; callers in Python branch on the class
and on the attributes, never on the message. Messages never hold a key or secret.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

EXIT_ATTENTION = 3  # done, but a person should look
EXIT_INTERRUPTED = 130  # by Ctrl-C, as shells have it


class SvcError(Exception):
    """Anything this package raises on purpose; `exit_code` is that of the command line.

    Examples:
        >>> ConfigError("a setting is wrong").exit_code, isinstance(ConfigError(""), SvcError)
        (2, True)
    """

    exit_code = 1


def class_name(error: BaseException) -> str:
    """Return the name of an error's class, or of its nearest public parent in this module."""
    public = (each for each in type(error).__mro__ if each.__module__ == __name__)
    return next(public, type(error)).__name__


def text_of(error: BaseException) -> str:
    """Return the text of an error: our message as it was made, or the system's words of a file.

    >>> text_of(OSError(28, "No space left on device", "data"))
    'No space left on device: data'
    """
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(str(part) for part in (error.strerror, error.filename) if part)
    text = error.args[0] if len(error.args) == 1 else None
    return text if isinstance(text, str) else str(error)


class ConfigError(SvcError):
    """A setting or an argument is missing, malformed or contradictory."""

    exit_code = 2


class ApiError(SvcError):
    """The service refused a request; `codes` are the contract's machine codes."""

    def __init__(
        self, message: str, *, status: int = 0, codes: tuple[str, ...] = (), path: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.codes = codes
        self.path = path


class KeyRefused(ApiError):
    """The service refused the key; of a 401 it does not say for which reason."""


class WrongKeyClass(ApiError):
    """The route needs the other key class."""

    exit_code = 2


class NotFound(ApiError):
    """No such object, or another business's: the service does not tell which."""


class NoService(ApiError):
    """The settings lead to no service that can be trusted, and waiting does not mend it."""


class ProtocolError(ApiError):
    """An answer that breaks the contract's rules, such as a page without a cursor."""


class TooLarge(ProtocolError):
    """An answer too large to hold in memory; asking for fewer records may help."""


class Unavailable(ApiError):
    """The service did not answer within the patience; try again later.

    `trouble` is what happened; where a wrong setting could be the cause, `advice` names it.
    """

    exit_code = 75
    trouble = advice = ""


class DataError(SvcError, ValueError):
    """A value that cannot be held exactly."""


class LakeError(SvcError):
    """A file of the lake is torn, altered, or not ours."""


class NoLake(LakeError):
    """The folder `path` holds no lake: nothing was read into it yet."""

    def __init__(self, path: Path, place: str = "") -> None:
        place = place or str(path)
        super().__init__(f"no lake in {place}: run svc-analytics extract, or svc-analytics demo")
        self.path = path


class NotProven(LakeError):
    """What was to be signed is not proven, or its lake is not the one that was signed before."""

    exit_code = EXIT_ATTENTION


class LakeBusy(LakeError):
    """Another process is writing to the lake; try again later."""

    exit_code = 75


class LakeChanged(LakeBusy):
    """Another machine changed the same object of the bucket first; nothing was overwritten."""


class StoreError(LakeError):
    """The store that a lake's bucket lies in refused what it was asked."""


class StoreUnavailable(StoreError):
    """The store did not answer; try again later."""

    exit_code = 75


class QueryError(SvcError):
    """A query that is not a single read-only SELECT, or that DuckDB could not run."""


class EngineError(SvcError):
    """Another engine could not answer a query."""


class EngineRefused(EngineError):
    """An engine fails a line of the probe: its figures cannot be trusted."""


class EngineUnavailable(EngineError):
    """No engine answers at its address; try again later."""

    exit_code = 75


class PeriodNotClosed(SvcError):
    """The month is still running, or ended so recently that records may still come."""


@contextmanager
def system_refusals(kind: type[SvcError], failed: str, advice: str = "") -> Iterator[None]:
    """Raise an error of ours where the system refuses a file: what failed, why, what to do."""
    try:
        yield
    except OSError as error:
        text = f"{failed}: {error.strerror or type(error).__name__}"
        raise kind(f"{text}; {advice}" if advice else text) from error


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Raise `ConfigError` if an import fails because an optional extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed: {install(name)}") from error


def install(extras: str) -> str:
    """Return the command that installs optional extras for the place where this package is."""
    return _install(extras, _origin())


def _install(extras: str, origin: Mapping[str, Any]) -> str:
    """Return it for an origin as PEP 610 describes it; none is an index, or a place that is gone.

    >>> git = {"url": "https://x.example/r", "vcs_info": {"vcs": "git", "commit_id": "0a"}}
    >>> for origin in ({}, git, {"url": "https://x.example/a.whl"}):
    ...     print(_install("pdf", origin))
    pip install "svc-analytics[pdf]"
    pip install "svc-analytics[pdf] @ git+https://x.example/r@0a"
    pip install "svc-analytics[pdf] @ https://x.example/a.whl"
    """
    url, vcs = origin.get("url", ""), origin.get("vcs_info")
    path = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    if path and path.exists() and not vcs:
        option = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f'pip install {option}"{"." if path == Path.cwd() else path}[{extras}]"'
    if vcs:
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    place = f" @ {url}" if url and path is None else ""
    return f'pip install "svc-analytics[{extras}]{place}"'


def _origin() -> dict[str, Any]:
    """Return where this package was installed from; nothing where it came from an index."""
    from importlib.metadata import PackageNotFoundError, distribution  # saves start-up time

    try:
        text = distribution("svc-analytics").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return dict(json.loads(text)) if text else {}
