"""The mistakes of lessons 06 to 08 for kernels of one head: what a patient may suffer from besides.

    >>> catalogue = backward("dk", "dv")       # names of lesson 08, formulas on [S, D] matrices
    >>> dk, dv = catalogue["delta omitted"].wrong(q, k, v, o, do, lse, alpha)

A patient declares what its lesson is about. These are for the diagnosis alone: a cure may spoil something
else, and then it should have its name too.
"""

from __future__ import annotations

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.attention_mistakes.dkv import dkv
from flashlearn.lessons.shared.attention_mistakes.dq import dq
from flashlearn.lessons.shared.attention_mistakes.forward import forward as shared_forward
from flashlearn.lessons.shared.faulty_formulas.faults import Faults, faulty_formula
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan, dq_scan

TILE = (16, 16)
"""The blocks of every patient."""


def forward_of_one_head(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool, faults: Faults
) -> tuple[Tensor, Tensor]:
    """(O [S_q, D], LSE [S_q]) with the faults of lesson 06's scan."""
    o, lse = scan(*(t[None, None] for t in (q, k, v)), alpha, causal, faults, TILE)
    return o[0, 0], lse[0, 0]


def backward_of_one_head(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    outputs: tuple[str, ...], faults: Faults,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Those of dQ, dK and dV that are asked for, with the faults of lessons 07's and 08's scans."""
    given = (*(t[None, None] for t in (q, k, v, o, do, lse)), alpha, False, faults, TILE)
    found = {"dq": dq_scan(*given)} if "dq" in outputs else {}
    if "dk" in outputs:
        found |= dict(zip(("dk", "dv"), dkv_scan(*given), strict=True))
    return tuple(found[name][0, 0] for name in outputs)


def forward(causal: bool = False) -> dict[str, Mistake]:
    """Lesson 06's mistakes, as far as formulas say them."""
    declared = causal_forward if causal else shared_forward
    return declared(faulty_formula(forward_of_one_head, causal=causal))


def backward(*outputs: str) -> dict[str, Mistake]:
    """Lesson 07's mistakes for a patient that returns dQ, lesson 08's for one that returns dK and dV."""
    formula = faulty_formula(backward_of_one_head, outputs=outputs)
    return {**(dkv(formula) if "dk" in outputs else {}), **(dq(formula) if "dq" in outputs else {})}
