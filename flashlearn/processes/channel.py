"""Whole messages over a socket, each received within a time limit."""

from __future__ import annotations

import socket
import time
from typing import Any

from flashlearn.processes.encoding import HEAD, body_size, decode, encode


class Channel:
    """Sends and receives values of flashlearn.processes.encoding over a connected socket."""

    def __init__(self, connection: socket.socket):
        self.connection = connection

    def send(self, value: Any) -> None:
        """Send one value. Raises OSError, and TypeError for a value that cannot be encoded."""
        self.connection.sendall(encode(value))

    def receive(self, until: float | None = None) -> Any:
        """The next value, before `until` on the monotonic clock.

        Raises EOFError if the peer is gone, TimeoutError, and Malformed.
        """
        head = self._exactly(HEAD.size, until)
        return decode(head + self._exactly(body_size(head), until))

    def _exactly(self, size: int, until: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            part = self.connection.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)
