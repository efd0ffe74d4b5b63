"""Lesson 12, tuning: four small steps, both passes as fast as you can, and a budget to keep."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import sympy as sp
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from flashlearn.exercise import (
    Case,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Prepared,
    Work,
)  # fmt: skip
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_12_tuning import mistakes, planning
from flashlearn.lessons.lesson_12_tuning.reviews import keeps_the_budget, leaves_out_hidden_tiles
from flashlearn.lessons.shared import grouped, readouts, reference
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case
from flashlearn.lessons.shared.grouped_cases import LAYOUTS, flagged

# ---------------------------------------------------------------- folded_logsumexp


def rows_of(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] of the case's magnitude; lengths from 0 to N, or all N where `data` says so; alpha."""
    M, N = case.sizes["M"], case.sizes["N"]
    words = case.data.split(", near ")
    middle = float(words[1]) if len(words) > 1 else 0.0
    x = (middle + case.magnitude * torch.randn(M, N, generator=generator)).to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    lengths = torch.randint(0, N + 1, (M,), generator=generator)
    lengths[0] = 0 if M > 1 else N
    return {"x": x, "lengths": lengths, "alpha": float(words[0].removeprefix("alpha "))}


def folded(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i]."""
    return mistakes.fold(x, lengths, alpha)


def unfolded(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """The same by natural exponentials of what was scaled first."""
    s = alpha * (x if x.dtype == torch.float64 else x.float())
    return reference.logsumexp(
        s.masked_fill(torch.arange(x.shape[1], device=x.device) >= lengths[:, None], -math.inf)
    )


def torch_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """The peer."""
    hidden = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
    return torch.logsumexp((alpha * x.float()).masked_fill(hidden, -math.inf), dim=1)


def rows_work(inputs: Inputs) -> Work:
    """Two operations for each number that counts, which is read once."""
    x, lengths = inputs["x"], inputs["lengths"]
    counted = float(lengths.sum()) if lengths.device.type != "meta" else float(x.numel())
    return Work(2.0 * counted, counted * x.element_size() + 12.0 * x.shape[0])


def _rows(
    M: int, N: int, alpha: float, dtype: torch.dtype = torch.float32, near: float = 0.0, **more: Any
) -> Case:
    data = f"alpha {alpha:g}" + (f", near {near:g}" if near else "")
    name = f"{M} × {N}, {data}"
    name += {FP16: ", fp16", BF16: ", bf16"}.get(dtype, "")
    name += f", values ×{more['magnitude']:g}" if "magnitude" in more else ""
    name += ", columns first in memory" if "layout" in more else ""
    tags = frozenset({"half"} if dtype.itemsize == 2 else ()) | ({"large"} if "magnitude" in more else set())
    return Case(name, {"M": M, "N": N}, dtype, data=data, tags=frozenset(tags), **more)


folded_logsumexp = Exercise(
    name="folded_logsumexp",
    lesson="12",
    kind=Kind.KERNEL,
    title="A logsumexp whose scale is folded into powers of two",
    signature="(x, lengths, alpha) -> lse",
    outputs=("lse",),
    inputs=rows_of,
    cases=(
        _rows(5, 20, 0.25, seed=1),
        _rows(18, 150, 0.125, seed=2),
        _rows(7, 70, -0.5, seed=3),
        _rows(6, 70, -1.5, magnitude=60.0, seed=4),
        _rows(6, 90, 1.5, magnitude=60.0, seed=5),
        _rows(9, 33, 0.0, seed=6),
        _rows(1, 130, -0.3, seed=7),
        _rows(17, 40, -0.3, layout="columns first", seed=8),
        _rows(8, 100, 0.2, FP16, seed=9),
        _rows(8, 100, -0.2, BF16, seed=10),
        _rows(5, 40, 0.5, near=-400.0, seed=13),
        _rows(4096, 4096, -0.2, BF16, seed=11, gpu=True),
    ),
    judged=HowJudged(
        reference=folded,
        twins=(unfolded,),
        output_dtypes={"lse": torch.float32},
        work=rows_work,
    ),
    explained=HowExplained(mistakes=mistakes.FOLDED),
    timed=HowTimed(
        peer=torch_logsumexp,
        peer_name="torch_logsumexp",
        case=_rows(16384, 4096, 0.125, FP16, seed=12, gpu=True),
    ),
    points=2,
    solution="flashlearn.lessons.lesson_12_tuning.folded:folded_logsumexp",
)

# ---------------------------------------------------------------- split_loops

BOUNDS = ("first", "block_q", "block_k", "S_q", "S_k")


def integers(case: Case, generator: torch.Generator) -> Inputs:
    """The case's numbers as sympy's integers."""
    return {name: sp.Integer(value) for name, value in case.sizes.items()}


def _bounds(first: int, block_q: int, block_k: int, S_q: int, S_k: int) -> Case:
    sizes = dict(zip(BOUNDS, (first, block_q, block_k, S_q, S_k), strict=True))
    return Case(f"queries from {first}, tiles {block_q} × {block_k}, S {S_q} × {S_k}", sizes)


split_loops = Exercise(
    name="split_loops",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="Where the loop needs no mask, and where it ends",
    signature="(first, block_q, block_k, S_q, S_k) -> (whole, end)",
    outputs=("whole", "end"),
    inputs=integers,
    cases=(
        _bounds(0, 128, 64, 1024, 1024),
        _bounds(128, 128, 64, 1024, 1024),
        _bounds(127 * 128, 128, 64, 16384, 16384),
        _bounds(64, 64, 128, 512, 512),
        _bounds(96, 32, 32, 100, 100),
        _bounds(0, 64, 32, 64, 100),
        _bounds(64, 64, 32, 100, 64),
        _bounds(0, 32, 32, 100, 37),
        _bounds(0, 16, 16, 1, 200),
        _bounds(31, 1, 32, 64, 64),
    ),
    judged=HowJudged(reference=planning.loop_bounds),
    explained=HowExplained(mistakes=mistakes.SPLIT),
    points=1,
)

# ---------------------------------------------------------------- forward_budget

CONFIGURATION = ("block_q", "block_k", "D", "size", "stages", "warps")


def _configuration(*values: int) -> Case:
    block_q, block_k, D, size, stages, warps = values
    name = f"{block_q} × {block_k}, D {D}, {size} bytes, {stages} stages, {warps} warps"
    return Case(name, dict(zip(CONFIGURATION, values, strict=True)))


forward_budget = Exercise(
    name="forward_budget",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="What a configuration takes, before the compiler is asked",
    signature="(block_q, block_k, D, size, stages, warps) -> (shared, accumulators)",
    outputs=("shared", "accumulators"),
    inputs=integers,
    cases=(
        _configuration(64, 64, 64, 2, 2, 4),
        _configuration(128, 64, 64, 2, 3, 4),
        _configuration(128, 128, 128, 2, 3, 8),
        _configuration(128, 64, 128, 2, 2, 8),
        _configuration(64, 32, 256, 2, 2, 4),
        _configuration(64, 64, 128, 1, 4, 8),
    ),
    judged=HowJudged(reference=planning.forward_budget),
    explained=HowExplained(mistakes=mistakes.BUDGET),
    points=1,
)

# ---------------------------------------------------------------- heaviest_first


def _program(pid: int, blocks: int, heads: int) -> Case:
    return Case(
        f"program {pid} of {blocks} blocks, {heads} heads", {"pid": pid, "blocks": blocks, "heads": heads}
    )


heaviest_first = Exercise(
    name="heaviest_first",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="Which tile a program takes, so that the longest loops begin first",
    signature="(pid, blocks, heads) -> (block, head)",
    outputs=("block", "head"),
    inputs=integers,
    cases=(
        _program(0, 8, 64),
        _program(63, 8, 64),
        _program(64, 8, 64),
        _program(511, 8, 64),
        _program(7, 3, 5),
        _program(14, 3, 5),
        _program(0, 1, 1),
    ),
    judged=HowJudged(reference=planning.program_to_tile),
    explained=HowExplained(mistakes=mistakes.ORDER),
    points=1,
)

# ---------------------------------------------------------------- tuned_forward

TUNED_GPU = (
    (1000, 1000, 128, 2, 16, 16, BF16, True),
    (1024, 1024, 64, 4, 16, 4, FP16, False),
    (777, 1500, 128, 1, 8, 2, BF16, True),
)


COMMON = (
    flagged(attention_case(16, 16, 16, seed=1), False),
    flagged(attention_case(37, 37, 16, B=2, seed=2), True),
    flagged(attention_case(64, 100, 32, seed=3), False),
    flagged(attention_case(100, 64, 32, seed=4), True),
    flagged(attention_case(20, 37, 24, H=2, layout="strided", seed=5), True),
    flagged(attention_case(130, 200, 32, dtype=FP16, seed=6), True),
    flagged(attention_case(70, 160, 64, dtype=BF16, seed=7), False),
    flagged(attention_case(33, 48, 16, H=4, seed=8), True, H_k=2),
    flagged(attention_case(17, 40, 16, H=3, dtype=FP16, seed=9), False, H_k=1),
    flagged(attention_case(64, 37, 16, data="negative alpha", seed=10), False),
    flagged(attention_case(20, 37, 16, H=2, data=LAYOUTS, seed=11), True),
    flagged(attention_case(5, 20, 80, dtype=BF16, seed=12), True),
    flagged(attention_case(9, 17, 128, dtype=FP16, seed=13), False),
    flagged(attention_case(1, 150, 16, H=3, seed=14), True),
    *(
        flagged(attention_case(S_q, S_k, D, B=B, H=H, dtype=dtype, gpu=True, seed=30 + i), causal, H_k)
        for i, (S_q, S_k, D, B, H, H_k, dtype, causal) in enumerate(TUNED_GPU)
    ),
)
FORWARD_CASES = (
    *COMMON,
    dataclasses.replace(
        flagged(attention_case(20, 37, 16, magnitude=10.0, data="negative alpha", seed=15), True),
        name="S 20 × 37, D 16, values ×10, negative alpha, causal",
    ),
    flagged(attention_case(12, 20, 16, H=2, data="alpha 0", seed=16), True),
    flagged(attention_case(37, 64, 16, magnitude=10.0, seed=17), False),
)
TUNED_TIMING = flagged(attention_case(4096, 4096, 128, B=4, H=16, dtype=BF16, gpu=True, seed=40), False)


tuned_forward = Exercise(
    name="tuned_forward",
    lesson="12",
    kind=Kind.KERNEL,
    title="The forward pass, as fast as you can make it",
    signature="(q, k, v, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=cases.forward_inputs,
    cases=FORWARD_CASES,
    judged=HowJudged(
        reference=grouped.forward(reference.attention_forward),
        twins=tuple(map(grouped.forward, cases.FORWARD_TWINS)),
        output_dtypes={"lse": torch.float32},
        work=cases.forward_work,
        real_sizes={"B": 32, "H": 16, "S": 65536, "D": 128},
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        quantities=cases.forward_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=mistakes.FORWARD,
        catalogue=mistakes.OLDER_FORWARD,
    ),
    timed=HowTimed(
        peer=torch_attention.by_backend(SDPBackend.FLASH_ATTENTION),
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": torch_attention.by_backend(SDPBackend.CUDNN_ATTENTION)},
        grades=cases.FORWARD_GRADES,
        case=TUNED_TIMING,
    ),
    points=5,
    solution="flashlearn.kernels.tuned_forward:tuned_forward",
)

# ---------------------------------------------------------------- lean_forward

LEAN_CASES = (
    *(c for c in COMMON if not c.gpu and (c.sizes["S_k"] in (16, 48) or c.sizes["D"] == 128)),
    flagged(attention_case(24, 40, 32, dtype=BF16, seed=18), True),
    flagged(attention_case(20, 40, 16, data="negative alpha", seed=19), False),
)
lean_forward = dataclasses.replace(
    tuned_forward,
    name="lean_forward",
    title="The forward pass within a budget of registers and shared memory",
    cases=LEAN_CASES,
    judged=dataclasses.replace(tuned_forward.judged, review=keeps_the_budget, real_sizes={}),
    timed=HowTimed(peer=tuned_forward.timed.peer, peer_name=tuned_forward.timed.peer_name, case=TUNED_TIMING),
    solution="flashlearn.lessons.lesson_12_tuning.lean:lean_forward",
    explained=HowExplained(
        mistakes=mistakes.LEAN,
        catalogue=mistakes.OLDER_FORWARD,
        quantities=cases.forward_quantities,
        weights=readouts.readout(readouts.forward_weights),
    ),
    points=2,
)

# ---------------------------------------------------------------- tuned_backward


tuned_backward = Exercise(
    name="tuned_backward",
    lesson="12",
    kind=Kind.KERNEL,
    title="The backward pass, as fast as you can make it",
    signature="(q, k, v, o, do, lse, causal, alpha) -> (dq, dk, dv)",
    outputs=("dq", "dk", "dv"),
    inputs=cases.backward_inputs,
    cases=COMMON,
    judged=HowJudged(
        reference=grouped.backward(reference.attention_gradients),
        twins=tuple(map(grouped.backward, cases.BACKWARD_TWINS)),
        gradient=True,
        atomics=True,
        work=cases.backward_work,
        real_sizes={"B": 32, "H": 16, "S": 65536, "D": 128},
    ),
    explained=HowExplained(
        quantities=cases.backward_quantities,
        weights=readouts.of_gradients(),
        mistakes=mistakes.BACKWARD,
        catalogue=mistakes.OLDER_BACKWARD,
    ),
    timed=HowTimed(
        peer=cases.sdpa_backward,
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": Prepared(cases.cudnn_backward)},
        grades=cases.BACKWARD_GRADES,
        case=TUNED_TIMING,
    ),
    points=5,
    solution="flashlearn.kernels.tuned_backward:tuned_backward",
)
