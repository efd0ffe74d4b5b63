"""Calls in which one of q, k and v alone wants a gradient, and the review that makes them."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Earlier
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed


def review(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a gradient is missing, or another one, where its tensor alone wants one."""
    draw = torch.Generator().manual_seed(0)
    q, k, v, do = (torch.randn(1, 1, 16, 16, generator=draw) for _ in range(4))
    given = {"q": q, "k": k, "v": v, "causal": False, "alpha": 0.25, "do": do, "another_call": False}
    together = answer.run(given, Observed()).completed().outputs[1:]
    for name, full in zip("qkv", together, strict=True):
        sentence = _alone(name, full.value, answer, {**given, "wanted": name})
        if sentence:
            return sentence
    return ""


def _alone(name: str, full: Tensor, answer: Answer, given: dict) -> str:
    """A sentence if this tensor's gradient is not what it is where all three are wanted."""
    where = f"Every case passes, and in each q, k and v all want a gradient. Where {name} alone wants one,"
    evidence = answer.run(given, Observed())
    if evidence.raised is not None:
        return f"{where} the call fails with {evidence.raised.kind}: {evidence.raised.sentence}"
    place = "qkv".index(name)
    found = evidence.outputs[place + 1].value
    asked = (
        f"Where {name} is the {('first', 'second', 'third')[place]} argument behind ctx, "
        f"`ctx.needs_input_grad[{place}]` says whether it wants one."
    )
    if found is None:
        return f"{where} d{name} is None, and nothing arrives at {name}. {asked}"
    if not torch.allclose(found, full, rtol=1e-3, atol=1e-4):
        return f"{where} d{name} is another than where all three do. {asked}"
    return ""
