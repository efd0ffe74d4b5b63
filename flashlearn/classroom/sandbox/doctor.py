"""Which sandbox layers this machine has, each proved by trying to break it.

    >>> for proof in doctor():
    ...     print(proof)
    Landlock     holds   reads /etc/passwd: PermissionError

An attempt is made by a process that has applied that one layer and no other, and then by a submission's
cell inside all of them.
"""

from __future__ import annotations

import functools
import os
import resource
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flashlearn.classroom.sandbox import cgroups, landlock, layers, namespaces, seccomp
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.classroom.sandbox.child import CellText
from flashlearn.classroom.sandbox.client import SandboxServer
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.sandbox.readable_paths import PACKAGE, readable
from flashlearn.processes.forked import fork
from flashlearn.processes.start import ChildError

ABSENT = "not on this machine"
GROUPS = "cgroups"
SECRETS = ("/etc/passwd", str(PACKAGE / "checking" / "__init__.py"), str(PACKAGE / "lessons" / "__init__.py"))


@dataclass(frozen=True)
class Proof:
    """One attempt on one layer: whether it is there, what was tried, whether it held, and what happened."""

    layer: str
    there: bool
    tried: str = ""
    held: bool = False
    detail: str = ""

    def __str__(self) -> str:
        if not self.there:
            return f"{self.layer:<13}absent  {self.detail}"
        return f"{self.layer:<13}{'holds' if self.held else 'BROKEN'}   {self.tried}: {self.detail}"


def doctor() -> tuple[Proof, ...]:
    """A proof for each attempt on each layer, and finally for all of them together."""
    available = layers.available()
    _listener()
    found = [proof for name, attempts in _ALONE.items() for proof in _of_one(name, attempts, available)]
    found.append(of_groups(cgroups.here()))
    if available.insufficient():
        return (*found, Proof("together", False, detail=available.insufficient()))
    return (*found, *_together(available))


def _of_one(
    name: str, attempts: dict[str, Callable[[], object]], available: layers.Layers
) -> Iterator[Proof]:
    if name not in available:
        yield Proof(name, False, detail=ABSENT)
        return
    for tried, attempt in attempts.items():
        held, detail = outcome(_APPLY[name], attempt)
        yield Proof(name, True, tried, held, detail)


def outcome(apply: Callable[[], object], attempt: Callable[[], object]) -> tuple[bool, str]:
    """Whether a process inside a layer failed at an attempt, and how."""
    ours, theirs = os.pipe()

    def work() -> None:
        answer = b"!"
        try:
            apply()
            answer = b"?"
            attempt()
        except BaseException as error:
            answer += type(error).__name__.encode()
        finally:
            os.write(theirs, answer)

    child = fork(work)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        return True, f"the process was ended by {signal.Signals(-status).name}"
    if answer.startswith(b"!"):
        return False, f"the layer could not be applied ({answer[1:].decode()})"
    return len(answer) > 1, answer[1:].decode() or "it worked"


def of_groups(groups: cgroups.Groups) -> Proof:
    """Whether a process in a group of 64 MB that takes 256 MB is killed; or why there are no groups."""
    if groups.folder is None:
        return Proof(GROUPS, False, detail=f"not used: {groups.why}")
    ours, theirs = os.pipe()

    def work() -> None:
        os.close(theirs)
        os.read(ours, 1)
        bytearray(256 << 20)

    child = fork(work)
    os.close(ours)
    group = groups.group(child, Limits(memory=32 << 20, scratch=32 << 20))
    os.close(theirs)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if group is None:
        return Proof(GROUPS, False, detail=f"not used: no group can be made in {groups.folder}")
    group.close()
    detail = f"the process was ended by {signal.Signals(-status).name}" if status < 0 else "it worked"
    return Proof(GROUPS, True, "takes more memory than its group has", status < 0, detail)


