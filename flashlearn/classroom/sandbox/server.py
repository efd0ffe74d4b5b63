"""The fork server of sandboxed children, with torch in memory: `python -m … SOCKET PLAN`.

It has imported what runs a kernel, and nothing that knows an answer. It applies the layers that many children
can share; each child applies the others before it receives a submission. A request for a factory makes it
fork itself: a factory forks children too, in namespaces and with a scratch folder that no other factory has,
and ends when it has no client left.
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
from functools import partial

from flashlearn.classroom.sandbox import layers, namespaces
from flashlearn.classroom.sandbox.confinement import Limits, Plan, confine
from flashlearn.processes import fork_server
from flashlearn.processes.forked import fork

CHILD, FACTORY, READY, REFUSED = b"c", b"f", b"ready", b"layer"
"""What a client asks for, and what this process and its factories send first."""


def main(control: socket.socket, plan: Plan) -> None:
    """Fork children and factories on request; end, and all of them with it, when no client is left."""
    folder = _apply_shared_layers(plan)
    from flashlearn.classroom.sandbox import child  # starts threads, and layers are for a process with one

    child.warm()
    gc.freeze()  # keep the garbage collector off pages that children share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.sendall(READY)
    _serve(control, plan, folder)


def _serve(control: socket.socket, plan: Plan, folder: str) -> None:
    """Fork a child, or a factory, for each request."""
    children: dict[str, int] = {}
    for number, (kind, handle) in enumerate(fork_server.requests(control)):
        if kind == FACTORY:
            fork(partial(_run_factory, control, plan, folder, handle, number))
            os.close(handle)
            continue
        own = _fresh_folder(folder, number, children)
        child = children[str(number)] = fork(partial(_run_child, plan, own, handle))
        os.close(handle)
        with contextlib.suppress(ProcessLookupError):
            fork_server.report(control, child)


def _run_factory(control: socket.socket, plan: Plan, folder: str, handle: int, number: int) -> None:
    """Fork children that share nothing with those of other factories. Raises OSError, and reports it."""
    control.close()
    own = socket.socket(fileno=handle)
    try:
        folder = _separate_folder(plan, folder, number)
    except OSError:
        own.sendall(REFUSED)
        raise
    namespaces.dies_with_parent()
    own.sendall(READY)
    _serve(own, plan, folder)


def _separate_folder(plan: Plan, folder: str, number: int) -> str:
    """A scratch folder that only this process sees. Raises OSError if none can be made."""
    if folder and plan.layers:
        namespaces.leave()
        namespaces.scratch(folder, plan.limits.scratch, layers.uppermost(list(plan.readable)))
    elif folder:
        folder = os.path.join(folder, f"factory-{number}")
        os.mkdir(folder)
    return folder


def _run_child(plan: Plan, own: str, handle: int) -> None:
    """Serve one submission inside all layers."""
    from flashlearn.classroom.sandbox import child

    confine(Plan(plan.layers, plan.readable, own, plan.limits), handle)
    child.serve(socket.socket(fileno=handle))


def _apply_shared_layers(plan: Plan) -> str:
    """Apply the layers that children share; the folder that they may write in, "" if none has a limit."""
    if not plan.layers or layers.BUBBLEWRAP in plan.layers:
        return plan.folder
    if layers.NAMESPACES not in plan.layers:
        return ""
    namespaces.leave()
    try:
        namespaces.scratch(plan.folder, plan.limits.scratch)
    except OSError:
        return ""
    return plan.folder


def _fresh_folder(folder: str, number: int, children: dict[str, int]) -> str:
    """An empty folder for a child; what those before left is deleted, unless they are still running.

    A submission's child runs on while another one carries out its plans. `children` are their process ids by
    the names of their folders.
    """
    if not folder:
        return ""
    for name in os.listdir(folder):
        if not _runs(children.get(name)):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
            children.pop(name, None)
    own = os.path.join(folder, str(number))
    os.mkdir(own)
    return own


def _runs(child: int | None) -> bool:
    """Whether a child has not ended: those that have are reaped at once."""
    if child is None:
        return False
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    main(
        socket.socket(fileno=int(sys.argv[1])),
        Plan(tuple(given["layers"]), tuple(given["readable"]), given["folder"], Limits(**given["limits"])),
    )
