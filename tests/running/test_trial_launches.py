"""A Gluon launch that hangs on a GPU hangs in a process of its own; the process here is a stand-in for it."""

from __future__ import annotations

import sys

import pytest
import torch
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.errors import KernelCrash
from flashlearn.running.trial_launches import HEAD, TrialLaunches
from tests.interpreter.gluon.gluon_kernels import copy_tiles, described

CHILD = """
import struct, sys, time, io, torch
while head := sys.stdin.buffer.read(8):
    task = torch.load(io.BytesIO(sys.stdin.buffer.read(struct.unpack("!Q", head)[0])), weights_only=False)
    print("ready", flush=True)
    if {hangs}:
        time.sleep(60)
    assert task["grid"] == (2, 1, 1) and task["values"]["x_desc"].base.shape == (64, 64)
    assert task["job"]["gluon"] and task["job"]["kernel"] == 0
    print("done", flush=True)
"""


@pytest.fixture
def launches(monkeypatch):
    """What came to be launched here, in place of a GPU."""
    happened = []
    monkeypatch.setattr(JITFunction, "run", lambda kernel, *args, **kwargs: happened.append(kernel.__name__))
    return happened


def trials(hangs: bool, running: float = 20.0) -> TrialLaunches:
    command = (sys.executable, "-c", CHILD.format(hangs=hangs))
    return TrialLaunches(command, starting=60.0, running=running)


def launch():
    copy_tiles[(2,)](*(described(torch.zeros(64, 64), [32, 64]) for _ in range(2)))


def test_a_launch_that_ends_there_happens_here(launches):
    with trials(hangs=False) as tried:
        with tried.dry():
            launch()
        assert launches == []
        child = tried._child
        with tried.dry():
            launch()
        assert list(tried.known.values()) == [""] and tried._child is child
    with tried.refusing():
        launch()
    assert launches == ["copy_tiles"]


def test_a_launch_that_hangs_there_is_refused_here(launches):
    with trials(hangs=True, running=0.2) as tried:
        with tried.dry():
            launch()
        assert tried._child is None
    with tried.refusing(), pytest.raises(KernelCrash, match="did not finish"):
        launch()
    assert launches == []


def test_a_process_that_dies_refuses_nothing(launches):
    with TrialLaunches((sys.executable, "-c", "")) as tried:
        with tried.dry():
            launch()
        with tried.refusing():
            launch()
    assert launches == ["copy_tiles"]


def test_the_process_rebuilds_a_kernel_from_its_text_and_says_when_it_cannot_run():
    """Where there is no GPU the launch itself fails, behind «ready»."""
    import io
    import subprocess

    from flashlearn.running.trial_launches import COMMAND

    saved = io.BytesIO()
    torch.save(
        {"job": {"functions": [], "aggregates": [], "kernel": 0}, "grid": (1, 1, 1), "values": {}}, saved
    )
    message = HEAD.pack(saved.tell()) + saved.getvalue()
    said = subprocess.run(COMMAND, input=message, capture_output=True, timeout=120).stdout
    assert said == b"ready\nfailed\n"
