"""Which shape suits the GPU that is here: candidates are compiled, sorted out by their budgets, and timed.

    $ flashlearn bench --tune

What the compiler says is asked before anything runs: a candidate that spills registers, or that does not fit
into a multiprocessor's shared memory, is never timed. Of the others the most promising are, in turns. The
best is remembered for `flashlearn.kernels.shapes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from flashlearn import compiler
from flashlearn.compiler import Budget
from flashlearn.interpreter.route import observing
from flashlearn.kernels import shapes
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.machine import device
from flashlearn.machine.timers import Call, Timer, time_in_turns

MAX_TIMED = 6
"""Candidates that are timed for each key, the most promising ones."""
KERNELS = {"forward": "tuned_forward_kernel", "dkv": "tuned_dkv_kernel", "dq": "tuned_dq_kernel"}
PROBLEM = {"B": 4, "S": 4096, "width": 2048}
"""What candidates are timed on: B·S tokens, H·D numbers each."""


@dataclass(frozen=True)
class Candidate:
    """One candidate: its budget, and its time in milliseconds; or why it was not timed."""

    shape: Shape
    budget: Budget | None
    milliseconds: float | None = None
    why: str = ""


def candidates(D: int) -> list[Shape]:
    """Shapes that have ever been the best of something, for blocks of D columns."""
    registers = (None, 160) if D == 128 else (None,)
    blocks = itertools.product((64, 128), (64, 128), (4, 8), (1, 2, 3), registers)
    return [Shape(*one) for one in blocks if one[0] * one[1] <= 128 * 128]


def search(
    found: Iterable[Shape],
    budget: Callable[[Shape], Budget | None],
    call: Callable[[Shape], Call],
    timer: Timer | None = None,
) -> list[Candidate]:
    """Every candidate with what became of it, the fastest first and those that were not timed last."""
    left, out = [], []
    for shape in found:
        made = budget(shape)
        reason = refusal(made)
        (out if reason else left).append(Candidate(shape, made, why=reason))
    left.sort(key=_rank, reverse=True)
    out += [Candidate(one.shape, one.budget, why="others promise more") for one in left[MAX_TIMED:]]
    figures = time_in_turns([call(one.shape) for one in left[:MAX_TIMED]], timer)
    timed = [
        Candidate(one.shape, one.budget, figure.median) for one, figure in zip(left, figures, strict=False)
    ]
    return sorted(timed, key=lambda one: one.milliseconds) + out


def refusal(made: Budget | None) -> str:
    """Why a candidate with this budget is not worth a measurement; nothing if it is."""
    if made is None or made.error:
        return made.error if made else "it does not compile"
    if made.spill_bytes:
        return f"it spills {made.spill_bytes} bytes of registers"
    if not made.occupancy:
        return f"{made.shared_bytes} bytes of shared memory do not fit"
    return ""


def _rank(one: Candidate) -> tuple[float, int]:
    """More programs at a time, and larger tiles, promise more."""
    made, shape = one.budget, one.shape
    at_a_time = made.occupancy / shape.warps if made else 0.0
    return min(at_a_time, 3 / 64), shape.block_q * shape.block_k


def budget_of(kernel: str, D: int, causal: bool, dtype: torch.dtype) -> Callable[[Shape], Budget | None]:
    """What the compiler says of a kernel that is cut in some way, from a launch of it that is observed."""

    def ask(shape: Shape) -> Budget | None:
        rows = 2 * max(shape.block_q, shape.block_k)
        q = torch.zeros(1, 1, rows, D, dtype=dtype)
        with observing() as (session, _):
            _launch(kernel, q, q, q, q, causal, shape)
        launch = next(one for one in session.launches if one.name == KERNELS[kernel])
        return next(iter(compiler.compile_launch(launch, targets=(_target(),))), None)

    return ask


def _target() -> int:
    """The compute capability nearest below this GPU's whose budgets are known; an H100's without a GPU."""
    here = device.capability() if device.has_gpu() else None
    if here is None:
        return device.GPUS["H100"].target
    return max(target for target in device.SHARED_PER_BLOCK if target <= here)


def _launch(kernel: str, q, k, v, do, causal: bool, shape: Shape, saved=None) -> None:
    if kernel == "forward":
        tuned_forward(q, k, v, causal, shape=shape)
        return
    o, lse = saved or (torch.zeros_like(q), torch.zeros(q.shape[:3], device=q.device))
    both = shapes.backward_shapes(q, causal)
    cut = (shape, both[1]) if kernel == "dkv" else (both[0], shape)
    tuned_backward(q, k, v, o, do, lse, causal, shapes=cut)


def _calls(kernel: str, given: tuple, causal: bool, saved: tuple) -> Callable[[Shape], Call]:
    return lambda shape: lambda: _launch(kernel, *given, causal, shape, saved)


def tune(say: Callable[[str], None] = print) -> dict[str, Shape]:
    """The best shape for each kernel, D and mask in bf16 and fp16 on this GPU; they are remembered."""
    best: dict[str, Shape] = {}
    for dtype, D, causal in itertools.product((torch.bfloat16, torch.float16), (64, 128), (False, True)):
        given = (PROBLEM["B"], PROBLEM["width"] // D, PROBLEM["S"], D)
        q, k, v, do = (torch.randn(given, device="cuda", dtype=dtype) for _ in range(4))
        saved = tuned_forward(q, k, v, causal)
        for kernel in KERNELS:
            call = _calls(kernel, (q, k, v, do), causal, saved)
            tried = search(candidates(D), budget_of(kernel, D, causal, dtype), call)
            name = shapes.key(kernel, q, causal)
            if tried and tried[0].milliseconds is not None:
                best[name] = tried[0].shape
                say(f"{name}: {tried[0].shape}, {tried[0].milliseconds:.3f} ms, of {len(tried)} candidates")
    shapes.remember(best)
    return best
