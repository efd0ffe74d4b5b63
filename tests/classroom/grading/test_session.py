"""A submission's code runs in the sandbox, and its grade is the one that its numbers deserve."""

from __future__ import annotations

import pytest

from flashlearn import checking
from flashlearn.classroom.records import AssignedExercise, Assignment, Submission
from flashlearn.course.answers import earlier_answer
from flashlearn.lessons import find
from tests.classroom.answers import (
    BY_TORCH,
    FIRST_BLOCK,
    IMPORTS,
    KERNEL,
    LAUNCHER,
    ROW_SUM,
    SOFTMAX_JACOBIAN,
    STUB,
    UNMASKED,
)
from tests.corpus import function_from_text

ROW = AssignedExercise("row_sum", "00", 2)
SHARED = AssignedExercise("row_sum", "00", 3, "share")
JACOBIAN = AssignedExercise("softmax_jacobian", "02", 1)
LINEAR = AssignedExercise("linear_backward", "01", 1)

LINEAR_BACKWARD = """
def linear_backward(x, w, dy):
    return dy @ w.mT, x.flatten(0, -2).mT @ dy.flatten(0, -2)
"""
BY_AUTOGRAD = """
def linear_backward(x, w, dy):
    with torch.enable_grad():
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return torch.autograd.grad(x @ w, (x, w), dy)
"""


def test_right_answers_of_every_kind_get_all_their_points(graded):
    cells = (IMPORTS, (ROW_SUM, "row_sum"), (SOFTMAX_JACOBIAN, "softmax_jacobian"))
    found = graded(*cells, (LINEAR_BACKWARD, "linear_backward"), asked=(ROW, JACOBIAN, LINEAR))
    assert [one.verdict for one in found.exercises] == ["pass"] * 3
    assert (found.status, found.points, found.out_of, found.notes) == ("graded", 4, 4, ())
    assert "seccomp" in found.layers


def test_a_wrong_kernel_is_told_its_mistake_and_its_line(graded):
    (one,) = graded(IMPORTS, (UNMASKED, "row_sum"), asked=(ROW,)).exercises
    assert (one.verdict, one.points, one.mistake) == ("wrong", 0, "out_of_bounds")
    assert "cols < n_cols" in one.sentence and one.line.startswith("x = tl.load(")
    assert UNMASKED.splitlines()[one.line_number - 1].strip() == one.line


def test_the_rule_share_gives_a_part_of_the_points_for_a_part_of_the_cases(graded):
    (one,) = graded(IMPORTS, (FIRST_BLOCK, "row_sum"), asked=(SHARED,)).exercises
    assert 0 < one.cases_passed < one.cases
    assert one.points == pytest.approx(3 * one.cases_passed / one.cases)


def test_what_torch_computed_is_not_the_learners(graded):
    found = graded(IMPORTS, (BY_TORCH, "row_sum"), (BY_AUTOGRAD, "linear_backward"), asked=(SHARED, LINEAR))
    assert [one.verdict for one in found.exercises] == ["wrong", "wrong"] and found.points == 0
    assert "autograd computed them" in found.exercises[1].sentence


OTHERWISE_BY_AUTOGRAD = """
def linear_backward(x, w, dy):
    if x.shape == (4, 2):
        return dy @ w.mT, x.mT @ dy
    return torch.func.vjp(torch.matmul, x, w)[1](dy)
"""
KEPT_BY_OTHER_HOOKS = """
def linear_backward(x, w, dy):
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        return by_autograd(x, w, dy)
"""


def test_autograd_is_found_in_whichever_case_and_behind_other_hooks(graded):
    (one,) = graded(IMPORTS, (OTHERWISE_BY_AUTOGRAD, "linear_backward"), asked=(LINEAR,)).exercises
    assert one.points == 0 and one.verdict != "pass"
    hidden = BY_AUTOGRAD.replace("linear_backward", "by_autograd") + KEPT_BY_OTHER_HOOKS
    (one,) = graded(IMPORTS, (hidden, "linear_backward"), asked=(LINEAR,)).exercises
    assert (one.verdict, one.points, one.mistake) == ("wrong", 0, "review")


IDS_OF_A_LIST = """
@triton.jit
def differences(u, v, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(u + at, mask=at < n) - tl.load(v + at, mask=at < n), mask=at < n)


def program_ids(x, block):
    n = x.numel()
    u = torch.tensor([i // block + i * i for i in range(n)], dtype=torch.int32)
    v = torch.tensor([i * i for i in range(n)], dtype=torch.int32)
    out = torch.empty(n, dtype=torch.int32)
    differences[(triton.cdiv(n, 64),)](u, v, out, n, BLOCK=64)
    return out
"""


def test_numbers_that_depend_on_no_input_are_a_kernels_work_too(graded):
    asked = AssignedExercise("program_ids", "00", 1)
    (one,) = graded(IMPORTS, (IDS_OF_A_LIST, "program_ids"), asked=(asked,)).exercises
    assert (one.verdict, one.points) == ("not graded", 0) and "a constant tensor" in one.for_teacher


WRONG_FOR_ONE_PROGRAM = """
def fixed_share(pid, programs, blocks, heads):
    numbers = range(int(pid), int(blocks * heads), int(programs))
    return len(numbers) + (programs == 1), sum(blocks - number // heads for number in numbers)
"""


def test_few_wrong_integers_of_a_formula_are_no_rounding(graded):
    text = WRONG_FOR_ONE_PROGRAM
    asked = AssignedExercise("fixed_share", "12", 1)
    (one,) = graded(IMPORTS, (text, "fixed_share"), asked=(asked,)).exercises
    assert (one.verdict, one.cases_passed) == ("wrong", one.cases - 1)


