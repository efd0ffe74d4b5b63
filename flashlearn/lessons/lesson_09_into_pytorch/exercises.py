"""Lesson 09, into PyTorch: a launcher for any strides, the autograd.Function, a training run with both."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_09_into_pytorch import bad_arguments, lone_gradients, mistakes, training
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.autograd import other_call
from flashlearn.lessons.shared import readouts, reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, products_work
from flashlearn.lessons.shared.tiled_twins import forward_from_lse, forward_in_tiles, gradients_in_tiles

# ---------------------------------------------------------------- strided_inputs: a launcher


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers [B, H, S, D], stored otherwise.

    "projection": [B, S, H, D] in memory. "columns": [B, H, D, S], so that S has stride 1. "every second":
    the last dimension has stride 2. "expanded": the first head's numbers for all heads, with stride 0.
    """
    if layout == "projection":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "columns":
        return x.mT.contiguous().mT
    if layout == "every second":
        wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), 50.0, dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "expanded":
        return x[:, :1].contiguous().expand(x.shape)
    return x


def strided(case: Case, generator: torch.Generator) -> Inputs:
    """q, k and v in the layouts that the case's `layout` lists in this order; alpha from `data`, or None."""
    B, H, S_q, S_k, D = (case.sizes[name] for name in ("B", "H", "S_q", "S_k", "D"))
    drawn = [torch.randn(B, H, S, D, generator=generator).to(case.dtype) for S in (S_q, S_k, S_k)]
    if case.layout == "packed":  # one buffer [B, S, 3, H, D], as a single projection to q, k and v leaves it
        buffer = torch.stack([x.transpose(1, 2) for x in drawn], dim=2).contiguous()
        views = list(buffer.permute(2, 0, 3, 1, 4))
    else:
        layouts = case.layout.split(", ") if case.layout != "contiguous" else ["contiguous"] * 3
        views = [lay_out(x, layout) for x, layout in zip(drawn, layouts, strict=True)]
    return {**dict(zip("qkv", views, strict=True)), "alpha": alpha_of(case)}


def alpha_of(case: Case) -> float | None:
    """What the case's `data` says of alpha, None where it says nothing."""
    return next(
        (float(w.removeprefix("alpha ")) for w in case.data.split(", ") if w.startswith("alpha ")), None
    )


