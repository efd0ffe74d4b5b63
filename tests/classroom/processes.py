"""The processes of a run, as the system knows them."""

from __future__ import annotations

from pathlib import Path


def beneath(number: int) -> list[int]:
    """All that a process has started, and what these have."""
    found = _children(number)
    return found + [below for one in found for below in beneath(one)]


def workers(number: int) -> list[int]:
    """The workers of the run that a process is: forks of its worker server."""
    return forks(number, "flashlearn.classroom.workers.server", 1)


def forks(number: int, name: str, generation: int) -> list[int]:
    """Processes beneath `number` with `name` in their command, which is that of so many ancestors as well.

    A fork has the command of whom it was forked from: a server's generation is 0, its forks' is 1.
    """
    found = [(one, 0 if name in command(one) else -1) for one in _children(number)]
    chosen = []
    while found:
        one, depth = found.pop()
        chosen += [one] if depth == generation else []
        for below in _children(one):
            same = depth >= 0 and command(below) == command(one)
            found.append((below, depth + 1 if same else 0 if name in command(below) else -1))
    return chosen


def command(number: int) -> str:
    """The command line of a process, without spaces; of a fork that of whom it was forked from."""
    try:
        return Path(f"/proc/{number}/cmdline").read_text()
    except OSError:
        return ""


def alive(number: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _children(number: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []
