"""A channel to a process that is not trusted: a reply may take a limited amount of CPU time and sleep."""

from __future__ import annotations

import socket
import time
from typing import Any

from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import HEAD, Malformed, body_size, decode
from flashlearn.processes.pidfd import cpu_seconds, process_id
from flashlearn.processes.start import STARTING

POLL = 0.25
"""Seconds between two looks at the process."""
WALL = 15.0
"""How many times its limit of CPU time a call may take by the clock, plus a minute."""


class WatchedChannel(Channel):
    """Whole messages over a socket, while the CPU time of the process at its other end is watched."""

    def __init__(self, connection: socket.socket, pidfd: int, limits: Limits):
        super().__init__(connection)
        self.limits = limits
        self.number = process_id(pidfd)
        self.allowed = STARTING

    def receive(self, until: float | None = None) -> Any:
        """The next value. Raises EOFError, TimeoutError and Malformed; `until` is not used."""
        used_before, seen, asleep, started = cpu_seconds(self.number), None, 0.0, time.monotonic()
        parts, wanted, last = bytearray(), HEAD.size, time.monotonic()
        self.connection.settimeout(POLL)
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
            if now - last >= POLL:
                used = cpu_seconds(self.number)
                asleep = asleep + min(now - last, 2 * POLL) if used == seen else 0.0
                seen, last = used, now
                over = (
                    used - used_before > self.allowed + self.limits.grace
                    or asleep > self.limits.asleep + self.limits.grace
                )
                if over or now - started > WALL * self.allowed + STARTING:
                    raise TimeoutError
