"""The process that makes children by forking, with everything imported already: `python -m … SOCKET`."""

from __future__ import annotations

import os
import signal
import socket
import sys

import torch

from flashlearn.running.remote_child import named, serve


def main(control: socket.socket, warm: list[str]) -> None:
    """Fork a child for each socket that comes; end when nobody asks any more."""
    torch.set_num_threads(1)
    for path in warm:
        named(path)()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        number = os.fork()
        if number == 0:
            os.setsid()
            control.close()
            serve(socket.socket(fileno=handles[0]))
            os._exit(0)
        os.close(handles[0])
        control.sendall(str(number).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
