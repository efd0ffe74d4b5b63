"""A review of `budget`: the function's answers beside the compiler's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import torch
from torch import Tensor

from flashlearn import compiler
from flashlearn.exercise import Earlier
from flashlearn.interpreter.route import observing
from flashlearn.kernels.matmul import tiled_matmul
from flashlearn.lessons.lesson_05_execution_model.block_budget import BUDGET_ARGUMENTS, block_budget
from flashlearn.machine import device
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import PlainCall

COMPILED = (((64, 64, 32), 4, 3), ((128, 128, 64), 8, 3))
"""Block shape, warps and stages of the kernels for which `budget` is compared with the compiler, in fp16."""


def buffers_of(budget: compiler.Budget, stages: int) -> int:
    """Pairs of tiles in shared memory: wgmma reads them there; mma reads registers, which frees one pair."""
    return stages if budget.tensor_cores == "wgmma" else max(stages - 1, 1)


def compiled_budgets(
    function: Callable[..., Tensor], shape: tuple[int, int, int], warps: int, stages: int
) -> list[compiler.Budget]:
    """What a tiled product with this block shape needs in fp16, on an A100 and on an H100."""
    a, b = torch.zeros(2, 16, 16, dtype=torch.float16)
    blocks = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), shape, strict=True))
    with observing() as (session, _):
        function(a, b, **blocks, num_warps=warps, num_stages=stages)
    return list(compiler.compile_launch(session.launches[-1]))


def _agree(predicted: Any, budget: compiler.Budget, warps: int, gpu: device.GPU) -> bool:
    """Shared memory to a tenth, occupancy to one block, and an accumulator that fits what was compiled."""
    accumulator, shared, occupancy = predicted
    one_block = warps / gpu.warps_per_sm
    return (
        accumulator <= budget.registers
        and abs(shared - budget.shared_bytes) <= budget.shared_bytes / 10
        and abs(occupancy - budget.occupancy) <= one_block
    )


def budget_review(answer: Answer, earlier: Earlier) -> str:
    """A sentence where the function and the compiler disagree, and the lesson's own formula does not."""
    for shape, warps, stages in COMPILED:
        for budget in compiled_budgets(tiled_matmul, shape, warps, stages):
            if budget.error or budget.registers is None:
                continue
            gpu = device.for_target(budget.target)
            numbers = (*shape, 2, buffers_of(budget, stages), warps, budget.registers)
            arguments = (*map(sp.Integer, numbers), gpu)
            named = dict(zip((*BUDGET_ARGUMENTS, "gpu"), arguments, strict=True))
            predicted = answer.run(named, PlainCall()).completed().returned
            expected = block_budget(*arguments)
            if _agree(expected, budget, warps, gpu) and not _agree(predicted, budget, warps, gpu):
                return (
                    f"For {'×'.join(map(str, shape))} in fp16 with {warps} warps on an {gpu.name} the "
                    f"compiler says {budget.registers} registers, {budget.shared_bytes} bytes of shared "
                    f"memory, occupancy {budget.occupancy:.4g}; your function says {tuple(predicted)}."
                )
    return ""
