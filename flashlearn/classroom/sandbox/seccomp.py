"""Seccomp: system calls that an answer to an exercise does not need fail from here on.

    >>> refuse()                        # no processes, no programs, no sockets, no signals to others

The filter is small and written by hand: libseccomp would be one more thing to install, and all that is needed
of it is a list of numbers. Threads may be started, processes may not, so nothing outlives its process or
multiplies, and killing the group ends everything.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

_SET_SECCOMP, _FILTER, _NO_NEW_PRIVILEGES = 22, 2, 38
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE, _FIRST, _THIRD = 0, 4, 16, 32
"""Offsets of a call's number, its architecture, and the low halves of its arguments."""
_NEW_THREAD = 0x10000
_PARENT_DIES = 1

_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "process_mrelease": 448,
}  # fmt: skip
_PC = {
    "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "socket": 41, "connect": 42, "accept": 43,
    "accept4": 288, "bind": 49, "listen": 50, "setsid": 112, "setpgid": 109, "ptrace": 101,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "tkill": 200, "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250,
    "add_key": 248, "request_key": 249, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "reboot": 169, "swapon": 167, "swapoff": 168,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "acct": 163, "quotactl": 179,
    "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "syslog": 103,
    "personality": 135, "name_to_handle_at": 303, "open_by_handle_at": 304, "vhangup": 153,
    "fanotify_init": 300, "setuid": 105, "setgid": 106, "setreuid": 113, "setregid": 114, "setgroups": 116,
    "setresuid": 117, "setresgid": 119, "setfsuid": 122, "setfsgid": 123, "capset": 126, "mknod": 133,
    "mknodat": 259, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240, "setrlimit": 160,
}  # fmt: skip
_ARM = {
    "execve": 221, "execveat": 281, "socket": 198, "bind": 200, "listen": 201, "accept": 202,
    "connect": 203, "accept4": 242, "setsid": 157, "setpgid": 154, "ptrace": 117, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "bpf": 280,
    "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218,
    "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "reboot": 142, "swapon": 224, "swapoff": 225, "sethostname": 161,
    "setdomainname": 162, "acct": 89, "quotactl": 60, "settimeofday": 170, "clock_settime": 112,
    "adjtimex": 171, "clock_adjtime": 266, "syslog": 116, "personality": 92, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "vhangup": 58, "fanotify_init": 262, "setuid": 146, "setgid": 144,
    "setreuid": 145, "setregid": 143, "setresuid": 147, "setresgid": 149, "setgroups": 159, "setfsuid": 151,
    "setfsgid": 152, "capset": 91, "mknodat": 33, "shmget": 194, "msgget": 186, "semget": 190,
    "mq_open": 180, "setrlimit": 164,
}  # fmt: skip

MACHINES = {
    "x86_64": (
        0xC000003E, {**_EVERYWHERE, **_PC},
        {"clone": 56, "prctl": 157, "kill": 62, "tgkill": 234, "prlimit": 302},
    ),
    "aarch64": (
        0xC00000B7, {**_EVERYWHERE, **_ARM},
        {"clone": 220, "prctl": 167, "kill": 129, "tgkill": 131, "prlimit": 261},
    ),
}  # fmt: skip
"""By machine: its number in a filter, the calls refused, and the calls refused by their arguments."""
_CLONE3 = 435
_FOREIGN_NUMBERS = 0x40000000  # x86-64's x32 system calls


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse() -> None:
    """Have these calls fail for this thread and all that it starts. Raises OSError if that is impossible."""
    if platform.machine() not in MACHINES:
        raise OSError(f"the system calls of {platform.machine()} are not known here")
    code = b"".join(_filter(*MACHINES[platform.machine()], os.getpid()))
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(code) // 8, code)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        _SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp is refused here")


def _filter(machine: int, refused: dict[str, int], by_argument: dict[str, int], own: int) -> list[bytes]:
    lines = [_line(_LOAD, _MACHINE), *_unless(machine, _KILL), _line(_LOAD, _NUMBER)]
    lines += [_line(_AT_LEAST, _FOREIGN_NUMBERS, 0, 1), _line(_RETURN, _FAIL | errno.EPERM)]
    lines += _when(_CLONE3, [_line(_RETURN, _FAIL | errno.ENOSYS)])  # then libc asks for clone
    for number in sorted(set(refused.values())):
        lines += _when(number, [_line(_RETURN, _FAIL | errno.EPERM)])
    for name, argument, test in (
        ("clone", _FIRST, (_ANY_BIT, _NEW_THREAD, 0, 1)),
        ("prctl", _FIRST, (_EQUAL, _PARENT_DIES, 1, 0)),
        ("kill", _FIRST, (_EQUAL, own, 0, 1)),
        ("tgkill", _FIRST, (_EQUAL, own, 0, 1)),
    ):
        allowed = [_line(_RETURN, _ALLOW), _line(_RETURN, _FAIL | errno.EPERM)]
        lines += _when(by_argument[name], [_line(_LOAD, argument), _line(*test), *allowed])
    asks_only = [_line(_LOAD, _THIRD), _line(_EQUAL, 0, 0, 3), _line(_LOAD, _THIRD + 4)]
    asks_only += [_line(_EQUAL, 0, 0, 1), _line(_RETURN, _ALLOW), _line(_RETURN, _FAIL | errno.EPERM)]
    return [*lines, *_when(by_argument["prlimit"], asks_only), _line(_RETURN, _ALLOW)]


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _when(number: int, lines: list[bytes]) -> list[bytes]:
    """The lines for one call; each path through them returns."""
    return [_line(_EQUAL, number, 0, len(lines)), *lines]


def _unless(value: int, end: int) -> list[bytes]:
    return [_line(_EQUAL, value, 1, 0), _line(_RETURN, end)]
