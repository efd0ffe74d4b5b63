"""What the lessons handed out before the move import: it still works, and one sentence says what to do."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashlearn import moved

ROOT = Path(__file__).parents[1]

# Copies in work/ keep these lines; what else a cell of those lessons names stands below its import.
HANDED_OUT = {
    "00": """
        from flashlearn import DEVICE, environment
        from flashlearn.pictures import tour as pictures
        environment.report, pictures.programs_over_vector
    """,
    "01": """
        from flashlearn import DEVICE, example
        from flashlearn.pictures import gradients as pictures
    """,
    "02": """
        from flashlearn import DEVICE, example
        from flashlearn.pictures import softmax as pictures
    """,
    "03": """
        from flashlearn import DEVICE, example
        from flashlearn.pictures import attention_backward as pictures
    """,
    "04": """
        from flashlearn import DEVICE, device, example
        from flashlearn.kernels.logsumexp import row_sums_rebuilt, row_sums_stored
        from flashlearn.pictures import logsumexp as pictures
    """,
    "05": """
        from flashlearn import DEVICE, example, portable
        from flashlearn.device import GPUS, attainable, for_target
        from flashlearn.exercises.lesson_05 import buffers_of
        from flashlearn.kernels import probes
        from flashlearn.kernels.tour import scaled_add
        from flashlearn.pictures import machine, traffic
        from flashlearn.portable.listing import assemble, counts, listing, widths
        portable.compile_launch
    """,
    "06": """
        from flashlearn import DEVICE, example, reference
        from flashlearn.pictures import flash_forward as pictures
    """,
    "07": """
        from flashlearn import DEVICE, example, reference
        from flashlearn.exercises.broken_07 import faulty_dq
        from flashlearn.kernels.delta import delta_preprocess
        from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
        from flashlearn.pictures import backward as pictures
    """,
    "08": """
        from flashlearn import DEVICE, example, reference
        from flashlearn.exercises.broken_08 import faulty_dkv
        from flashlearn.kernels.delta import delta_preprocess
        from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
        from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
        from flashlearn.pictures import backward as pictures
    """,
    "09": """
        from flashlearn import DEVICE, reference, training
        from flashlearn.assembling import assemble
        from flashlearn.kernels.attention import flash_attention, refuse_misfits
        from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
        from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
        from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal, flash_forward_kernel
        from flashlearn.pictures import training as pictures
    """,
    "10": """
        import flashlearn
        from flashlearn import clinic, example, reference
        from flashlearn.clinic import Trial, draw
        from flashlearn.kernels.flash_backward_dq import dq_kernel
        from flashlearn.pictures import clinic as pictures
        clinic.patient, flashlearn.exercises.find("row_sum").reference
    """,
}


def python(code: str, input: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python of its own, where nothing of the package is imported yet."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=settings, input=input, capture_output=True, text=True)


EACH_IN_A_FORK = """
import json, os, sys, tempfile
import matplotlib.pyplot, sympy, torch, triton  # once for all: none of it is the package's
for lesson, code in json.load(sys.stdin).items():
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            os.environ["JPY_SESSION_NAME"] = f"/home/me/work/{lesson}_title.ipynb"
            status = 1
            try:
                exec(compile(code, "<cell>", "exec"), {})
                status = 0
            except BaseException as error:
                print(type(error).__name__, error, file=sys.stderr)
            sys.stderr.flush()
            os._exit(status)
        status = os.waitpid(child, 0)[1]
        said.seek(0)
        print(json.dumps([lesson, status, said.read()]))
"""


@pytest.mark.slow
def test_the_imports_of_lessons_handed_out_before_still_work_with_one_warning_each():
    codes = {n: "\n".join(line.strip() for line in code.splitlines()) for n, code in HANDED_OUT.items()}
    done = python(EACH_IN_A_FORK, input=json.dumps(codes))
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [lesson for lesson, *_ in results] == list(HANDED_OUT)
    for lesson, status, said in results:
        assert status == 0 and said.count("FutureWarning") == 1, f"lesson {lesson}: {said}"
        assert "<cell>:" in said.split("FutureWarning")[0], "it points at the cell"


def test_the_warning_names_both_modules_and_the_command():
    code = "from flashlearn.pictures import tour"
    (line,) = [line for line in python(code).stderr.splitlines() if "Warning" in line]
    assert "flashlearn.pictures.tour is now flashlearn.lessons.lesson_00_tour.pictures" in line
    assert "`flashlearn reset 00` brings today's lesson and keeps your copy" in line


def test_the_notebook_says_which_lesson_where_the_module_does_not():
    code = "from flashlearn import example"
    assert "`flashlearn reset 03`" in python(code, JPY_SESSION_NAME="work/03_attention_backward.ipynb").stderr
    assert "`flashlearn reset`, with the lesson's number," in python(code, JPY_SESSION_NAME="").stderr


@pytest.mark.parametrize("old", sorted(moved.MOVED.keys() - moved.PACKAGES))
def test_the_old_name_is_the_very_module_that_the_new_one_is(old, monkeypatch):
    monkeypatch.setattr(moved, "_said", ["something"])
    assert importlib.import_module(old) is importlib.import_module(moved.MOVED[old])
    assert importlib.import_module(moved.MOVED[old]).__spec__.name == moved.MOVED[old]


def test_a_module_below_a_package_that_moved_is_not_loaded_twice(monkeypatch):
    monkeypatch.setattr(moved, "_said", ["something"])
    old = importlib.import_module("flashlearn.portable.listing")
    assert old is importlib.import_module("flashlearn.compiler.listing")


@pytest.mark.parametrize("name", ["flashlearn.nothing", "flashlearn.pictures.nothing"])
def test_what_never_was_is_still_missing(name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_the_package_itself_uses_no_old_name():
    everything = "import flashlearn.checking, flashlearn.cli, flashlearn.course.authoring, flashlearn.lessons"
    done = python(f"import sys\n{everything}\nflashlearn.lessons.all_exercises()\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert not set(done.stdout.split()) & moved.MOVED.keys()
