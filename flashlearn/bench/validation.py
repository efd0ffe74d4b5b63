"""Is a contestant right? Compared with fp64 on small shapes, before it is timed."""

from __future__ import annotations

import torch

from flashlearn.bench.contestants import Contestant
from flashlearn.bench.flash_attn_4 import NotInstalled
from flashlearn.bench.problems import CHECKED, Inputs, Problem
from flashlearn.lessons.shared import reference

ERROR_FACTOR = 4.0
"""The allowed error in multiples of plain torch's at the same precision (P and dS rounded as in kernels)."""
ERROR_FLOOR = 1e-3


def validation_error(
    contestant: Contestant, problems: tuple[Problem, ...] = CHECKED, device: str = "cuda"
) -> str:
    """Why the contestant cannot be timed: what it raised, or where it is wrong; nothing if it is right."""
    for problem in problems:
        given = problem.draw(device)
        try:
            calls = contestant.prepare(given)
            found = {name: call() for name, call in calls.items()}
        except NotInstalled as error:
            return str(error)
        except Exception as error:  # a library, a compiler or a kernel may raise anything here
            lines = str(error).strip().splitlines()
            return f"{problem.name}: {type(error).__name__}: {lines[0] if lines else 'no reason given'}"
        o, *gradients = _truth(given)
        for name, outputs in found.items():
            expected = [o] if name == "forward" else gradients
            for which, got, (true, error) in zip(_names(name), outputs, expected, strict=True):
                far = float((got.double() - true).abs().max())
                if not far <= contestant.allowance * (ERROR_FACTOR * error + ERROR_FLOOR):  # NaN is wrong too
                    return f"{problem.name}: {which} of {name} is off by {far:.2g}, torch by {error:.2g}"
    return ""


def _names(call: str) -> tuple[str, ...]:
    return ("o",) if call == "forward" else ("dq", "dk", "dv")


def _truth(given: Inputs) -> list[tuple[torch.Tensor, float]]:
    """O, dQ, dK and dV in fp64, each with the error of the same formula at the inputs' precision."""
    wide = [t.double() for t in (given.q, given.k, given.v, given.do)]
    pairs = zip(
        _outputs(*wide, given, reference.attention_forward, reference.attention_gradients),
        _outputs(
            *(given.q, given.k, given.v, given.do),
            given,
            reference.attention_forward_rounded,
            reference.attention_gradients_rounded,
        ),
        strict=True,
    )
    return [(true, float((twin.double() - true).abs().max())) for true, twin in pairs]


def _outputs(q, k, v, do, given: Inputs, forward, backward) -> tuple[torch.Tensor, ...]:
    o, lse = forward(q, k, v, given.alpha, given.causal)
    return (o, *backward(q, k, v, o, do, lse, given.alpha, given.causal))