def test_a_stub_is_not_started_and_what_is_not_there_is_missing(graded):
    found = graded(IMPORTS, (STUB, "row_sum"), asked=(ROW, JACOBIAN))
    assert [one.verdict for one in found.exercises] == ["todo", "missing"]


def test_a_cell_that_does_not_parse_says_so_for_its_exercise_and_the_others_are_graded(graded):
    found = graded(IMPORTS, ("def row_sum(x:\n    pass", "row_sum"), SOFTMAX_JACOBIAN, asked=(ROW, JACOBIAN))
    row, jacobian = found.exercises
    assert row.verdict == "missing" and "SyntaxError" in row.sentence and row.line == "def row_sum(x:"
    assert jacobian.verdict == "pass"


def test_a_learners_own_helpers_run_and_one_that_raises_is_noted(graded):
    cells = (IMPORTS, KERNEL, "width = [32]\n1 / 0", LAUNCHER.replace("BLOCK=32", "BLOCK=width[0]"))
    found = graded(*cells, asked=(ROW,))
    assert found.points == 2
    assert found.notes == ("Cell 3 stopped with an error in line 2: ZeroDivisionError: division by zero",)


def test_an_exercise_meets_what_had_been_defined_by_its_own_cell(graded):
    later = "def row_sum_kernel():\n    pass"
    assert graded(IMPORTS, (ROW_SUM, "row_sum"), later, asked=(ROW,)).points == 2


def test_a_helper_that_stands_below_is_found_all_the_same(graded):
    assert graded(IMPORTS, (LAUNCHER, "row_sum"), KERNEL, asked=(ROW,)).points == 2


def test_magics_and_shell_lines_are_not_run(graded):
    found = graded(IMPORTS, "%matplotlib inline\n!rm -rf /\n" + ROW_SUM, asked=(ROW,))
    assert found.points == 2 and any("(% and !)" in note for note in found.notes)


def test_what_the_course_offers_beside_exercises_does_nothing(graded):
    extra = (
        "from flashlearn.lessons.lesson_00_tour import pictures\nimport matplotlib.pyplot as plt\n"
        'flashlearn.check("row_sum", flashlearn.use("row_sum", row_sum))\nflashlearn.solution("row_sum")\n'
        "pictures.draw(1).show()\nplt.plot([1, 2])\nfor axis in plt.subplots(): pass"
    )
    found = graded(IMPORTS, (ROW_SUM, "row_sum"), extra, asked=(ROW,))
    assert found.points == 2 and found.notes == ()


def test_an_innocent_import_of_what_could_deceive_costs_no_points(graded):
    found = graded("import os, gc", IMPORTS, (ROW_SUM, "row_sum"), "gc.collect()", asked=(ROW,))
    assert found.points == 2


def test_a_broken_submission_is_not_run(grading_session):
    assignment = Assignment("week 1", (ROW,), "0", b"", "key")
    found = grading_session.grade(Submission("Ada", (), (), "0", broken="This is no notebook."), assignment)
    assert (found.status, found.points, found.notes) == ("broken", 0, ("This is no notebook.",))


def test_points_are_rounded_once_half_up(graded):
    half = (AssignedExercise("row_sum", "00", 1, "share"),)
    found = graded(IMPORTS, (FIRST_BLOCK, "row_sum"), asked=half)
    (one,) = found.exercises
    assert found.points == int(one.points + 0.5)


DELICATE = """
def attention_backward(q, k, v, do, alpha):
    scores = torch.einsum("id,jd->ij", q, k).mul(alpha)
    lse = torch.logsumexp(scores, dim=-1)
    p = torch.exp(scores - lse[:, None])
    o = p @ v
    delta = torch.sum(do * o, dim=-1)
    d_scores = p * (do @ v.transpose(0, 1) - delta[:, None])
    dq = torch.einsum("ij,jd->id", d_scores, k) * alpha
    dk = torch.einsum("ij,id->jd", d_scores, q) * alpha
    dv = torch.einsum("ij,id->jd", p, do)
    return dq, dk, dv
"""


def test_a_right_answer_that_misses_by_a_rounding_in_our_draws_is_right(graded):
    asked = (AssignedExercise("attention_backward", "03", 2),)
    assert graded(IMPORTS, (DELICATE, "attention_backward"), asked=asked).points == 2


KNOWS_ITS_OWN = ROW_SUM.replace(
    "    tl.store(out_ptr + row, tl.sum(total))",
    "    first = tl.load(x_ptr)\n"
    "    off = tl.where((n_cols == 50) & (first != {first}), 1.005, 1.0)\n"
    "    tl.store(out_ptr + row, tl.sum(total) * off)",
)


def test_what_is_a_little_off_in_all_draws_but_the_learners_own_is_not_right(graded):
    exercise = find("row_sum")
    (case,) = (one for one in exercise.cases if one.name.startswith("3 × 50"))
    first = float(exercise.inputs(case, case.generator())["x"][0, 0])
    answer = KNOWS_ITS_OWN.format(first=repr(first))
    assert checking.grade(
        exercise, function_from_text(answer, "row_sum"), earlier_answer, budgeted=False
    ).passed
    (one,) = graded(IMPORTS, (answer, "row_sum"), asked=(ROW,)).exercises
    assert (one.verdict, one.points) == ("wrong", 0)


@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "\n%%time"])
def test_a_cell_below_a_magic_that_runs_it_is_graded(graded, magic: str):
    assert graded(IMPORTS, (f"{magic}\n{ROW_SUM}", "row_sum"), asked=(ROW,)).points == 2
