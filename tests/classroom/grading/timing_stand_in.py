"""A process that times nothing, for tests: `python -m … WHAT FILE SOCKET PARENT`.

WHAT: honest | lies | silent | nonsense | refuses. It writes "+" into FILE when it begins, and "-" at its end.
"""

from __future__ import annotations

import socket
import sys

from flashlearn.processes.channel import Channel

MILLISECONDS = 5.0


def main(what: str, log: str, connection: socket.socket) -> None:
    channel = Channel(connection)
    channel.receive()
    _note(log, "+")
    match what:
        case "silent":
            channel.receive()
        case "nonsense":
            channel.send(("timed", "a GPU", float("nan"), "no number"))
        case "refuses":
            channel.send(("not timed", "it does not pass"))
        case _:
            said = MILLISECONDS if what == "honest" else MILLISECONDS / 50
            channel.send(("timed", "a GPU", said, 4.0))
            for last in (False, True):
                _, count = channel.receive()
                if last:
                    _note(log, "-")
                channel.send(("called", count))


def _note(log: str, mark: str) -> None:
    with open(log, "a") as file:
        file.write(mark)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], socket.socket(fileno=int(sys.argv[3])))
