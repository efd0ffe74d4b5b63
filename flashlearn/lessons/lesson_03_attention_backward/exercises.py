"""Lesson 03, attention's backward pass by hand: four symbolic answers, the formulas in torch, one kernel."""

from __future__ import annotations

from typing import Any

import torch

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, HowTimed, Kind
from flashlearn.lessons.lesson_03_attention_backward import given, mistakes, one_walk
from flashlearn.lessons.shared import quantities, reference
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import PlainCall

# ---------------------------------------------------------------- symbolic: matrices of symbols


def _shape(S_q: int, S_k: int, D: int) -> str:
    queries, keys = ("query" if S_q == 1 else "queries"), ("key" if S_k == 1 else "keys")
    return f"{S_q} {queries}, {S_k} {keys}, D = {D}"


def _sizes(S_q: int, S_k: int, D: int, **more: Any) -> Case:
    return Case(f"any entries, {_shape(S_q, S_k, D)}", {"S_q": S_q, "S_k": S_k, "D": D}, **more)


SIZES = (_sizes(2, 3, 2), _sizes(3, 2, 1), _sizes(2, 2, 2), _sizes(1, 1, 1))
EXAMPLE_SIZES = {"S_q": 4, "S_k": 3, "D": 2}

attention_dv_dp = Exercise(
    name="attention_dv_dp",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="Back through O = P V",
    signature="(p, v, do) -> (dv, dp)",
    outputs=("dv", "dp"),
    inputs=given.dv_dp_inputs,
    cases=(Case("the running example's V and dO", EXAMPLE_SIZES, data="example"), *SIZES),
    judged=HowJudged(
        reference=given.dv_dp,
    ),
    explained=HowExplained(
        mistakes=mistakes.DV_DP,
    ),
    hints=(
        "$O = P V$ has two factors. Each one's gradient is $dO$ multiplied by the *other* factor, "
        "transposed, and it stays on its own side: $P$ stands on the left of $V$.",
        "dV must be $[S_k, D]$, made of $P$, which is $[S_q, S_k]$, and $dO$, which is $[S_q, D]$: the "
        "summed index is the query. dP must be $[S_q, S_k]$, made of $dO$ and $V$: the summed index is the "
        "component.",
        "`dv = p.T * do`. One product is left for you: `do` times something gives `dp`.",
    ),
)

delta_identity = Exercise(
    name="delta_identity",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="The same sum in the other order",
    signature="(P, V, dO, i, d, S_k, D) -> (o_id, delta_i)",
    outputs=("o_id", "delta_i"),
    inputs=given.identity_inputs,
    cases=(
        Case("any number of keys, any D"),
        Case("3 keys, D = 2", {"S_k": 3, "D": 2}),
        Case("4 keys, D = 3", {"S_k": 4, "D": 3}),
        Case("1 key, D = 1", {"S_k": 1, "D": 1}),
    ),
    judged=HowJudged(
        reference=given.identity,
    ),
    explained=HowExplained(
        mistakes=mistakes.DELTA_IDENTITY,
    ),
    hints=(
        "With the sum over $d$ outside, $dO_{id}$ does not depend on $j$ and can stand in front of the "
        "inner sum. What is left inside, $\\sum_j P_{ij} V_{jd}$, has a name.",
        "`o_id` is one `sp.Sum` over j with a free index `d`; `delta_i` is an `sp.Sum` over d of `dO[i, d] "
        "* o_id`. A sympy sum includes its upper end: `(j, 0, S_k - 1)`.",
        '`j = sp.Symbol("j", integer=True)` and `o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))`. One '
        "more line of the same kind, over `(d, 0, D - 1)`.",
    ),
)

