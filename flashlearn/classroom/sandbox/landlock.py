"""Landlock: from here on this process can open these paths and no others, also as root.

    >>> restrict(readable=["/usr/lib"], writable=["/tmp/mine"])

Three system calls, made through ctypes: a package for them would be one more thing to install on every
machine that grades, and would add nothing. Rights that a kernel does not know yet are left out.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1, 2, 4, 8
REMOVE_FOLDER, REMOVE_FILE, MAKE_FOLDER, MAKE_FILE, TRUNCATE = 16, 32, 128, 256, 1 << 14
READ = READ_FILE | READ_FOLDER
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
"""The rights that a rule for a single file may have; the others are for folders."""
WRITE = READ | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_FOLDER | MAKE_FILE | TRUNCATE
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NETWORK, _SCOPES = 0b11, 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Which Landlock this kernel has; 0 for none."""
    try:
        return max(0, _libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION)))
    except (AttributeError, OSError):
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str] = ()) -> None:
    """Hold this thread, and all that it starts, to these paths. Paths that are not there are passed over.

    Raises OSError where the kernel refuses.
    """
    known = version()
    if known < 1:
        raise OSError("this kernel has no Landlock")
    files = _ALL.get(known, (1 << 16) - 1)
    wanted = _Ruleset(files, _NETWORK if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    rules = _called(_libc.syscall(_CREATE, ctypes.byref(wanted), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for path in readable:
            _allow(rules, path, READ & files)
        for path in writable:
            _allow(rules, path, WRITE & files)
        _called(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _called(_libc.syscall(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0)))
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        there = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(there).st_mode):
            rights &= OF_FILES
        rule = _Rule(rights, there)
        _called(
            _libc.syscall(
                _ADD, ctypes.c_int(rules), ctypes.c_int(_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)
            )
        )
    finally:
        os.close(there)


def _called(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result