def with_default(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reference's function with alpha = 1/√D where it is None."""

    @functools.wraps(function)
    def called(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> Any:
        return function(q, k, v, 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha)

    return called


def forward_work(inputs: Inputs) -> Work:
    """Two products; q, k and v read once, o written once. Heads that share memory are read once."""
    given = {name: inputs[name] for name in "qkv"}
    return products_work(given, 2, ("q",))


def sdpa(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> Tensor:
    """The peer: torch's attention, by its FlashAttention-2 backend."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, scale=alpha)


def _case(said: str, S_q: int, S_k: int, D: int, **more: Any) -> Case:
    """A case named by its sizes and by `said`."""
    plain = {name: value for name, value in more.items() if name not in ("data", "layout")}
    case = attention_case(S_q, S_k, D, **more)
    return replace(case, name=", ".join(filter(None, [attention_case(S_q, S_k, D, **plain).name, said])))


STRIDED = (
    _case("contiguous", 16, 16, 16, seed=1),
    _case("[B, S, H, D] in memory", 20, 33, 16, H=2, layout="projection, projection, projection", seed=2),
    _case("cut out of one buffer", 24, 24, 16, H=2, layout="packed", seed=3),
    _case(
        "alpha 0.3, each laid out otherwise", 17, 33, 16, H=2, layout="contiguous, projection, columns",
        data="alpha 0.3", seed=4,
    ),
    _case("every second element", 20, 24, 24, H=2, layout="every second, every second, contiguous", seed=5),
    _case("k and v expanded", 16, 20, 16, H=3, layout="contiguous, expanded, expanded", seed=6),
    _case(
        "alpha 0, q expanded", 12, 20, 16, H=2, layout="expanded, contiguous, projection", data="alpha 0.0",
        seed=7,
    ),
    _case("q [B, S, H, D]", 33, 20, 16, B=2, H=2, layout="projection, contiguous, contiguous", seed=8),
    _case(
        "k transposed", 40, 24, 32, H=2, layout="projection, columns, projection", dtype=FP16, seed=9
    ),
    _case(
        "each laid out otherwise", 24, 40, 32, H=2, layout="columns, projection, every second", dtype=BF16,
        seed=10,
    ),
    _case("D beyond 64", 5, 7, 80, H=2, seed=14),
    _case("D beyond 128", 3, 5, 136, seed=15, compiled=False),
    _case("cut out of one buffer", 500, 500, 64, B=8, H=8, dtype=FP16, layout="packed", seed=11, gpu=True),
    _case(
        "each laid out otherwise", 1024, 500, 64, B=8, H=8, dtype=BF16,
        layout="projection, expanded, columns", seed=12, gpu=True,
    ),
)  # fmt: skip

strided_inputs = Exercise(
    name="strided_inputs",
    lesson="09",
    kind=Kind.KERNEL,
    title="A launcher that takes any strides, and refuses what does not fit",
    signature="(q, k, v, alpha=None) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=strided,
    cases=STRIDED,
    judged=HowJudged(
        reference=with_default(reference.attention_forward),
        twins=(
            with_default(reference.attention_forward_rounded),
            with_default(reference.attention_forward_base2),
            with_default(forward_in_tiles),
            with_default(forward_from_lse),
        ),
        output_dtypes={"lse": torch.float32},
        work=forward_work,
        review=bad_arguments.review,
    ),
    timed=HowTimed(
        peer=sdpa,
        peer_name="sdpa",
        case=attention_case(1024, 1024, 64, B=32, H=8, dtype=FP16, layout="packed", gpu=True, seed=13),
    ),
    explained=HowExplained(
        mistakes=mistakes.STRIDED,
        weights=readouts.readout(readouts.forward_weights),
    ),
    points=2,
    solution="flashlearn.kernels.attention:strided_inputs",
)

# ---------------------------------------------------------------- flash_attention: an autograd.Function


def differentiated(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, causal, alpha; and for the check alone: do, and whether a second call comes in between."""
    given = strided(case, generator)
    words = case.data.split(", ")
    q = given["q"]
    if "dO of a sum" in words:
        do = torch.ones((), dtype=q.dtype).expand(q.shape)  # what o.sum() sends back: all strides 0
    else:
        do = torch.randn(q.shape, generator=generator).to(q.dtype)
        do = lay_out(do, "projection") if case.layout != "contiguous" else do
    return {
        **{name: given[name] for name in "qkv"},
        "causal": "causal" in words,
        "alpha": given["alpha"],
        "do": do,
        "another_call": "another call in between" in words,
    }


def forward_and_backward(function: Callable[..., Any], given: Inputs) -> tuple:
    """o of the learner's function, and what autograd makes of it: (o, dq, dk, dv).

    Where o hangs on no graph, the gradients are NaN; where a gradient is missing, it is None, and so is one
    that `wanted`, if it is given, does not name.
    """
    wanted = given.get("wanted", "qkv")
    leaves = [given[name].detach().requires_grad_(name in wanted) for name in "qkv"]
    with torch.enable_grad():
        o = function(*leaves, given["causal"], given["alpha"])
        if given["another_call"]:
            *others, causal, alpha = other_call(*leaves, given["causal"])
            alike = [t.clone() for t in others]  # what is kept by its form alone is this call's from now on
            function(*(t.requires_grad_() for t in alike), given["causal"], given["alpha"])
            function(*(t.requires_grad_() for t in others), causal, alpha)
    if not isinstance(o, Tensor) or not o.requires_grad:
        return (o, *(torch.full_like(t, math.nan) for t in leaves))
    asking = [leaf for leaf in leaves if leaf.requires_grad]
    found = dict(zip(wanted, torch.autograd.grad(o, asking, given["do"], allow_unused=True), strict=True))
    return (o.detach(), *(found.get(name) for name in "qkv"))


def whole(gradients: Callable[..., tuple], forward: Callable[..., tuple]) -> Callable[..., Any]:
    """(q, k, v, causal, alpha, do) → (o, dq, dk, dv) by the reference's formulas; o alone without do."""

    def computed(q, k, v, causal=False, alpha=None, do=None, another_call=False):
        alpha = 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha
        o, lse = forward(q, k, v, alpha, causal)
        return o if do is None else (o, *gradients(q, k, v, o, do, lse, alpha, causal))

    return computed


def attention_work(inputs: Inputs) -> Work:
    """Two products forward, five backward; q, k, v and do read once, o and three gradients written once."""
    given = {name: inputs[name] for name in ("q", "k", "v", "do")}
    return products_work(given, 7, ("q", "q", "k", "v"), inputs["causal"])


def sdpa_and_gradients(q, k, v, causal, alpha, do, another_call=False) -> tuple[Tensor, ...]:
    """The peer: torch's attention and its autograd, by its FlashAttention-2 backend."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    with torch.enable_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        o = F.scaled_dot_product_attention(*leaves, is_causal=causal, scale=alpha)
        return o, *torch.autograd.grad(o, leaves, do)


ATTENTION = (
    _case("", 16, 16, 16, seed=1),
    _case("causal", 20, 37, 16, data="causal", seed=2),
    _case("causal, alpha 0.4", 37, 20, 24, data="causal, alpha 0.4", seed=3),
    _case(
        "alpha 0.5, [B, S, H, D] in memory", 17, 33, 16, H=2, layout="projection, projection, projection",
        data="alpha 0.5", seed=4,
    ),
    _case("causal, cut out of one buffer", 24, 24, 16, H=2, layout="packed", data="causal", seed=5),
    _case("k and v expanded", 16, 20, 16, H=2, layout="contiguous, expanded, expanded", seed=6),
    _case("dO of a sum", 20, 12, 16, data="dO of a sum", seed=7),
    _case("another call in between", 12, 16, 16, data="another call in between", seed=8),
    _case("alpha 0", 12, 16, 16, data="alpha 0.0", seed=9),
    _case("causal", 32, 32, 32, dtype=FP16, data="causal", seed=10),
    _case("", 24, 40, 32, dtype=BF16, seed=11),
    _case("D beyond 64", 5, 7, 80, seed=12),
    *(
        _case(said, S, S, 64, B=32, H=8, dtype=FP16, gpu=True, seed=30 + S, data=said or "normal")
        for S in (128, 500, 1024)
        for said in ("", "causal")
    ),
    _case(
        "causal, cut out of one buffer", 500, 500, 64, B=32, H=8, dtype=BF16, gpu=True, layout="packed",
        data="causal", seed=31,
    ),
)  # fmt: skip

flash_attention = Exercise(
    name="flash_attention",
    lesson="09",
    kind=Kind.KERNEL,
    title="Attention that autograd can differentiate",
    signature="(q, k, v, causal=False, alpha=None) -> o",
    outputs=("o", "dq", "dk", "dv"),
    inputs=differentiated,
    cases=ATTENTION,
    judged=HowJudged(
        reference=whole(reference.attention_gradients, reference.attention_forward),
        twins=(
            whole(reference.attention_gradients_rounded, reference.attention_forward_rounded),
            whole(reference.attention_gradients, reference.attention_forward_base2),
            whole(gradients_in_tiles, forward_in_tiles),
            whole(reference.attention_gradients, forward_from_lse),
        ),
        gradient=True,
        work=attention_work,
        call=forward_and_backward,
        review=lone_gradients.review,
    ),
    timed=HowTimed(
        peer=sdpa_and_gradients,
        peer_name="sdpa_and_gradients",
        case=attention_case(1024, 1024, 64, B=32, H=8, dtype=FP16, data="causal", gpu=True, seed=41),
    ),
    explained=HowExplained(
        mistakes=mistakes.ATTENTION,
    ),
    points=3,
    solution="flashlearn.kernels.attention:flash_attention",
)

# ---------------------------------------------------------------- train_with_your_kernel


def run_of(case: Case, generator: torch.Generator) -> Inputs:
    """A size, the parameters at the start (one fp32 vector), and batches [steps, B, S + 1] of characters."""
    sizes = case.sizes
    size = replace(
        training.SMALL,
        layers=sizes["layers"], heads=sizes["H"], head_dim=sizes["D"], context=sizes["S"], batch=sizes["B"],
        steps=sizes["steps"],
    )  # fmt: skip
    seed = int(torch.randint(1 << 30, (1,), generator=generator))
    start = training.initial(size, seed)
    return {"size": size, "start": start, "batches": training.batches(training.text(), size, seed)}


def in_one_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with torch held to one thread: these models are too small for more."""

    @functools.wraps(function)
    def held(size: training.Size, start: Tensor, batches: Tensor) -> Any:
        with training.one_thread():
            return function(size, start, batches)

    return held


def train_it(function: Callable[..., Any], given: Inputs) -> Any:
    """The learner's training run, with autograd."""
    with torch.enable_grad(), training.one_thread():
        return function(*given.values())


def by_formula(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The same run with attention from its formula: right, and rounded in other places."""
    return training.train(size, start, batches, training.plain)


def by_coarse_attention(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The same run with O carried at twelve bits: how far right kernels with coarser products may stray."""

    def coarse(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        o = training.sdpa(q, k, v)
        return o + (o * 4097 - (o * 4097 - o) - o).detach()  # Dekker's splitting: 12 bits remain

    return training.train(size, start, batches, coarse)


def _run(title: str, seed: int, **sizes: int) -> Case:
    return Case(title, {"layers": 1, "B": 2, "H": 2, "S": 32, "D": 16, "steps": 8, **sizes}, seed=seed)


train_with_your_kernel = Exercise(
    name="train_with_your_kernel",
    lesson="09",
    kind=Kind.TORCH,
    title="A training run whose attention is yours",
    signature="(size, start, batches) -> losses",
    outputs=("losses",),
    inputs=run_of,
    cases=(
        _run("8 steps, one layer", 1),
        _run("5 steps, two layers, S 37", 2, layers=2, S=37, B=1, steps=5),
    ),
    judged=HowJudged(
        reference=in_one_thread(training.train),
        twins=(in_one_thread(by_formula), in_one_thread(by_coarse_attention)),
        gradient=True,
        accumulates=False,
        call=train_it,
        time_limit=120.0,
        review=mistakes.review_training,
    ),
    explained=HowExplained(
        mistakes=mistakes.TRAINING,
    ),
    points=2,
)