lse_gradient = Exercise(
    name="lse_gradient",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="A loss that also uses LSE",
    signature="(p, dp, dlse) -> ds",
    outputs=("ds",),
    inputs=given.lse_inputs,
    cases=(
        Case("p = (1/6, 1/3, 1/2), dp = (1, −2, 0), dlse = 2", {"N": 3}, data="example"),
        Case("any p, N = 2", {"N": 2}),
        Case("any p, N = 3", {"N": 3}),
        Case("N = 1", {"N": 1}),
    ),
    judged=HowJudged(
        reference=given.lse_vjp,
    ),
    explained=HowExplained(
        mistakes=mistakes.LSE,
    ),
    hints=(
        "A score reaches the loss by two paths, through $p$ and through LSE. Gradients of two paths add. "
        "The first is lesson 02's formula; for the second you need $\\partial\\,\\mathrm{LSE} / \\partial "
        "s_j$.",
        "$\\partial\\,\\mathrm{LSE} / \\partial s_j = p_j$, so the second path contributes `dlse * p`, a "
        "column. The first contributes `p.multiply_elementwise(...)` of a column.",
        "The first path: `p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))`. Add the second "
        "path's column to it.",
    ),
)

attention_dq_dk = Exercise(
    name="attention_dq_dk",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="Back through S = alpha Q Kᵀ",
    signature="(q, k, ds, alpha) -> (dq, dk)",
    outputs=("dq", "dk"),
    inputs=given.dq_dk_inputs,
    cases=(Case("the running example's Q and K", EXAMPLE_SIZES, data="example"), *SIZES),
    judged=HowJudged(
        reference=given.dq_dk,
    ),
    explained=HowExplained(
        mistakes=mistakes.DQ_DK,
    ),
    hints=(
        "By the order rule, the left factor of $Q K^\\top$ gets $dS$ times the right factor transposed. "
        "The right factor is $K^\\top$; its gradient is $Q^\\top dS$, and $dK$ is the transpose of that.",
        "dQ is $[S_q, D]$ from $dS$, $[S_q, S_k]$, and $K$, $[S_k, D]$. dK is $[S_k, D]$ from $dS$ and $Q$, "
        "$[S_q, D]$: the query is summed away, so $dS$ has to be turned. Where does alpha go?",
        "`dq = alpha * ds * k`. One line is left for you: `dk`, with the query as the summed index, and "
        "alpha.",
    ),
)

# ---------------------------------------------------------------- torch: dQ in one walk


def _walked(S_q: int, S_k: int, D: int, block: int, **more: Any) -> Case:
    name = f"{_shape(S_q, S_k, D)}, tiles of {block}" + (f", {more['data']}" if "data" in more else "")
    return Case(name, {"S_q": S_q, "S_k": S_k, "D": D, "block": block}, **more)


dq_in_one_walk = Exercise(
    name="dq_in_one_walk",
    lesson="03",
    kind=Kind.TORCH,
    title="dQ without delta in advance",
    signature="(q, do, lse, tiles, alpha) -> dq",
    outputs=("dq",),
    inputs=one_walk.inputs,
    cases=(
        _walked(7, 6, 4, 2, seed=1),
        Case("the running example, tiles of 1", {**EXAMPLE_SIZES, "block": 1}, data="example"),
        _walked(5, 9, 3, 4, seed=2),
        _walked(1, 4, 2, 3, seed=4),
        _walked(4, 1, 2, 3, seed=5),
        _walked(37, 20, 24, 8, seed=6),
        _walked(8, 5, 4, 2, data="negative alpha", seed=7),
        _walked(6, 7, 4, 3, data="scores beyond 100", magnitude=12.0, seed=8),
    ),
    judged=HowJudged(
        reference=one_walk.dq,
        twins=(one_walk.dq_with_delta_first,),
        gradient=True,
        call=one_walk.call,
    ),
    explained=HowExplained(
        mistakes=mistakes.ONE_WALK,
    ),
    points=2,
    hints=(
        "$dQ_i = \\alpha \\sum_j P_{ij}\\,(dP_{ij} - \\delta_i)\\,K_j$. Multiply the bracket out: which of "
        "the two sums needs $\\delta_i$, and where can it stand in that sum?",
        "$\\delta_i$ does not depend on $j$, so it can wait in front of its sum until the walk is over. "
        "Three sums are carried: $\\sum P\\,dP\\,K$ and $\\sum P K$, both $[S_q, D]$, and $\\sum P\\,dP$, "
        "$[S_q, 1]$.",
        "In the loop: `p = torch.exp(alpha * q @ k.T - lse[:, None])`, `worth = p * (do @ v.T)`, and three "
        "sums of `worth @ k`, `p @ k` and `worth.sum(dim=1, keepdim=True)`. What you return is left for "
        "you.",
    ),
)

