"""The text of systemd's units that close a lake each day, and the line of a crontab."""

import re
import shlex

from svc_analytics.unattended.scheduled_job import ScheduledJob, credential

_PLAIN = re.compile(r"[A-Za-z0-9_./:@=,+-]+")
_SERVICE = """\
# The lake: {lake}
# Written by svc-analytics schedule install. For changes of your own: systemctl edit {name}.service
[Unit]
Description=Close the months that are due in {lake_text}
{after}RequiresMountsFor={mounts}

[Service]
Type=oneshot
{user}WorkingDirectory={folder}
{given}ExecStart={command}

# 75 means: later. 1, 2 and 3 wait for a person. Interrupted, it keeps all that was read.
Restart=on-failure
RestartSec=15min
RestartPreventExitStatus=1 2 3
TimeoutStartSec=6h
KillSignal=SIGINT

{sandbox}"""
_NETWORK = "Wants=network-online.target\nAfter=network-online.target\n"
_OWN_SANDBOX = """\
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
UMask=0027
"""
_SANDBOX = """\
ProtectSystem=strict
ProtectHome=read-only
{writable}{cache}PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
CapabilityBoundingSet=
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
"""
_CACHE = """\
CacheDirectory={name}
CacheDirectoryMode=0700
Environment=SVC_CACHE_DIR=%C/{name}
"""
_TIMER = """\
[Unit]
Description=Close the months that are due in {lake}, every day

[Timer]
OnCalendar=*-*-* {at}:00 UTC
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""


def service(job: ScheduledJob) -> str:
    """Return the unit of the close; that of a person's own manager has no mounts of its own."""
    is_own = not job.user
    return _SERVICE.format(
        lake=job.lake,
        lake_text=_raw(job.lake),
        name=job.name,
        after="" if is_own else _NETWORK,
        mounts=_words([str(job.folder), *job.writable]),
        user="" if is_own else f"User={job.user}\n",
        folder=_raw(str(job.folder)),
        given=_given(job),
        command=_words(job.words).replace("$", "$$"),
        sandbox=_OWN_SANDBOX if is_own else _OWN_SANDBOX + _mounts(job),
    )


def timer(job: ScheduledJob) -> str:
    """Return the unit of the timer."""
    return _TIMER.format(lake=_raw(job.lake), at=job.at)


def cron_line(job: ScheduledJob) -> str:
    """Return the line of a crontab, in which a percent sign would end the command."""
    hour, minute = job.at.split(":")
    start = f"cd {shlex.quote(str(job.folder))} && {shlex.join(job.words)}"
    return f"{int(minute)} {int(hour)} * * *  {start}".replace("%", r"\%")


def _given(job: ScheduledJob) -> str:
    """Return the lines by which settings reach the close."""
    given = job.given
    lines = [f"Environment={_words([f'{name}={text}'])}" for name, text in given.variables.items()]
    for setting, path in given.credentials.items():
        lines.append(f"LoadCredential={credential(setting)}:{_raw(str(path))}")
        lines.append(f"Environment={setting}_FILE=%d/{credential(setting)}")
    if given.store:
        lines.append(f"EnvironmentFile={_raw(str(given.store))}")
    return "".join(f"{line}\n" for line in lines)


def _mounts(job: ScheduledJob) -> str:
    writable = f"ReadWritePaths={_words(job.writable)}\n" if job.writable else ""
    cache = "" if job.has_cache else _CACHE.format(name=job.name)
    return _SANDBOX.format(writable=writable, cache=cache)


def _words(words: list[str] | tuple[str, ...]) -> str:
    return " ".join(map(_word, words))


def _word(text: str) -> str:
    """Return a word as systemd reads it back.

    >>> print(_word("/srv/100% net"))
    "/srv/100%% net"
    """
    escaped = _raw(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'


def _raw(text: str) -> str:
    """Return a text for a line that is one value, in which only `%` means something."""
    return text.replace("%", "%%")
