"""One timed job at a time on each GPU: a lock file for each GPU, in a folder of this user.

>>> with locked_gpu(range(2)) as locked:
...     subprocess.Popen(command, pass_fds=[locked.handle])     # it holds the lock too, as long as it lives

The kernel releases a lock when the last process that holds it has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LockedGPU:
    """A GPU by its number, and the open file that holds its lock."""

    gpu: int
    handle: int


@contextlib.contextmanager
def locked_gpu(gpus: Sequence[int], where: Path | None = None) -> Iterator[LockedGPU]:
    """A GPU on which nothing else is timed: the first free one, or one that is waited for.

    Raises OSError if the folder cannot be used.
    """
    where = where or Path(tempfile.gettempdir(), f"flashlearn-gpus-{os.getuid()}")
    where.mkdir(mode=0o700, exist_ok=True)
    if where.stat().st_uid != os.getuid():
        raise PermissionError(f"{where} is another user's")
    with contextlib.ExitStack() as stack:
        handles = {gpu: _open(where / f"gpu-{gpu}", stack) for gpu in gpus}
        gpu = next((one for one, handle in handles.items() if _lock(handle)), None)
        if gpu is None:
            gpu = gpus[os.getpid() % len(gpus)]
            fcntl.flock(handles[gpu], fcntl.LOCK_EX)
        yield LockedGPU(gpu, handles[gpu])


def _open(path: Path, stack: contextlib.ExitStack) -> int:
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    stack.callback(os.close, handle)
    return handle


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
