"""No bad kernel takes the Jupyter kernel down, on a CPU or on a GPU, and each gets its own sentence."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from flashlearn.outcome import Status
from tests import bad_kernels

pytestmark = pytest.mark.xdist_group("survival")  # one process makes what all of its tests share

SETUP = """
import dataclasses, sys
sys.path.insert(0, {tests!r})
from tests import bad_kernels
import flashlearn
from flashlearn.course import check as checking
from flashlearn.lessons import find
quick = find("scaled_add").with_time_limit(4.0)
checking.find = lambda name: quick
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a notebook shows for each bad kernel in turn, and for the right one after them."""
    tests = Path(__file__).parent
    functions = [*bad_kernels.BAD, bad_kernels.right]
    cells = [SETUP.format(tests=str(tests))]
    cells += [f'print(flashlearn.check("scaled_add", bad_kernels.{f.__name__}))' for f in functions]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests.parent), os.environ.get("PYTHONPATH", "")]),
        "FLASHLEARN_HOME": str(tmp_path_factory.mktemp("home")),
    }
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment)
    return ["".join(o.get("text", "") for o in cell.outputs) for cell in notebook.cells[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(bad_kernels.BAD)), ids=[f.__name__ for f in bad_kernels.BAD])
def test_a_bad_kernel_gets_its_own_sentence_in_jupyter(outputs, index):
    status, words = list(bad_kernels.BAD.values())[index]
    assert Status[status].value in outputs[index].lower()
    assert words in " ".join(outputs[index].split())


@pytest.mark.slow
def test_after_five_bad_kernels_the_same_jupyter_kernel_passes_a_right_one(outputs):
    assert "Passed" in outputs[-1]
