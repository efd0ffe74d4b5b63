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

    With `kept`, KeptOnCtx is raised if a tensor was kept as an attribute of ctx, and TypeError always if o is
    no tensor.

    Where o is attached to no graph, the gradients are NaN. A gradient is None where it is missing, or where
    `wanted` is given and does not name it.
    """
    wanted = given.get("wanted", "qkv")
    leaves = [given[name].detach().requires_grad_(name in wanted) for name in "qkv"]
    with torch.enable_grad():
        o = function(*leaves, given["causal"], given["alpha"])
        if given.get("kept") and (names := _kept_on_ctx(o)):
            raise KeptOnCtx(" and ".join(names))
        if given["another_call"]:
            *others, causal, alpha = other_call(*leaves, given["causal"])
            alike = [t.clone() for t in others]  # what is saved by shape alone now belongs to this call
            function(*(t.requires_grad_() for t in alike), given["causal"], given["alpha"])
            function(*(t.requires_grad_() for t in others), causal, alpha)
    if not isinstance(o, Tensor):
        raise TypeError(f"{function.__name__} is to return o, one tensor, and returns {_described(o)}.")
    if not o.requires_grad:
        return (o, *(torch.full_like(t, math.nan) for t in leaves))
    asking = [leaf for leaf in leaves if leaf.requires_grad]
    found = dict(zip(wanted, torch.autograd.grad(o, asking, given["do"], allow_unused=True), strict=True))
    return (o.detach(), *(found.get(name) for name in "qkv"))


def _described(returned: Any) -> str:
    """What came back in place of a tensor."""
    if isinstance(returned, tuple | list):
        return f"a {type(returned).__name__} of {len(returned)}"
    return "None" if returned is None else f"a value of type {type(returned).__name__}"


class KeptOnCtx(Exception):
    """Tensors are attributes of ctx; the message has their names."""


def _kept_on_ctx(o: Any) -> list[str]:
    """Attributes that hold tensors, of every autograd.Function's ctx that o comes from, as `ctx.name`.

    Such a ctx is the node of autograd's graph itself.
    """
    names, nodes, seen = [], [getattr(o, "grad_fn", None)], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes += [following for following, _ in node.next_functions]
        kept = getattr(node, "__dict__", {})
        names += [f"`ctx.{name}`" for name, value in kept.items() if _holds_tensor(value)]
    return sorted(names)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, Tensor) or (isinstance(value, tuple | list) and any(map(_holds_tensor, value)))


def review_graph(answer: Answer, earlier: Earlier) -> str:
    """What is kept otherwise than by save_for_backward, or a gradient that is missing or another one."""
    return _kept(answer) or _single_gradients(answer)


def _kept(answer: Answer) -> str:
    """A sentence if tensors are kept as attributes of ctx."""
    raised = answer.run({**_small_inputs(), "kept": True}, Observed()).raised
    if raised is None or raised.kind != KeptOnCtx.__name__:
        return ""
    hold = "hold tensors" if " and " in raised.text else "holds a tensor"
    return (
        f"Every case passes, but {raised.text} {hold}. Keep tensors with `ctx.save_for_backward`: it notices "
        "if one of them is changed before the backward pass, and lets autograd free them together with the "
        "graph. What is not a tensor may be an attribute."
    )


def _small_inputs() -> dict[str, Any]:
    draw = torch.Generator().manual_seed(0)
    q, k, v, do = (torch.randn(1, 1, 16, 16, generator=draw) for _ in range(4))
    return {"q": q, "k": k, "v": v, "causal": False, "alpha": 0.25, "do": do, "another_call": False}


def _single_gradients(answer: Answer) -> str:
    """A sentence if a gradient is missing, or another one, where its tensor alone wants one."""
    given = _small_inputs()
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
    asked = f"What decides in your backward pass whether d{name} is computed and returned?"
    if found is None:
        return f"{where} d{name} is None, and {name} gets no gradient. {asked}"
    if not torch.allclose(found, full, rtol=1e-3, atol=1e-4):
        return f"{where} d{name} differs from the one where all three do."
    return ""
