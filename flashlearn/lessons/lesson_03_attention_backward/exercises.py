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
)
