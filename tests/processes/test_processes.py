"""Forks, fork servers, channels and pidfds: what is reported, what is closed, and what ends with what."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time

import pytest

from flashlearn.processes import fork_server, pidfd
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import Malformed
from flashlearn.processes.forked import fork
from flashlearn.processes.limits import close_inherited, end_with_parent
from flashlearn.processes.start import process_group, running, start_with_socket


def exit_code(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def test_a_fork_exits_with_0_or_with_1_if_its_work_raised():
    assert exit_code(fork(lambda: None)) == 0
    assert exit_code(fork(lambda: 1 // 0)) == 1


def test_a_pidfd_gives_the_process_id_until_the_process_has_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        handle = os.pidfd_open(process.pid)
        assert pidfd.process_id(handle) == process.pid
        process.communicate(b"\n")
        assert pidfd.process_id(handle) == 0
        pidfd.kill(handle)  # it has ended, and that is no error
        os.close(handle)


@pytest.fixture
def server():
    """The client's end of a fork server whose children echo; the server's process id."""
    control, theirs = socket.socketpair()

    def child(connection: int) -> None:
        theirs.close()
        channel = Channel(socket.socket(fileno=connection))
        while True:
            channel.send(channel.receive())

    def serve() -> None:
        control.close()
        for _, connection in fork_server.requests(theirs):
            number = fork(lambda connection=connection: child(connection))
            os.close(connection)
            fork_server.report(theirs, number)

    number = fork(serve)
    theirs.close()
    yield control
    control.close()
    assert exit_code(number) == 0, "a server ends when its last client is gone"


def test_a_fork_server_reports_each_child_and_a_child_talks_to_its_client(server: socket.socket):
    children = [fork_server.child(server, seconds=20.0) for _ in range(2)]
    for number, (connection, _) in enumerate(children):
        channel = Channel(connection)
        channel.send(("hello", number))
        assert channel.receive(time.monotonic() + 20.0) == ("hello", number)
    (first, one), (second, other) = children
    pidfd.kill(one)
    assert select.select([one], [], [], 20.0)[0], "a pidfd is readable once its process has ended"
    with pytest.raises(EOFError):
        Channel(first).receive()  # no other process holds the child's end open
    second.close()
    assert select.select([other], [], [], 20.0)[0], "a child ends when its client is gone"
    os.close(one)
    os.close(other)


def test_a_server_that_is_gone_is_an_error_and_leaves_no_socket_open():
    control, theirs = socket.socketpair()
    theirs.close()
    before = set(os.listdir("/proc/self/fd"))
    for ask in (fork_server.connect, fork_server.child):
        with pytest.raises(OSError):
            ask(control)
    assert not fork_server.says(control, b"ready", 1.0)
    assert set(os.listdir("/proc/self/fd")) == before
    control.close()


def test_a_channel_has_a_time_limit_and_refuses_what_is_no_message():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(TimeoutError):
            Channel(ours).receive(time.monotonic() + 0.01)
        theirs.sendall(b"x" * 100)
        with pytest.raises(Malformed):
            Channel(ours).receive(time.monotonic() + 20.0)


def test_a_process_ends_with_its_parent():
    reader, writer = os.pipe()

    def parent() -> None:
        own = os.getpid()

        def child() -> None:
            end_with_parent(own)
            os.write(writer, b"!")
            signal.pause()

        fork(child)
        os.read(reader, 1)
        os.kill(own, signal.SIGKILL)

    assert exit_code(fork(parent)) == -signal.SIGKILL
    os.close(writer)
    assert os.read(reader, 1) == b"", "the child, which held the pipe open, is gone"
    os.close(reader)


def test_inherited_descriptors_are_closed_but_for_one():
    (kept, _), (other, _) = os.pipe(), os.pipe()

    def work() -> None:
        close_inherited(kept)
        os.fstat(kept)
        with pytest.raises(OSError):
            os.fstat(other)

    assert exit_code(fork(work)) == 0


def test_a_program_inherits_the_socket_and_nothing_else():
    ours, theirs = socket.socketpair()
    left = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(left, True)
    text = "import os, sys, socket; s = socket.socket(fileno=int(sys.argv[1])); \
s.sendall(' '.join(sorted(os.listdir('/proc/self/fd'), key=int)).encode())"
    number = str(theirs.fileno())
    process = start_with_socket([sys.executable, "-c", text, number], theirs)
    assert theirs.fileno() == -1, "it is closed here"
    found = ours.recv(1000).decode().split()
    assert number in found and str(left) not in found
    assert process.wait() == 0
    ours.close()
    os.close(left)


def test_a_process_group_is_killed_after_its_block():
    text = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1); \
print(p.pid, flush=True); input()"
    with process_group([sys.executable, "-c", text], os.environ) as child:
        grandchild = os.pidfd_open(int(child.stdout.readline()))
        assert child in running
    assert select.select([grandchild], [], [], 20.0)[0] and child not in running
    os.close(grandchild)
