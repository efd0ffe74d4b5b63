"""A row's probabilities and their derivatives in sympy, and the gradient through softmax."""

from __future__ import annotations

import sympy as sp


def probabilities(n: int) -> sp.Matrix:
    """n probabilities that sum to one, whatever the weights: p_k = w_k / (w_1 + … + w_n), w_k = exp(s_k)."""
    w = sp.symbols(f"w_1:{n + 1}", positive=True)
    return sp.Matrix([w_k / sum(w) for w_k in w])


def derivatives(n: int) -> sp.Matrix:
    """A column of n symbols for the loss's derivatives by p."""
    return sp.Matrix(sp.symbols(f"dp_1:{n + 1}", real=True))


def vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = p ∘ (dp − ⟨p, dp⟩): Jᵀ dp without J."""
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))
