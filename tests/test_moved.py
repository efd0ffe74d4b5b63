"""What the lessons handed out before the move import: it still works, and one sentence says what to do."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from flashlearn import moved

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.xdist_group("moved")  # one process makes what all of its tests share

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


EACH_IN_A_FORK = """
import json, os, sys, tempfile
import matplotlib.pyplot, sympy, torch, triton  # once for all: none of it is the package's
for name, (notebook, code) in json.load(sys.stdin).items():
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os.environ["JPY_SESSION_NAME"] = notebook
            status = 1
            try:
                exec(compile(code, "<cell>", "exec"), {})
                status = 0
            except BaseException as error:
                print(type(error).__name__, error, file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitpid(child, 0)[1]
        texts = []
        for file in (printed, said):
            file.seek(0)
            texts.append(file.read())
        print(json.dumps([name, status, *texts]), file=sys.__stdout__, flush=True)
"""

EVERYTHING = """
import sys
import flashlearn.checking, flashlearn.cli, flashlearn.course.authoring, flashlearn.lessons
flashlearn.lessons.all_exercises()
print(*sys.modules)
"""


@dataclass(frozen=True)
class Ran:
    """What a cell printed, and what it warned of, in a process that had imported nothing of the package."""

    status: int
    printed: str
    said: str


@pytest.fixture(scope="module")
def ran() -> dict[str, Ran]:
    """Every cell of these tests, each in a fork of one fresh Python: starting one is what takes long."""
    dedented = {n: "\n".join(line.strip() for line in code.splitlines()) for n, code in HANDED_OUT.items()}
    cells = {n: (f"/home/me/work/{n}_title.ipynb", code) for n, code in dedented.items()}
    cells["pictures"] = ("", "from flashlearn.pictures import tour")
    cells["in lesson 03"] = ("work/03_attention_backward.ipynb", "from flashlearn import example")
    cells["nowhere"] = ("", "from flashlearn import example")
    cells["everything"] = ("", EVERYTHING)
    settings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", EACH_IN_A_FORK],
        env=settings,
        input=json.dumps(cells),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = {name: Ran(*rest) for name, *rest in map(json.loads, done.stdout.splitlines())}
    assert list(results) == list(cells)
    return results


@pytest.mark.parametrize("lesson", HANDED_OUT)
def test_the_imports_of_a_lesson_handed_out_before_still_work_with_one_warning(lesson, ran):
    cell = ran[lesson]
    assert cell.status == 0 and cell.said.count("FutureWarning") == 1, cell.said
    assert "<cell>:" in cell.said.split("FutureWarning")[0], "it points at the cell"


def test_the_warning_names_both_modules_and_the_command(ran):
    (line,) = [line for line in ran["pictures"].said.splitlines() if "Warning" in line]
    assert "flashlearn.pictures.tour is now flashlearn.lessons.lesson_00_tour.pictures" in line
    assert "`flashlearn reset 00` brings today's lesson and keeps your copy" in line


def test_the_notebook_says_which_lesson_where_the_module_does_not(ran):
    assert "`flashlearn reset 03`" in ran["in lesson 03"].said
    assert "`flashlearn reset`, with the lesson's number," in ran["nowhere"].said


def test_the_package_itself_uses_no_old_name(ran):
    cell = ran["everything"]
    assert cell.status == 0, cell.said
    assert "flashlearn.lessons" in cell.printed.split()
    assert not set(cell.printed.split()) & moved.MOVED.keys()


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
