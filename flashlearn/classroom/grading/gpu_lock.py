"""One timed job at a time on each GPU: a lock on a file for each, in a folder of this user's.

>>> with turn(range(2)) as taken:
...     subprocess.Popen(command, pass_fds=[taken.handle])      # it holds the lock, too, as long as it lives

The system lets go of a lock when the last process that holds it has ended, whatever ended it.
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
    """A GPU by its number, and the open file whose lock says that it is taken."""

    gpu: int
    handle: int


@contextlib.contextmanager
def turn(gpus: Sequence[int], where: Path | None = None) -> Iterator[LockedGPU]:
    """A GPU that nobody else times anything on: the first that is free, else one that is waited for.

    Raises OSError where the folder cannot be had.
    """
    where = where or Path(tempfile.gettempdir(), f"flashlearn-gpus-{os.getuid()}")
    where.mkdir(mode=0o700, exist_ok=True)
    if where.stat().st_uid != os.getuid():
        raise PermissionError(f"{where} is another user's")
    with contextlib.ExitStack() as stack:
        handles = {gpu: _opened(where / f"gpu-{gpu}", stack) for gpu in gpus}
        gpu = next((one for one, handle in handles.items() if _free(handle)), None)
        if gpu is None:
            gpu = gpus[os.getpid() % len(gpus)]
            fcntl.flock(handles[gpu], fcntl.LOCK_EX)
        yield LockedGPU(gpu, handles[gpu])


def _opened(path: Path, stack: contextlib.ExitStack) -> int:
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    stack.callback(os.close, handle)
    return handle


def _free(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
