"""A launcher's plan, carried out elsewhere, gives what its kernels give, and no more."""

from __future__ import annotations

import pytest
import torch

from flashlearn.classroom.grading.confirmation import stand_ins
from flashlearn.classroom.grading.plan_review import objections
from flashlearn.exercise import Kind
from flashlearn.interpreter.route import observing
from flashlearn.lessons import find
from flashlearn.processes.encoding import decode, encode
from flashlearn.running.answer import Here
from flashlearn.running.launcher_plan import LauncherPlan, NoPlan, Operation, record
from flashlearn.running.plan_replay import replayer
from tests.classroom.answers import IMPORTS, KERNEL, LAUNCHER
from tests.corpus import function_from_text, right_entries

X = torch.arange(12.0).reshape(3, 4)


def plan_of(text: str, **inputs: torch.Tensor) -> LauncherPlan:
    function = function_from_text(IMPORTS + KERNEL + text, "row_sum")
    return decode(encode(record(Here(function)._caller(), inputs or {"x": torch.ones(3, 4)}, 10.0)))


def carried_out(plan: LauncherPlan, *inputs: torch.Tensor) -> torch.Tensor:
    with observing():
        return replayer(plan)(*inputs)


def test_kernels_run_with_the_numbers_that_they_are_given():
    assert carried_out(plan_of(LAUNCHER), X).tolist() == X.sum(1).tolist()


def test_a_number_that_was_read_out_is_that_of_the_stand_in():
    plan = plan_of("def row_sum(x):\n    return torch.full((3,), float(x.sum(1)[0]))")
    assert carried_out(plan, X).tolist() == [4.0] * 3 and plan.reads == 1


def test_what_torch_does_is_a_step_with_its_name():
    plan = plan_of("def row_sum(x):\n    return x.sum(1)")
    assert [one.name for one in plan.steps if isinstance(one, Operation)] == ["sum"]
    replay = replayer(plan)
    replay(X)
    assert replay.work.observation().before == (("sum", 12),)


def test_what_is_no_tensor_has_no_plan():
    with pytest.raises(NoPlan):
        plan_of("def row_sum(x):\n    return 3.0")


BODIES = (
    "import os",
    "tl.core.os.system('true')",
    "x_ptr.handle.data.fill(0)",
    "().__class__",
    "open('x')",
    "(lambda: 0)()",
    "tl.sum.fn",
    "type('T', (), {})",
    "getattr(tl, 'sum')",
    "f = tl\n    f.core",
)


@pytest.mark.parametrize("body", BODIES)
def test_a_kernel_that_is_more_than_a_kernel_is_objected_to(body: str):
    text = f"@triton.jit\ndef more(x_ptr):\n    {body}\n\ndef row_sum(x):\n    more[(1,)](x)\n    return x"
    assert objections(plan_of(text))


def smallest(exercise):
    observed = [case for case in exercise.cases if not case.gpu]
    return min(observed, key=lambda case: sum(case.sizes.values()))


def test_every_right_kernel_of_the_corpus_has_a_plan_without_objections():
    for entry in right_entries():
        exercise = find(entry.exercise)
        if exercise.kind is Kind.KERNEL:
            case = smallest(exercise)
            given = stand_ins(exercise.inputs(case, case.generator()))
            plan = record(Here(entry.function, exercise)._caller(), given, 20.0)
            assert objections(plan) == (), str(entry)
