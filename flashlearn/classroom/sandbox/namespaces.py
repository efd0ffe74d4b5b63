"""Linux namespaces by system calls: no network, no shared IPC, and a scratch folder in memory.

The calls are for a process with one thread, before it imports anything that starts more.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable

_MOUNTS, _HOST_NAME, _MESSAGES, _USER, _NETWORK = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_BIND, _SLAVE, _RECURSIVE, _NO_PROGRAMS, _NO_DEVICES, _NO_SETUID = 1 << 12, 1 << 19, 1 << 14, 8, 4, 2
_DROP, _SET_DUMPABLE, _DEATH_SIGNAL, _KILL = 24, 4, 1, 9

_libc = ctypes.CDLL(None, use_errno=True)


def leave() -> None:
    """Leave the host's network, IPC, host name and mount namespaces. Raises OSError if that is refused."""
    user, group = os.getuid(), os.getgid()
    _called(_libc.unshare(_USER | _NETWORK | _MESSAGES | _HOST_NAME | _MOUNTS))
    with contextlib.suppress(OSError):
        _write("setgroups", "deny")
    _write("uid_map", f"{user} {user} 1")
    _write("gid_map", f"{group} {group} 1")


def scratch(folder: str, size: int, kept: Iterable[str] = ()) -> None:
    """Mount a tmpfs of `size` bytes over a folder, for this process. Raises OSError.

    Of the paths `kept`, those in the folder stay visible as they were.
    """
    _called(_libc.mount(None, b"/", None, _SLAVE | _RECURSIVE, None))
    flags = _NO_PROGRAMS | _NO_DEVICES | _NO_SETUID
    inside = [path for path in kept if path.startswith(folder.rstrip("/") + "/") and os.path.exists(path)]
    held = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in inside}
    _called(_libc.mount(b"tmpfs", folder.encode(), b"tmpfs", flags, f"size={size},nr_inodes=4096".encode()))
    for path, handle in held.items():
        _again(path, handle)
        os.close(handle)


def _again(path: str, handle: int) -> None:
    """Mount what the descriptor is open on at this path, with the rights that it had."""
    there = f"/proc/self/fd/{handle}"
    if os.path.isdir(there):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT, 0o600))
    _called(_libc.mount(there.encode(), path.encode(), None, _BIND | _RECURSIVE, None))


def without_privileges() -> None:
    """Drop every capability for good, also as root."""
    for number in range(64):
        _libc.prctl(_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _called(_libc.capset(header, nothing))


def dies_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _called(_libc.prctl(_DEATH_SIGNAL, _KILL, 0, 0, 0))


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def _called(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