# ---------------------------------------------------------------- torch: the formulas


def differentiates(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the answer leaves the work to autograd, which inference mode rules out."""
    case = attention_backward.cases[0]
    inputs = attention_backward.inputs(case, case.generator())
    if answer.run(inputs, PlainCall(autograd="inference")).raised is None:
        return ""
    return (
        "The numbers are right, but autograd computed them. Here the formulas have to: dV, dP, "
        "delta, dS, dQ and dK, one line each."
    )


def _matrices(S_q: int, S_k: int, D: int, **more: Any) -> Case:
    name = _shape(S_q, S_k, D) + (f", {more['data']}" if "data" in more else "")
    tags = frozenset({"S_q ≠ S_k"} if S_q != S_k else ())
    return Case(name, {"S_q": S_q, "S_k": S_k, "D": D}, tags=tags, **more)


attention_backward = Exercise(
    name="attention_backward",
    lesson="03",
    kind=Kind.TORCH,
    title="The backward pass in formulas",
    signature="(q, k, v, do, alpha) -> (dq, dk, dv)",
    outputs=("dq", "dk", "dv"),
    inputs=given.backward_inputs,
    cases=(
        _matrices(7, 5, 4, seed=1),
        Case("the running example", EXAMPLE_SIZES, data="example"),
        _matrices(5, 9, 3, seed=2),
        _matrices(6, 6, 6, seed=3),
        _matrices(1, 4, 2, seed=4),
        _matrices(4, 1, 2, seed=5),
        _matrices(37, 20, 24, seed=6),
        _matrices(8, 5, 4, data="negative alpha", seed=7),
        _matrices(6, 7, 4, data="scores beyond 100", magnitude=12.0, seed=8),
        _matrices(7, 6, 4, data="negative alpha", magnitude=12.0, seed=9),
    ),
    judged=HowJudged(
        reference=given.backward,
        twins=(given.backward_without_lse, given.backward_prescaled),
        gradient=True,
        review=differentiates,
    ),
    explained=HowExplained(
        mistakes=mistakes.BACKWARD,
    ),
    points=2,
    hints=(
        "Write the forward pass first, since the backward pass needs P. Then go back from the end: from O "
        "= P V to dV and dP; through the softmax, row by row, to dS; from S = alpha Q Kᵀ to dQ and dK.",
        "P, dP and dS are $[S_q, S_k]$. delta is one number per query: `(p * dp).sum(dim=-1, "
        "keepdim=True)` is $[S_q, 1]$ and is subtracted from every column. dQ has Q's shape, dK and dV "
        "have K's.",
        "`p = torch.softmax(alpha * q @ k.T, dim=-1)`, `dv = p.T @ do`, `dp = do @ v.T`, `ds = p * (dp - "
        "(p * dp).sum(dim=-1, keepdim=True))`, `dq = alpha * ds @ k`. One line is left for you.",
    ),
)

# ---------------------------------------------------------------- the kernel


def _heads(S: int, D: int, B: int = 1, H: int = 1, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    """A case named by its sizes and layout, tagged by what they are about."""
    name = f"S {S}, D {D}" + (f", B·H {B * H}" if B * H > 1 else "")
    name += {torch.float16: ", fp16", torch.bfloat16: ", bf16"}.get(dtype, "")
    name += f", values ×{more['magnitude']:g}" if "magnitude" in more else ""
    name += f", {more.get('data', 'o and do')} laid out as {more['layout']}" if "layout" in more else ""
    tags = {
        "ragged": bool(S % 32),
        "padded D": bool(D & (D - 1)),
        "half": dtype.itemsize == 2,
        "heads": B * H > 1,
        "strided": "layout" in more,
    }
    chosen = frozenset(tag for tag, on in tags.items() if on)
    return Case(name, {"B": B, "H": H, "S": S, "D": D}, dtype, tags=chosen, **more)


FP16, BF16 = torch.float16, torch.bfloat16

delta_preprocess = Exercise(
    name="delta_preprocess",
    lesson="03",
    kind=Kind.KERNEL,
    title="One delta per query",
    signature="(o, do) -> delta",
    outputs=("delta",),
    inputs=given.delta_inputs,
    cases=(
        _heads(16, 16, seed=1),
        _heads(4, 2, seed=2),
        _heads(37, 24, B=2, H=3, seed=3),
        _heads(100, 32, H=2, seed=4),
        _heads(1, 64, seed=5),
        _heads(64, 48, seed=6),
        _heads(37, 16, B=2, H=3, layout="[B, S, H, D]", seed=7),
        _heads(20, 24, layout="slice", data="do", seed=9),
        _heads(20, 24, B=2, H=2, layout="[B, S, H, D]", data="o", seed=8),
        _heads(33, 16, H=2, layout="D outside", data="do", seed=10),
        _heads(33, 16, H=2, layout="one number", data="do", seed=11),
        _heads(37, 64, H=2, dtype=FP16, seed=12),
        _heads(37, 40, H=2, dtype=BF16, seed=13),
        _heads(16, 32, dtype=FP16, magnitude=100.0, seed=14),
        _heads(5, 80, H=2, seed=19),
        _heads(3, 136, H=2, seed=20),
        _heads(300, 3, seed=21),
        _heads(1024, 64, B=32, H=8, dtype=FP16, seed=15, gpu=True),
        _heads(500, 64, B=32, H=8, dtype=BF16, layout="[B, S, H, D]", seed=16, gpu=True),
        _heads(999, 96, B=3, H=5, dtype=FP16, layout="D outside", data="do", seed=17, gpu=True),
    ),
    judged=HowJudged(
        reference=reference.attention_delta,
        twins=(given.delta_by_halves, given.delta_in_order),
        output_dtypes={"delta": torch.float32},
        gradient=True,
        work=given.delta_work,
    ),
    explained=HowExplained(
        mistakes=mistakes.DELTA,
        quantities=quantities.delta,
    ),
    timed=HowTimed(
        peer=given.torch_delta,
        peer_name="torch_delta",
        case=_heads(4096, 64, B=32, H=8, dtype=FP16, gpu=True, seed=18),
    ),
    points=2,
    solution="flashlearn.kernels.delta:delta_preprocess",
    hints=(
        "It is `row_sum` of lesson 00 with a product before the sum and four dimensions in the address: "
        "one program owns BLOCK_S queries of one head. Which of its lanes do not exist, and what may they "
        "hold?",
        "`i[:, None]` is `[BLOCK_S, 1]` and `d[None, :]` is `[1, BLOCK_D]`; pointers and mask are "
        "`[BLOCK_S, BLOCK_D]`. An element of o is at `b * o_b + h * o_h + i * o_s + d * o_d`, of do "
        "likewise with its own strides. `tl.sum(..., axis=1)` leaves `[BLOCK_S]`, and delta's element is "
        "`(b * H + h) * S + i`.",
        "With `in_tile = (i < S)[:, None] & (d < D)[None, :]`: `o = tl.load(o_ptr + b * o_b + h * o_h + "
        "i[:, None] * o_s + d[None, :] * o_d, mask=in_tile, other=0.0).to(tl.float32)`. Three lines are left "
        "for you: do with its own strides, one sum, and one store under `i < S`.",
    ),
)
