"""A channel to a process that may do anything, and is ended when it takes too long."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any

from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.processes.encoding import HEAD, Malformed, body_size, decode
from flashlearn.running.remote_answer import STARTING, Channel

LOOK = 0.25
WALL = 15.0
"""So many times its seconds of a processor a call may take by the clock, and a minute."""


class Watched(Channel):
    """Whole messages over a socket, and an eye on the process at its other end."""

    def __init__(self, connection: socket.socket, handle: int, limits: Limits):
        super().__init__(connection)
        self.handle, self.limits = handle, limits
        self.number = _number(handle)
        self.allowed = STARTING

    def receive(self, until: float | None = None) -> Any:
        """The next value. Raises EOFError, TimeoutError, Malformed."""
        begun, seen, asleep, started = _processor(self.number), None, 0.0, time.monotonic()
        parts, wanted, last = bytearray(), HEAD.size, time.monotonic()
        self.connection.settimeout(LOOK)
        while True:
            try:
                part = self.connection.recv(min(wanted - len(parts), 1 << 20))
            except TimeoutError:
                part = None
            if part == b"":
                raise EOFError
            if part:
                parts += part
            if len(parts) == wanted:
                if wanted > HEAD.size:
                    return decode(bytes(parts))
                size = body_size(bytes(parts))
                if size > self.limits.message:
                    raise Malformed("its answer is too large")
                wanted += size
            now = time.monotonic()
            if now - last >= LOOK:
                used = _processor(self.number)
                asleep = asleep + min(now - last, 2 * LOOK) if used == seen else 0.0
                seen, last = used, now
                over = (
                    used - begun > self.allowed + self.limits.grace
                    or asleep > self.limits.asleep + self.limits.grace
                )
                if over or now - started > WALL * self.allowed + STARTING:
                    raise TimeoutError


def _number(handle: int) -> int:
    """The number that a process has here, by its handle."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
            if line.startswith("Pid:"):
                return int(line.split()[1])
    return -1


def _processor(number: int) -> float:
    """Seconds of a processor that a process has used; 0 where nobody knows."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
