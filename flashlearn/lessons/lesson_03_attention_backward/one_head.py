"""Inputs of one head, [S, D] without batch: sizes in words, the running example's sizes, numbers."""

from __future__ import annotations

import math

from flashlearn.exercise import Case, Inputs
from flashlearn.later import torch
from flashlearn.lessons.shared import example

EXAMPLE_SIZES = {"S_q": 4, "S_k": 3, "D": 2}


def shape_in_words(S_q: int, S_k: int, D: int) -> str:
    """ "4 queries, 3 keys, D = 2"."""
    queries, keys = ("query" if S_q == 1 else "queries"), ("key" if S_k == 1 else "keys")
    return f"{S_q} {queries}, {S_k} {keys}, D = {D}"


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [S_q, D], k, v [S_k, D], alpha = 1/√D; q and k alone are scaled by the case's magnitude."""
    if case.data == "example":
        q, k, v, do = (t.to(case.dtype) for t in (example.Q, example.K, example.V, example.dO))
        return {"q": q, "k": k, "v": v, "do": do, "alpha": example.ALPHA}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    q, k, v, do = (torch.randn(S, D, generator=generator).to(case.dtype) for S in (S_q, S_k, S_k, S_q))
    alpha = -1 / math.sqrt(D) if case.data == "negative alpha" else 1 / math.sqrt(D)
    return {"q": case.magnitude * q, "k": case.magnitude * k, "v": v, "do": do, "alpha": alpha}
