"""Mistakes of kernels in which several heads of Q share one of K and V."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def at_heads_of_q(formula: FaultyFormula) -> dict[str, Mistake]:
    """K or V, or both, at the number of Q's head where a descriptor fills what does not exist with zeros."""
    head = "Head h of Q uses head h // (H / H_k) of K and V."
    sentence = (
        "{} read at the number of Q's head. Where K and V have fewer heads, that is another head of theirs, "
        "or none at all, and zeros are read."
    )
    return {
        "V at the head of Q": Mistake(sentence.format("V is"), head, **formula(grouped.V_AT_Q)),
        "K at the head of Q": Mistake(sentence.format("K is"), head, **formula(grouped.K_AT_Q)),
        "K and V at the head of Q": Mistake(
            sentence.format("K and V are"), head, **formula(grouped.K_AT_Q, grouped.V_AT_Q)
        ),
    }
