"""A process that forks a child for each request: it has imported what they need, so a child costs a fork.

The server's loop reads a request, forks, closes its copy of the child's socket, and may report the child:

    for kind, connection in requests(control):
        child = fork(lambda: serve(connection))     # flashlearn.processes.forked
        os.close(connection)
        report(control, child)

A client sends one end of a fresh socket pair, and keeps the other, over which it talks to the child:

    connection, pidfd = child(control)

A request is one byte, which can say what kind of child is wanted. A server ends when the last client has
closed its end of the control socket. Sockets of other children that a child inherits are its own to close.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator


def requests(control: socket.socket) -> Iterator[tuple[bytes, int]]:
    """Each request's byte and the file descriptor of the child's socket, until no client is left."""
    while True:
        kind, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not kind:
            return
        yield kind, descriptors[0]


def report(control: socket.socket, child: int) -> None:
    """Send the client a pidfd of a child. Raises ProcessLookupError if the child was reaped already."""
    pidfd = os.pidfd_open(child)
    socket.send_fds(control, [b"p"], [pidfd])
    os.close(pidfd)


def connect(control: socket.socket, kind: bytes = b"c") -> socket.socket:
    """Ask for a child, and return the socket to it. Raises OSError if the server is gone."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            socket.send_fds(control, [kind], [theirs.fileno()])
    except OSError:
        ours.close()
        raise
    return ours


def child(
    control: socket.socket, kind: bytes = b"c", seconds: float | None = None
) -> tuple[socket.socket, int]:
    """Ask for a child that the server reports: the socket to it, and its pidfd.

    Waits for `seconds`, or as long as the control socket's timeout says. Raises OSError if the server is
    gone, and TimeoutError, which is one.
    """
    connection = connect(control, kind)
    try:
        if seconds is not None:
            control.settimeout(seconds)
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            raise ConnectionError("it has ended")
    except OSError:
        connection.close()
        raise
    return connection, descriptors[0]


def says(connection: socket.socket, word: bytes, seconds: float) -> bool:
    """Whether a server's first word, within `seconds`, is this one."""
    connection.settimeout(seconds)
    try:
        return connection.recv(len(word)) == word
    except OSError:
        return False
