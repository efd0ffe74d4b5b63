"""A learner's function under autograd: its inputs, the call of a case, and calls that want one gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Inputs
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.autograd import other_call
from flashlearn.lessons.lesson_09_into_pytorch.laid_out_inputs import laid_out_inputs, lay_out
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed


def attention_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, causal, alpha; and for the check alone: do, and whether a second call comes in between."""
    given = laid_out_inputs(case, generator)
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
    """o of the learner's function, and the gradients that autograd computes: (o, dq, dk, dv).

    Where o is attached to no graph, the gradients are NaN. A gradient is None where it is missing, or where
    `wanted` is given and does not name it.
    """
    wanted = given.get("wanted", "qkv")
    leaves = [given[name].detach().requires_grad_(name in wanted) for name in "qkv"]
    with torch.enable_grad():
        o = function(*leaves, given["causal"], given["alpha"])
        if given["another_call"]:
            *others, causal, alpha = other_call(*leaves, given["causal"])
            alike = [t.clone() for t in others]  # what is saved by shape alone now belongs to this call
            function(*(t.requires_grad_() for t in alike), given["causal"], given["alpha"])
            function(*(t.requires_grad_() for t in others), causal, alpha)
    if not isinstance(o, Tensor) or not o.requires_grad:
        return (o, *(torch.full_like(t, math.nan) for t in leaves))
    asking = [leaf for leaf in leaves if leaf.requires_grad]
    found = dict(zip(wanted, torch.autograd.grad(o, asking, given["do"], allow_unused=True), strict=True))
    return (o.detach(), *(found.get(name) for name in "qkv"))


def review_single_gradients(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a gradient is missing, or another one, where its tensor alone wants one."""
    draw = torch.Generator().manual_seed(0)
    q, k, v, do = (torch.randn(1, 1, 16, 16, generator=draw) for _ in range(4))
    given = {"q": q, "k": k, "v": v, "causal": False, "alpha": 0.25, "do": do, "another_call": False}
    together = answer.run(given, Observed()).completed().outputs[1:]
    for name, full in zip("qkv", together, strict=True):
        sentence = _single_gradient(name, full.value, answer, {**given, "wanted": name})
        if sentence:
            return sentence
    return ""


def _single_gradient(name: str, full: Tensor, answer: Answer, given: dict) -> str:
    """A sentence if this tensor's gradient is not what it is where all three are wanted."""
    where = (
        f"Every case passes, and in each of them q, k and v all require a gradient. Where only {name} "
        f"requires one,"
    )
    evidence = answer.run(given, Observed())
    if evidence.raised is not None:
        return f"{where} the call fails with {evidence.raised.kind}: {evidence.raised.sentence}"
    place = "qkv".index(name)
    found = evidence.outputs[place + 1].value
    asked = (
        f"Where {name} is the {('first', 'second', 'third')[place]} argument after ctx, "
        f"`ctx.needs_input_grad[{place}]` says whether it requires one."
    )
    if found is None:
        return f"{where} d{name} is None, and {name} gets no gradient. {asked}"
    if not torch.allclose(found, full, rtol=1e-3, atol=1e-4):
        return f"{where} d{name} differs from the one where all three do. {asked}"
    return ""
