"""The process that makes confined children by forking, with torch in memory: `python -m … SOCKET PLAN`.

It has imported what runs a kernel, and nothing that knows an answer. Its walls are those that many children
can share; each child puts up the others before it hears of a submission. Asked for a room, it forks itself:
a room makes children too, in namespaces and with a scratch folder that no other room has, and ends when
nobody asks it any more.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sys

from flashlearn.classroom.sandbox import layers, namespaces
from flashlearn.classroom.sandbox.confinement import Limits, Plan, confine

CHILD, ROOM, READY, REFUSED = b"c", b"r", b"ready", b"walls"
"""What the keeper is asked for, and what it and its rooms say first."""


def main(control: socket.socket, plan: Plan) -> None:
    """Fork what is asked for; end, and everything with it, when nobody asks any more."""
    folder = _walls(plan)
    from flashlearn.classroom.sandbox import child  # makes threads, which no wall may meet

    child.warm()
    gc.freeze()  # what all share is looked through by nobody, and stays shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.sendall(READY)
    _serve(control, plan, folder)


def _serve(control: socket.socket, plan: Plan, folder: str) -> None:
    """Fork a child, or a room, for each socket that comes."""
    for number in range(1 << 30):
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if message == ROOM:
            if os.fork() == 0:
                control.close()
                _be_a_room(plan, folder, handles[0], number)
            os.close(handles[0])
            continue
        own = _own_folder(folder, number)
        child = os.fork()
        if child == 0:
            _be_a_child(plan, own, handles[0])
        os.close(handles[0])
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(child)
            socket.send_fds(control, [CHILD], [handle])
            os.close(handle)


def _be_a_room(plan: Plan, folder: str, handle: int, number: int) -> None:
    """Make children apart from those of all other rooms; say so where that cannot be."""
    code = 1
    try:
        own = socket.socket(fileno=handle)
        try:
            folder = _apart(plan, folder, number)
        except OSError:
            own.sendall(REFUSED)
            return
        namespaces.dies_with_parent()
        own.sendall(READY)
        _serve(own, plan, folder)
        code = 0
    finally:
        os._exit(code)


def _apart(plan: Plan, folder: str, number: int) -> str:
    """A scratch folder that only this process sees. Raises OSError where there can be none."""
    if folder and plan.walls:
        namespaces.leave()
        namespaces.scratch(folder, plan.limits.scratch, layers.uppermost(list(plan.readable)))
    elif folder:
        folder = os.path.join(folder, f"room-{number}")
        os.mkdir(folder)
    return folder


def _be_a_child(plan: Plan, own: str, handle: int) -> None:
    """Serve one submission behind all walls."""
    from flashlearn.classroom.sandbox import child

    code = 1
    try:
        confine(Plan(plan.walls, plan.readable, own, plan.limits), handle)
        child.serve(socket.socket(fileno=handle))
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
