"""Triton's autotuner on the ladder's kernel: configurations, what prunes them, and what the search costs.

>>> left, seconds = pruned(D=128, causal=False)        # on any machine, by the compiler
>>> search(q, k, v, causal=False)["best"]              # on a GPU
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import triton
from torch import Tensor
from triton.runtime.autotuner import Autotuner

from flashlearn.kernels.described import heads_together
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import EDGE
from flashlearn.lessons.lesson_12_tuning import counted, planning
from flashlearn.lessons.lesson_12_tuning.ladder import upto
from flashlearn.lessons.lesson_12_tuning.rung_kernel import constants, descriptors, rung_kernel
from flashlearn.machine.timers import WallClockTimer

VARIANT = upto("small masked tiles")
FEW_ENOUGH = 128
"""Accumulators of a thread."""


def fit_descriptors(given: dict[str, Any]) -> None:
    """Before each launch: a descriptor holds the shape of its block, which is the configuration's."""
    for name, block in (("qd", "BLOCK_Q"), ("od", "BLOCK_Q"), ("kd", "BLOCK_K"), ("vd", "BLOCK_K")):
        given[name].block_shape = [1, given[block], given["D"]]


CONFIGURATIONS = [
    triton.Config(
        {"BLOCK_Q": block_q, "BLOCK_K": block_k}, num_warps=warps, num_stages=stages, pre_hook=fit_descriptors
    )
    for block_q in (64, 128, 256)
    for block_k in (64, 128)
    for warps in (4, 8)
    for stages in (1, 2, 3)
]


def cut(one: triton.Config) -> Shape:
    """A configuration as the shape of a launch."""
    return Shape(one.kwargs["BLOCK_Q"], one.kwargs["BLOCK_K"], one.num_warps, one.num_stages)


def fits_on_paper(one: triton.Config, D: int) -> bool:
    """Whether the formula leaves it: shared memory of an H100's block, and accumulators of a thread."""
    shape = cut(one)
    shared, accumulators = planning.forward_budget(
        shape.block_q, shape.block_k, D, 2, shape.stages, shape.warps
    )
    return shared <= counted.H100.shared_per_block and accumulators <= FEW_ENOUGH


def compiled(one: triton.Config, D: int, causal: bool) -> dict[str, Any]:
    """What a configuration of the kernel needs on an H100."""
    return counted.needs(counted.launched(counted.shaped(VARIANT, cut(one)), D, causal))


def prune(configs: Sequence[triton.Config], given: dict, **more: Any) -> list[triton.Config]:
    """What is worth a measurement: it fits on paper, and the compiler spills no registers."""
    kept = []
    for one in configs:
        if fits_on_paper(one, more["D"]):
            made = compiled(one, more["D"], more["IS_CAUSAL"])
            if not made.get("error") and made["spilled"] == 0 and made["occupancy"] > 0:
                kept.append(one)
    return kept


autotuned_kernel = triton.autotune(
    configs=CONFIGURATIONS, key=["S", "D", "IS_CAUSAL"], prune_configs_by={"early_config_prune": prune}
)(rung_kernel)


def forward(
    kernel: Autotuner, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, Tensor]:
    """O and LSE by an autotuned kernel: the first call for a key searches, and later ones look it up."""
    B, H, S, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S), dtype=torch.float32, device=q.device)
    group = heads_together(B * H, S // 64, 2 * S * D * q.element_size(), causal)
    kernel[lambda meta: (S // meta["BLOCK_Q"] * B * H,)](
        *descriptors(VARIANT, (q, k, v, o), 64, 64, EDGE), q, k, v, o, lse, alpha, B * H, S, group, 0,
        **constants(VARIANT), IS_CAUSAL=causal, EDGE=EDGE, D=D,
    )  # fmt: skip
    return o, lse


def search(kernel: Autotuner, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> dict[str, Any]:
    """What the search found and took on this GPU, and what a call takes once the result is in the cache."""
    call = functools.partial(forward, kernel, q, k, v, causal, q.shape[-1] ** -0.5)
    first, second = _seconds(call), _seconds(call)
    timed = {
        str(cut(one)): times[0] for one, times in kernel.configs_timings.items() if math.isfinite(times[0])
    }
    return {
        "D": q.shape[-1],
        "S": q.shape[2],
        "causal": causal,
        "configurations": len(CONFIGURATIONS),
        "milliseconds": dict(sorted(timed.items(), key=lambda item: item[1])),
        "cache": {str(key): str(cut(one)) for key, one in kernel.cache.items()},
        "first call": first,
        "second call": second,
    }


def report(found: dict[str, Any]) -> Iterator[str]:
    """A search in words: what was timed, the best and the worst, and what it cost."""
    times = found["milliseconds"]
    mask = "causal" if found["causal"] else "full"
    yield f"D {found['D']}, S {found['S']}, {mask}: {len(times)} of {found['configurations']} were timed"
    best, worst = next(iter(times)), list(times)[-1]
    yield f"  fastest {best}: {times[best]:.3f} ms"
    yield f"  slowest {worst}: {times[worst]:.3f} ms, {times[worst] / times[best]:.2f} times as long"
    yield f"  first call {found['first call']:.1f} s, second call {1e3 * found['second call']:.2f} ms"
    for key, shape in found["cache"].items():
        yield f"  in the cache: {key} → {shape}"


def _seconds(call: Callable[[], object]) -> float:
    return WallClockTimer().times([call])[0] / 1e3
