"""Triton's autotuner on the ladder's kernel: configurations, what prunes them, and what the search costs.

>>> left, seconds = pruned(D=128, causal=False)        # on any machine, by the compiler
>>> search(q, k, v, causal=False)["best"]              # on a GPU
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from flashlearn.kernels.described import heads_together
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import EDGE
from flashlearn.lessons.lesson_12_tuning import counted, planning
from flashlearn.lessons.lesson_12_tuning.ladder import upto
from flashlearn.lessons.lesson_12_tuning.rung_kernel import constants, descriptors, rung_kernel

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


def prune(configs: Sequence[triton.Config], given: dict, **more: Any) -> list[triton.Config]:
    """What is worth a measurement: it fits on paper, and the compiler spills no registers."""
    kept = []
    for one in configs:
        if not fits_on_paper(one, more["D"]):
            continue
        launch = counted.launched(counted.shaped(VARIANT, cut(one)), more["D"], more["IS_CAUSAL"])
        made = counted.needs(launch)
        if not made.get("error") and made["spilled"] == 0 and made["occupancy"] > 0:
            kept.append(one)
    return kept


autotuned_kernel = triton.autotune(
    configs=CONFIGURATIONS, key=["S", "D", "IS_CAUSAL"], prune_configs_by={"early_config_prune": prune}
)(rung_kernel)


def pruned(D: int, causal: bool) -> tuple[list[triton.Config], float]:
    """The configurations that are left, and the seconds that pruning took."""
    started = time.perf_counter()
    left = prune(CONFIGURATIONS, {}, D=D, IS_CAUSAL=causal)
    return left, time.perf_counter() - started


def autotuned_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE by the autotuned kernel: the first call for a key searches, and later ones look it up."""
    B, H, S, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S), dtype=torch.float32, device=q.device)
    group = heads_together(B * H, S // 64, 2 * S * D * q.element_size(), causal)
    autotuned_kernel[lambda meta: (S // meta["BLOCK_Q"] * B * H,)](
        *descriptors(VARIANT, (q, k, v, o), 64, 64, EDGE), q, k, v, o, lse, alpha, B * H, S, group, 0,
        **constants(VARIANT), IS_CAUSAL=causal, EDGE=EDGE, D=D,
    )  # fmt: skip
    return o, lse


def search(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> dict[str, Any]:
    """What the search found and took on this GPU, and what a call takes once the result is in the cache."""
    call = (q, k, v, causal, q.shape[-1] ** -0.5)
    before, first = set(autotuned_kernel.cache), _seconds(call)
    keys = [str(key) for key in autotuned_kernel.cache if key not in before]
    timed = {str(cut(one)): times[0] for one, times in autotuned_kernel.configs_timings.items()}
    return {
        "D": q.shape[-1],
        "S": q.shape[2],
        "causal": causal,
        "configurations": len(CONFIGURATIONS),
        "milliseconds": dict(sorted(timed.items(), key=lambda item: item[1])),
        "best": str(cut(autotuned_kernel.best_config)),
        "key": keys,
        "first call": first,
        "second call": _seconds(call),
    }


def _seconds(call: tuple) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    autotuned_forward(*call)
    torch.cuda.synchronize()
    return time.perf_counter() - started