def _together(available: layers.Layers) -> Iterator[Proof]:
    """The same attempts, and more, by a cell in a sandboxed child."""
    text = "found = []\n" + "".join(
        f"try:\n    {code}\n    found.append('')\nexcept BaseException as error:\n"
        "    found.append(type(error).__name__)\n"
        for code in CELL.values()
    )
    try:
        with (
            SandboxServer(available) as server,
            server.factory() or server as factory,
            SandboxedAnswer(factory) as child,
        ):
            (trouble,) = child.run_cells([CellText(1, f"{text}raise ValueError('|'.join(found))")], {})
    except (ChildError, ValueError) as error:
        yield Proof("together", True, "runs a cell", False, str(error))
        return
    for tried, detail in zip(CELL, trouble.sentence.partition(": ")[2].split("|"), strict=False):
        yield Proof("together", True, tried, bool(detail), detail or "it worked")


def _fork() -> None:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _spin() -> None:
    while True:
        pass


def _in_bubblewrap(code: str) -> None:
    """Run shell code inside bubblewrap. Raises PermissionError if it fails."""
    program = layers.bubblewrap("bwrap", [p for p in layers.SYSTEM if os.path.exists(p)], 1 << 20)
    shell = os.path.realpath("/bin/sh")
    done = subprocess.run([*program, "--ro-bind", shell, shell, "--", shell, "-c", code], capture_output=True)
    if done.returncode:
        raise PermissionError(code)


def _connect() -> None:
    """Connect to the port that `doctor` listens on."""
    socket.create_connection(_listener().getsockname(), 1.0).close()


@functools.cache
def _listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def _lower_limits() -> None:
    for what, most in (
        (resource.RLIMIT_AS, 4 << 30),
        (resource.RLIMIT_CPU, 1),
        (resource.RLIMIT_FSIZE, 1 << 16),
        (resource.RLIMIT_NOFILE, 32),
    ):
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _writes(count: int) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"\0" * count)
        file.flush()


_APPLY: dict[str, Callable[[], object]] = {
    layers.BUBBLEWRAP: lambda: None,
    layers.NAMESPACES: namespaces.leave,
    layers.LANDLOCK: lambda: landlock.restrict(readable()),
    layers.SECCOMP: seccomp.refuse,
    layers.LIMITS: _lower_limits,
}
_ALONE: dict[str, dict[str, Callable[[], object]]] = {
    layers.BUBBLEWRAP: {
        "reads /etc/passwd": lambda: _in_bubblewrap("read line < /etc/passwd"),
        "writes beside the libraries": lambda: _in_bubblewrap("echo > /usr/lib/flashlearn-was-here"),
    },
    layers.NAMESPACES: {"connects to a port of this machine": _connect},
    layers.LANDLOCK: {
        **{f"reads {name}": lambda name=name: Path(name).read_bytes() for name in SECRETS},
        "lists /": lambda: os.listdir("/"),
        "writes into the folder for temporary files": lambda: _writes(1),
    },
    layers.SECCOMP: {
        "opens a socket": socket.socket,
        "makes a process": _fork,
        "runs a program": lambda: os.execv("/bin/true", ["true"]),
        "ends its parent": lambda: os.kill(os.getppid(), 0),
        "leaves its session": os.setsid,
        "raises its limits": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)),
    },
    layers.LIMITS: {
        "takes 8 GB of memory": lambda: bytearray(8 << 30),
        "computes for ever": _spin,
        "writes a large file": lambda: _writes(1 << 20),
        "opens a hundred files": lambda: [os.open(os.devnull, os.O_RDONLY) for _ in range(100)],
    },
}
CELL = {
    "reads /etc/passwd": "open('/etc/passwd')",
    "reads a lesson's references": f"open({str(PACKAGE / 'lessons' / '__init__.py')!r})",
    "imports a lesson's references": "from flashlearn import lessons; "
    "lessons.find('row_sum').reference.__code__",
    "lists the folder above its own": "import os; os.listdir('..')",
    "reads what its parent was started with": "import os; open(f'/proc/{os.getppid()}/cmdline').read()",
    "opens a socket": "import socket; socket.socket()",
    "makes a process": "import os; os.fork()",
    "runs a program": "import subprocess; subprocess.run(['/bin/true'])",
    "ends its parent": "import os; os.kill(os.getppid(), 9)",
    "takes 8 GB of memory": "bytearray(8 << 30)",
    "fills the disk": "f = open('x', 'wb'); [f.write(bytes(1 << 20)) for _ in range(100)]",
    "finds a word of the environment": "import os; os.environ['PATH']",
}
