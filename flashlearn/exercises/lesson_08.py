"""Lesson 08, dK and dV: two kernels that own keys and scan queries, without and with a causal mask."""

from __future__ import annotations

from collections.abc import Callable

from flashlearn import reference
from flashlearn.exercise import Exercise, Kind
from flashlearn.exercises import backward_cases as backward
from flashlearn.exercises import mistakes_08, quantities, readouts
from flashlearn.exercises.attention_cases import REAL_SIZES, TIMING

SIGNATURE = "(q, k, v, o, do, lse, alpha) -> (dk, dv)"


def leaves_out_hidden_tiles(function: Callable) -> str:
    """A complaint if the causal kernel multiplies tiles in which nothing is visible."""
    return backward.skips_hidden_tiles(function, products=4)


dkv_kernel = Exercise(
    name="dkv_kernel",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV, one program per block of keys",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.backward_inputs,
    reference=backward.only_dk_dv(reference.attention_gradients, causal=False),
    twins=backward.twins(backward.only_dk_dv, causal=False),
    cases=backward.CASES,
    points=3,
    gradient=True,
    work=backward.dkv_work,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel",
    weights=readouts.readout(readouts.dv_weights),
    quantities=quantities.backward("dk", "dv"),
    peer=backward.sdpa_backward,
    timing_case=TIMING,
    real_sizes=REAL_SIZES,
    mistakes=mistakes_08.DKV,
    hints=(
        "Turn the forward pass by 90 degrees: load this block's `k` and `v` once, and let Q and dO come by, "
        "with their `lse` and `delta`. Two sums grow over the queries, `dv` from $P$ and `dk` from $dS$.",
        "Four products per tile: `s` and `dp` are (BLOCK_Q, BLOCK_K) as before; `dv` gets $P^\\top dO$ and "
        "`dk` gets $dS^\\top Q$, both (BLOCK_K, BLOCK_D), so `tl.trans(...)` of the cast tile comes first. "
        "A padded query must have $P = 0$: which `other=` for LSE makes `exp(s - lse)` zero?",
        "In the loop: `lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float(\"inf\"))`; `s` and `p` "
        "as in lesson 07; `dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision=\"ieee\")`; `dp` and "
        "`ds` as in lesson 07; `dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision=\"ieee\")`. After "
        "the loop: `dk *= alpha`, two stores under `in_keys` and `in_d`.",
    ),
)  # fmt: skip

dkv_kernel_causal = Exercise(
    name="dkv_kernel_causal",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV where later keys are hidden",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.causal_backward_inputs,
    reference=backward.only_dk_dv(reference.attention_gradients, causal=True),
    twins=backward.twins(backward.only_dk_dv, causal=True),
    cases=backward.CASES,
    points=2,
    gradient=True,
    work=backward.dkv_causal_work,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel_causal",
    weights=readouts.readout(readouts.dv_weights, causal=True),
    quantities=quantities.backward("dk", "dv", causal=True),
    peer=backward.sdpa_backward_causal,
    timing_case=TIMING,
    real_sizes=REAL_SIZES,
    mistakes=mistakes_08.CAUSAL,
    review=leaves_out_hidden_tiles,
    hints=(
        "For dQ the mask cut the *end* off the loop. Here a program stands at its keys and looks at queries: "
        "early queries do not see it. What does the mask cut off?",
        "Query i sees key j where $j \\le i + S_k - S_q$, so key j is first seen by "
        "$i = j - (S_k - S_q)$, or by query 0 if that is negative. Take the block's first key, and round "
        "down to a multiple of BLOCK_Q. Queries that see nothing have LSE $= -\\infty$, and must add 0 to "
        "both sums.",
        "`first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))`, then "
        "`for start in range(first // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q)`. In it: "
        "`lse_i = tl.where(lse_i == -float(\"inf\"), float(\"inf\"), lse_i)` and "
        "`p = tl.exp(tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float(\"inf\")) - "
        "lse_i[:, None])`.",
    ),
)  # fmt: skip
