"""A Gluon launch that hangs on a GPU hangs in a process of its own; the process here is a stand-in for it."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.errors import KernelCrash
from flashlearn.running import trial_process
from flashlearn.running.trial_child import HEAD
from flashlearn.running.trial_launches import TrialLaunches
from flashlearn.running.trial_process import COMMAND, TrialProcess
from tests.interpreter.gluon.gluon_kernels import copy_tiles, described

CHILD = """
import struct, sys, time, io, torch
print("up", flush=True)
while head := sys.stdin.buffer.read(8):
    task = torch.load(io.BytesIO(sys.stdin.buffer.read(struct.unpack("!Q", head)[0])), weights_only=False)
    print("ready", flush=True)
    if {hangs}:
        time.sleep(60)
    assert task["grid"] == (2, 1, 1) and task["values"][0].base.shape == (64, 64)
    assert task["hash"] == "abc" and task["constants"] == {{(1,): None}}
    print("done", flush=True)
"""


@pytest.fixture
def launches(monkeypatch):
    """What came to be launched here, in place of a GPU; compiling gives a kernel without code."""
    happened = []
    compiled = CompiledKernel.__new__(CompiledKernel)
    compiled.hash, compiled.metadata_group = "abc", {"copy_tiles.json": "/nowhere/copy_tiles.json"}
    compiled.src = SimpleNamespace(
        signature={"x_desc": "tensordesc<fp32[32, 64]>"}, constants={(1,): torch.float32}
    )

    def run(kernel, *args, **kwargs):
        if kwargs.get("warmup"):
            return compiled
        happened.append(kernel.__name__)

    monkeypatch.setattr(JITFunction, "run", run)
    return happened


def process(hangs: bool, running: float = 20.0) -> TrialProcess:
    command = (sys.executable, "-c", CHILD.format(hangs=hangs))
    return TrialProcess(command, starting=60.0, running=running)


def launch():
    copy_tiles[(2,)](*(described(torch.zeros(64, 64), [32, 64]) for _ in range(2)))


def test_a_launch_that_ends_there_happens_here_and_the_process_is_there_for_the_next_check(launches):
    with process(hangs=False) as there:
        there.start()
        child = there._child
        for _ in range(2):
            tried = TrialLaunches(there)
            with tried.dry():
                launch()
                launch()
            assert list(tried.known.values()) == [""] and there._child is child
        assert launches == []
        with tried.refusing():
            launch()
    assert launches == ["copy_tiles"]


def test_a_launch_that_hangs_there_is_refused_here(launches):
    with process(hangs=True, running=0.2) as there:
        tried = TrialLaunches(there)
        with tried.dry():
            launch()
        assert there._child is None
    with tried.refusing(), pytest.raises(KernelCrash, match="did not finish"):
        launch()
    assert launches == []


def test_a_process_that_dies_refuses_nothing_and_the_next_trial_has_another(launches):
    with TrialProcess((sys.executable, "-c", "")) as there:
        tried = TrialLaunches(there)
        with tried.dry():
            launch()
        with tried.refusing():
            launch()
        there.command = process(hangs=False).command
        assert there.answer(TASK) == "done"
    assert launches == ["copy_tiles"]


TASK = {
    "grid": (2, 1, 1),
    "values": [SimpleNamespace(base=torch.zeros(64, 64))],
    "hash": "abc",
    "constants": {(1,): None},
}


def test_a_process_that_ended_between_two_checks_is_started_again():
    with process(hangs=False) as there:
        there.start()
        first = there._child
        first.kill()
        first.wait()
        assert there.answer(TASK) == "done" and there._child is not first


def test_a_fork_of_this_process_does_not_end_or_use_its_process(monkeypatch):
    with process(hangs=False) as there:
        there.start()
        first = there._child
        monkeypatch.setattr(trial_process.os, "getpid", lambda: 1)
        there.start()
        assert there._child is not first and first.poll() is None
        first.kill()


def test_the_process_is_up_before_its_first_task_and_says_when_a_kernel_cannot_run():
    """Where there is no GPU loading it fails, and so would the launch: that is no hang."""
    saved = io.BytesIO()
    torch.save(
        {"signature": {}, "constants": {}, "files": {}, "hash": "", "grid": (1, 1, 1), "values": []}, saved
    )
    message = HEAD.pack(saved.tell()) + saved.getvalue()
    said = subprocess.run(COMMAND, input=message, capture_output=True, timeout=120).stdout
    assert said == b"up\nready\nfailed\n"
