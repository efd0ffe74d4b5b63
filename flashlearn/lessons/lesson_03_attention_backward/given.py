"""What lesson 03's exercises are given, and what is right: inputs, references, twins and a peer."""

from __future__ import annotations

import math

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Case, Inputs, Work
from flashlearn.lessons.shared import example, reference
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, probabilities, vjp

# ---------------------------------------------------------------- symbolic: matrices of symbols


def matrix(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix of real symbols, P_00, P_01, …"""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}_{i}{j}", real=True))


P_IN_FRACTIONS = (("1/6", "1/3", "1/2"), ("1/2", "1/4", "1/4"), ("1/3", "1/3", "1/3"), ("1/5", "1/5", "3/5"))
DS_IN_FRACTIONS = (
    ("1/4", "-1/2", "1/4"),
    ("-1/2", "1/4", "1/4"),
    ("1/3", "0", "-1/3"),
    ("2/5", "1/5", "-3/5"),
)


def _exact(rows: tuple[tuple[str, ...], ...]) -> sp.Matrix:
    return sp.Matrix([[sp.Rational(x) for x in row] for row in rows])


def dv_dp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p [S_q, S_k], v [S_k, D], do [S_q, D]: the running example's numbers, or symbols."""
    if case.data == "example":
        given = example.symbolic()
        return {"p": _exact(P_IN_FRACTIONS), "v": given.V, "do": given.dO}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    return {"p": matrix("P", S_q, S_k), "v": matrix("V", S_k, D), "do": matrix("dO", S_q, D)}


def dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dV = Pᵀ dO and dP = dO Vᵀ, from O = P V."""
    return p.T * do, do * v.T


def dq_dk_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [S_q, D], k [S_k, D], ds [S_q, S_k], alpha: the running example's numbers, or symbols."""
    if case.data == "example":
        given = example.symbolic()
        return {"q": given.Q, "k": given.K, "ds": _exact(DS_IN_FRACTIONS), "alpha": given.alpha}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    alpha = sp.Symbol("alpha", real=True, nonzero=True)
    return {"q": matrix("Q", S_q, D), "k": matrix("K", S_k, D), "ds": matrix("dS", S_q, S_k), "alpha": alpha}


def dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """dQ = alpha dS K and dK = alpha dSᵀ Q, from S = alpha Q Kᵀ."""
    return alpha * ds * k, alpha * ds.T * q


def identity_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """P, V, dO as arrays of any size, the row i, the component d, and the sizes S_k and D."""
    P, V, dO = (sp.IndexedBase(name, real=True) for name in ("P", "V", "dO"))
    i, d = sp.symbols("i d", integer=True, nonnegative=True)
    S_k, D = sp.symbols("S_k D", integer=True, positive=True)
    sizes = {name: sp.Integer(size) for name, size in case.sizes.items()} or {"S_k": S_k, "D": D}
    return {"P": P, "V": V, "dO": dO, "i": i, "d": d, **sizes}


def identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """O_id = Σ_j P_ij V_jd, and delta_i = Σ_d dO_id O_id."""
    j, e = sp.symbols("j e", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))
    o_ie = sp.Sum(P[i, j] * V[j, e], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, e] * o_ie, (e, 0, D - 1))


def lse_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """One query's p and dp, columns of N, and dlse, a number: exact in "example", symbols otherwise."""
    if case.data == "example":
        return {"p": _exact(P_IN_FRACTIONS[:1]).T, "dp": sp.Matrix([1, -2, 0]), "dlse": sp.Integer(2)}
    n = case.sizes["N"]
    return {"p": probabilities(n), "dp": derivatives(n), "dlse": sp.Symbol("dlse", real=True)}


def lse_vjp(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds = p ∘ (dp − (delta − dlse)) with delta = ⟨p, dp⟩: one query's scores, by way of p and of LSE."""
    return vjp(p, dp) + dlse * p


# ---------------------------------------------------------------- torch: the formulas


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [S_q, D], k, v [S_k, D], alpha = 1/√D; q and k alone are scaled by the case's magnitude."""
    if case.data == "example":
        q, k, v, do = (t.to(case.dtype) for t in (example.Q, example.K, example.V, example.dO))
        return {"q": q, "k": k, "v": v, "do": do, "alpha": example.ALPHA}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    q, k, v, do = (torch.randn(S, D, generator=generator).to(case.dtype) for S in (S_q, S_k, S_k, S_q))
    alpha = -1 / math.sqrt(D) if case.data == "negative alpha" else 1 / math.sqrt(D)
    return {"q": case.magnitude * q, "k": case.magnitude * k, "v": v, "do": do, "alpha": alpha}


def backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, from dO: matrices [S, D]."""
    o, lse = reference.attention_forward(q, k, v, alpha)
    return reference.attention_gradients(q, k, v, o, do, lse, alpha)


def backward_without_lse(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with softmax in place of exp(S − LSE), and delta from P and dP."""
    p = reference.softmax(alpha * (q @ k.T))
    ds = reference.softmax_backward(p, do @ v.T)
    return alpha * (ds @ k), alpha * (ds.T @ q), p.T @ do


def backward_prescaled(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with alpha multiplied into Q beforehand: dK then has it already, dQ gets it at the end."""
    scaled = alpha * q
    p = reference.softmax_base2(scaled @ k.T)
    ds = reference.softmax_backward_expanded(p, do @ v.T)
    return alpha * (ds @ k), ds.T @ scaled, p.T @ do


# ---------------------------------------------------------------- the kernel


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers laid out otherwise; a slice has 50s for neighbours, "one number" has strides of 0."""
    if layout == "[B, S, H, D]":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "slice":
        buffer = torch.full((*x.shape[:-1], x.shape[-1] + 7), 50.0, dtype=x.dtype)
        buffer[..., 3:-4] = x
        return buffer[..., 3:-4]
    if layout == "D outside":
        return x.mT.contiguous().mT
    return x[:1, :1, :1, :1].expand(x.shape) if layout == "one number" else x


def delta_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """o and do [B, H, S, D]; `data` says which of them has the case's layout ("o", "do"; else both)."""
    shape = tuple(case.sizes[name] for name in ("B", "H", "S", "D"))
    given = {
        name: (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
        for name in ("o", "do")
    }
    chosen = (case.data,) if case.data in given else tuple(given)
    return {name: lay_out(x, case.layout) if name in chosen else x for name, x in given.items()}


def delta_by_halves(o: Tensor, do: Tensor) -> Tensor:
    """delta with its sum in another order: even and odd components apart, then together."""
    return reference.attention_delta(o[..., ::2], do[..., ::2]) + reference.attention_delta(
        o[..., 1::2], do[..., 1::2]
    )


def delta_in_order(o: Tensor, do: Tensor) -> Tensor:
    """delta summed one component after the other."""
    return sum(reference.attention_delta(o[..., d : d + 1], do[..., d : d + 1]) for d in range(o.shape[-1]))


def delta_work(inputs: Inputs) -> Work:
    """A product and a sum per element of o; o and do read once, delta written once."""
    o = inputs["o"]
    rows = o.numel() // o.shape[-1]
    return Work(operations=2.0 * o.numel(), bytes=2.0 * o.numel() * o.element_size() + 4.0 * rows)


def torch_delta(o: Tensor, do: Tensor) -> Tensor:
    """The peer of delta_preprocess."""
    return (o.float() * do.float()).sum(dim=-1)
