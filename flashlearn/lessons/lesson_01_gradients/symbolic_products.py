"""Y = X W in symbols: what the two exercises about a matrix product are asked about."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Inputs
from flashlearn.later import torch
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.cases import build_case


def symbols(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix of real symbols: x_00, x_01, …"""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}_{i}{j}", real=True))


def factors(case: Case, generator: torch.Generator) -> Inputs:
    """X [M, K] and W [K, N]: Q and Kᵀ of the running example, symbols otherwise."""
    if case.data == "example":
        numbers = example.symbolic()
        return {"X": numbers.Q, "W": numbers.K.T}
    M, K, N = (case.sizes[s] for s in "MKN")
    return {"X": symbols("x", M, K), "W": symbols("w", K, N)}


def factors_and_gradient(case: Case, generator: torch.Generator) -> Inputs:
    """X, W and dY [M, N]: in "example" dO Vᵀ, whose first row is (1, −2, 0)."""
    given = factors(case, generator)
    if case.data == "example":
        numbers = example.symbolic()
        return {**given, "dY": numbers.dO * numbers.V.T}
    return {**given, "dY": symbols("dy", case.sizes["M"], case.sizes["N"])}


def product(M: int, K: int, N: int, what: str = "any X and W", **more: object) -> Case:
    """X [M, K] and W [K, N]."""
    return build_case(what, {"M": M, "K": K, "N": N}, note=f"{M}×{K} · {K}×{N}", **more)


PRODUCTS = (
    product(4, 2, 3, "Q Kᵀ of the example", data="example"),
    product(2, 3, 4),
    product(1, 2, 3),
    product(2, 2, 2),
    product(3, 1, 2),
)
