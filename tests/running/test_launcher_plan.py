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
from flashlearn.running.launcher_plan import (
    KernelLaunch,
    LauncherPlan,
    NoPlan,
    Operation,
    PackedValue,
    TensorRef,
    record,
)
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


TO_AN_ADDRESS = """
@triton.jit
def to_an_address(x_ptr, where, n: tl.constexpr):
    at = tl.arange(0, n)
    y_ptr = {pointer}.to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + at, tl.load(x_ptr + at))


def row_sum(x):
    y = torch.zeros(x.shape)
    to_an_address[(1,)](x, {where}, 16)
    return y.sum(1)
"""
UNSEEN = {
    "an address": TO_AN_ADDRESS.format(pointer="where", where="y.data_ptr()"),
    "a table of addresses": TO_AN_ADDRESS.format(
        pointer="tl.load(where)", where="torch.tensor([0, y.data_ptr()]).flip(0).clone()"
    ),
    "sums where it puts": """
def row_sum(x):
    rows = torch.arange(4)[:, None].expand(4, 4)
    return torch.zeros(4).index_put_((rows,), x, accumulate=True)
""",
    "ends of a range": """
def row_sum(x):
    return torch.stack([torch.linspace(one, one, 1)[0] for one in x.view(-1).unbind()]).view(4, 4).sum(1)
""",
}


@pytest.mark.parametrize("way", UNSEEN)
def test_what_torch_adds_up_is_counted_however_it_came_by_the_elements(way: str):
    x = torch.arange(16.0).reshape(4, 4)
    replay = replayer(plan_of(UNSEEN[way], x=torch.ones(4, 4)))
    with observing():
        assert replay(x).tolist() == x.sum(1).tolist()
    done = replay.work.observation()
    assert sum(count for _, count in (*done.before, *done.after)) >= 16


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
    "[0 for eval in ()]\n    eval('1')",
    "sum(0 for exec in [0])\n    exec('1')",
    "[0 for eval in eval('()')]",
    "[[0 for eval in ()] for at in range(2) if eval('1')]",
)


@pytest.mark.parametrize("body", BODIES)
def test_a_kernel_that_is_more_than_a_kernel_is_objected_to(body: str):
    text = f"@triton.jit\ndef more(x_ptr):\n    {body}\n\ndef row_sum(x):\n    more[(1,)](x)\n    return x"
    assert objections(plan_of(text))


COMPREHENSIONS = ("[one for one in range(2)]", "sum(at * 2 for at in [1, 2] for other in range(at))")


@pytest.mark.parametrize("body", COMPREHENSIONS)
def test_a_comprehension_has_names_of_its_own(body: str):
    text = f"@triton.jit\ndef more(x_ptr):\n    {body}\n\ndef row_sum(x):\n    more[(1,)](x)\n    return x"
    assert objections(plan_of(text)) == ()


FOR_NUMBERS = (
    Operation("ones", "", ([TensorRef(0)],), {}, (1,)),
    Operation("select", "int", (TensorRef(0), 0, TensorRef(0)), {}, (1,)),
    Operation("slice", "Tensor", (TensorRef(0),), {"end": TensorRef(0)}, (1,)),
)


@pytest.mark.parametrize("step", FOR_NUMBERS, ids=lambda step: step.name)
def test_a_tensor_in_place_of_a_number_is_objected_to(step: Operation):
    assert "as a number" in objections(LauncherPlan((step,), TensorRef(1), (), (), (0, 1), 1))[0]


MADE = ({"record": ["triton.runtime.build", "_build", {}]}, {"member": ["triton.testing", "do_bench"]})


@pytest.mark.parametrize("value", MADE, ids=lambda value: next(iter(value)))
def test_a_value_is_made_of_the_language_alone(value: dict):
    step = KernelLaunch(0, (1, 1, 1), {"x": PackedValue(value)}, {})
    assert objections(LauncherPlan((step,), TensorRef(0), (), (), (0,), 1))


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
