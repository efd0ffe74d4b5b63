"""A sandboxed child inside each sufficient set of layers, and what it knows of the course."""

from __future__ import annotations

import ast
import sys
import types
import unittest.mock

import pytest

from flashlearn.classroom.grading import child_sources
from flashlearn.classroom.grading.statements import statements
from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.classroom.sandbox.child import CellText, FunctionRequest
from flashlearn.classroom.sandbox.client import SandboxServer
from flashlearn.course.authoring import files
from flashlearn.lessons import all_exercises, lessons
from flashlearn.running.run_modes import PlainCall

AVAILABLE = layers.available()
FEWER = (
    (layers.BUBBLEWRAP,),
    (layers.BUBBLEWRAP, layers.NAMESPACES),
    (layers.LANDLOCK,),
)
TRIES = """
found = []
for path in ("/etc/passwd", __import__("sys").modules["flashlearn"].__file__[:-11] + "checking/__init__.py"):
    try:
        open(path)
        found.append(path)
    except OSError:
        pass
try:
    __import__("socket").socket()
    found.append("a socket")
except OSError:
    pass


def twice(x):
    return 2 * x, tuple(found)
"""


@pytest.mark.slow
@pytest.mark.parametrize("without", FEWER, ids="without {}".format)
def test_fewer_layers_hold_too(without: tuple[str, ...]):
    chosen = AVAILABLE.without(*without)
    if chosen.insufficient() or chosen == AVAILABLE:
        pytest.skip(f"without {', '.join(without)} there are too few layers here, or none is missing")
    with SandboxServer(chosen) as server, server.factory() as factory, SandboxedAnswer(factory) as child:
        assert child.run_cells([CellText(1, TRIES)], {}) == []
        assert child.load(FunctionRequest("twice", "torch"))
        assert child.run({"x": 21}, PlainCall()).returned == (42, ())


def test_a_child_keeps_its_folder_while_others_come_and_go():
    if why := AVAILABLE.insufficient():
        pytest.skip(why)
    keeps = "import os\nopen('kept', 'w').close()\n"
    with SandboxServer() as server, server.factory() as factory, SandboxedAnswer(factory) as child:
        assert child.run_cells([CellText(1, keeps)], {}) == []
        for _ in range(2):
            with SandboxedAnswer(factory) as other:
                assert other.run_cells([CellText(1, "import os\nassert os.listdir() == []")], {}) == []
        assert child.run_cells([CellText(2, "assert os.listdir(os.getcwd()) == ['kept']")], {}) == []


@pytest.mark.parametrize("lesson", lessons())
def test_no_source_that_is_handed_out_holds_an_answer_of_its_lesson(lesson: str):
    texts = child_sources.sources(lesson)
    for exercise in lessons()[lesson]:
        module, _, name = exercise.solution.partition(":")
        assert f"def {name}(" not in texts.get(module, ""), exercise.name
        reference = getattr(exercise.reference, "__name__", "")
        if reference and reference != "<lambda>":
            assert not any(f"def {reference}(" in text for text in texts.values()), exercise.name


@pytest.mark.parametrize("lesson", lessons())
def test_what_an_exercise_uses_of_the_course_is_handed_out(lesson: str):
    texts = child_sources.sources(lesson)
    (source,) = files.read_all(files.find_root(None), [lesson])
    cells = ["\n".join(line.text for line in cell.lines) for cell in source.cells if cell.kind == "code"]
    imported = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for text in cells
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("flashlearn.kernels")
        for alias in node.names
        if alias.name not in all_exercises()
    }
    for cell in source.cells:
        tree = ast.parse("\n".join(line.text for line in cell.lines) if cell.exercise else "")
        for name in imported.keys() & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            module, known = imported[name]
            handed_out = {bound for one in statements(texts.get(module, "")) for bound in one.binds}
            assert known in handed_out or f"{module}.{known}" in texts, f"{cell.exercise} uses {name}"


def test_hooks_that_the_last_exercise_imports_are_those_of_the_cells_before():
    module = types.ModuleType("flashlearn.course.own_hooks")
    exec(child_sources.ASSEMBLED["15"][module.__name__], vars(module))
    session: dict = {"window_mask": "the learner's"}
    with unittest.mock.patch.dict(sys.modules, {module.__name__: module}):
        exec("from flashlearn.course.own_hooks import window_mask as mine", session)
        with pytest.raises(ImportError):
            exec("from flashlearn.course.own_hooks import sink_start", session)
    assert session["mine"] == "the learner's"


def test_what_a_confined_child_has_in_memory_knows_no_lesson_and_no_judgement():
    import subprocess
    import sys

    code = (
        "import sys; from flashlearn.classroom.sandbox import child, server; child.warm(); "
        "print([m for m in sys.modules if m.startswith(('flashlearn.lessons', 'flashlearn.kernels', "
        "'flashlearn.judging', 'flashlearn.explaining', 'flashlearn.course', 'flashlearn.checking', "
        "'flashlearn.classroom.grading', 'flashlearn.classroom.workers'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
