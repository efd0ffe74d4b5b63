"""The process that makes confined children by forking, with torch in memory: `python -m … SOCKET PLAN`.

It has imported what runs a kernel, and nothing that knows an answer. Its walls are those that many children
can share; each child puts up the others before it hears of a submission.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys

from flashlearn.classroom.sandbox import layers, namespaces
from flashlearn.classroom.sandbox.confinement import Limits, Plan, confine


def main(control: socket.socket, plan: Plan) -> None:
    """Fork a child for each socket that comes; end, and every child with it, when nobody asks any more."""
    folder = _walls(plan)
    from flashlearn.classroom.sandbox import inside  # makes threads, which no wall may meet

    inside.warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.sendall(b"ready")
    for number in range(1 << 30):
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        own = _own_folder(folder, number)
        child = os.fork()
        if child == 0:
            _be_a_child(plan, own, handles[0])
        os.close(handles[0])
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(child)
            socket.send_fds(control, [b"c"], [handle])
            os.close(handle)


def _be_a_child(plan: Plan, own: str, handle: int) -> None:
    """Serve one submission behind all walls."""
    from flashlearn.classroom.sandbox import inside

    code = 1
    try:
        confine(Plan(plan.walls, plan.readable, own, plan.limits), handle)
        inside.serve(socket.socket(fileno=handle))
        code = 0
    finally:
        os._exit(code)


def _walls(plan: Plan) -> str:
    """Put up what children share; the folder that they may write in, "" where none can be bounded."""
    if not plan.walls or layers.BUBBLEWRAP in plan.walls:
        return plan.folder
    if layers.NAMESPACES not in plan.walls:
        return ""
    namespaces.leave()
    try:
        namespaces.scratch(plan.folder, plan.limits.scratch)
    except OSError:
        return ""
    return plan.folder


def _own_folder(folder: str, number: int) -> str:
    """A fresh folder for a child; what the one before left is gone."""
    if not folder:
        return ""
    for name in os.listdir(folder):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    own = os.path.join(folder, str(number))
    os.mkdir(own)
    return own


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    main(
        socket.socket(fileno=int(sys.argv[1])),
        Plan(tuple(given["walls"]), tuple(given["readable"]), given["folder"], Limits(**given["limits"])),
    )
