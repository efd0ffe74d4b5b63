"""What `flashlearn.` offers, and what it says to a name that is not quite one."""

from __future__ import annotations

import importlib

import pytest

import flashlearn
from flashlearn.course.files import CourseError
from flashlearn.lessons import UnknownExercise, find


def test_tab_offers_public_names_and_nothing_else_whatever_was_imported():
    for inner in ("checking", "course.progress", "interpreter.route"):
        importlib.import_module(f"flashlearn.{inner}")
    assert dir(flashlearn) == sorted(flashlearn.__all__)
    assert {"check", "hint", "solution", "status", "reset", "kernels"} <= set(dir(flashlearn))
    assert not {"course", "checking", "importlib", "sys", "Path"} & set(dir(flashlearn))


@pytest.mark.parametrize("jedi", [True, False])
def test_jupyter_s_completion_offers_them(jedi: bool):
    completer = pytest.importorskip("IPython.core.completer")
    asked = completer.IPCompleter(use_jedi=jedi, namespace={"flashlearn": flashlearn}, global_namespace={})
    with completer.provisionalcompleter():
        offered = {found.text.removeprefix(".") for found in asked.completions("flashlearn.", 11)}
    assert offered == set(flashlearn.__all__)


@pytest.mark.parametrize("name", flashlearn.__all__)
def test_every_public_name_is_there_at_its_first_use(name: str):
    assert flashlearn.__getattr__(name) is not None


def test_a_name_that_is_almost_right_is_answered_with_the_right_one():
    with pytest.raises(AttributeError, match=r"^flashlearn has no 'chek': did you mean check\?$"):
        _ = flashlearn.chek
    with pytest.raises(AttributeError, match=r"^flashlearn has no 'xyz'$"):
        _ = flashlearn.xyz


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dq_kernl", "'dq_kernl': did you mean dq_kernel"),
        ("DQ-Kernel", "did you mean dq_kernel"),
        ("causal", "did you mean flash_forward_causal"),
        ("7", "lesson 07 has dq_kernel, dq_kernel_causal and dq_without_delta"),
        ("07", "lesson 07 has dq_kernel, dq_kernel_causal and dq_without_delta"),
        ("zzz", "`flashlearn.status\\(\\)` shows them all"),
        ("", "`flashlearn.status\\(\\)` shows them all"),
        (None, "named in quotes, .* this is None"),
        (["dq_kernel"], "named in quotes, .* this is \\['dq_kernel'\\]"),
    ],
)
def test_an_exercise_that_does_not_exist_is_answered_kindly(name, sentence):
    for ask in (find, flashlearn.hint, flashlearn.solution, lambda name: flashlearn.check(name, len)):
        with pytest.raises(UnknownExercise, match=sentence):
            ask(name)


def test_a_function_in_the_place_of_a_name_is_answered_with_the_name_in_quotes():
    def dq_kernel(): ...

    with pytest.raises(UnknownExercise, match='in quotes, as in "dq_kernel"; this is the function dq_kernel'):
        flashlearn.hint(dq_kernel)


@pytest.mark.parametrize("error", [UnknownExercise("One sentence."), CourseError("One sentence.")])
def test_in_jupyter_such_an_answer_is_a_sentence_without_a_stack(error):
    assert error._render_traceback_() == ["One sentence."]
