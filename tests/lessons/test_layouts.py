"""The cases of the kernels of lessons 00 to 08 tell apart the strides of any two of their tensors."""

from __future__ import annotations

import pytest
from torch import Tensor

from flashlearn.exercise import Kind
from flashlearn.lessons import all_exercises

NOT_READ = {"o", "lse"}
"""What an exercise's own forward pass has made: always laid out like a new tensor."""

KERNELS = [e for e in all_exercises().values() if e.kind is Kind.KERNEL and e.lesson <= "08"]


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
def test_the_stride_of_each_dimension_is_another_tensor_s_in_no_two_inputs(exercise):
    alike: set[tuple[str, str, int]] = set()
    told: set[tuple[str, str, int]] = set()
    for case in exercise.cases:
        if case.gpu:
            continue
        given = exercise.inputs(case, case.generator())
        tensors = {n: t for n, t in given.items() if isinstance(t, Tensor)}
        if exercise.lesson != "03":
            tensors = {n: t for n, t in tensors.items() if n not in NOT_READ}
        for one, a in tensors.items():
            for other, b in tensors.items():
                if one < other and a.dim() == b.dim():
                    for d in range(a.dim()):
                        differ = a.stride(d) != b.stride(d) and min(a.shape[d], b.shape[d]) > 1
                        (told if differ else alike).add((one, other, d))
    assert alike <= told
