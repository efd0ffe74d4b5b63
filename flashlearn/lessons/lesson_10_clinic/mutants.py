"""The defendants of `tests_on_trial`: twelve sick backward kernels and three right ones, and the judge.

    >>> verdicts([Trial(q, k, v, do, alpha=0.25)], 0)          # does this suite kill mutant 0?
    True

One kernel, right but for what `FAULT` names. Each mutant is right on most inputs, and its `nature` says
where it is not. A kernel is killed by a trial if one of its gradients is further from the fp64 reference
than `BAR` times that gradient's largest entry, or is not finite, or if it leaves its tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.interpreter.errors import LaunchError
from flashlearn.interpreter.route import apart
from flashlearn.lessons.shared import reference
from flashlearn.processes import encoding

_verdicts: dict[int, bool] = {}

BLOCK = 16
"""Rows and columns of a defendant's tiles, and the least width that its padded D has."""
BAR = 0.01
FLOOR = 1e-6
LONGEST, MOST = 64, 8
"""S_q, S_k and D of a trial, and trials of a suite, at most: the verdict should come at once."""


class Trial(NamedTuple):
    """The inputs of one test: fp32 matrices [S_q, D] (q, do) and [S_k, D] (k, v), of any strides."""

    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor
    alpha: float
    causal: bool = False


encoding.register(Trial)


@dataclass(frozen=True)
class Defendant:
    """A kernel on trial: the fault that makes it a mutant, if any, and what a suite has to do about it."""

    fault: str
    nature: str
    guilty: bool = True


DEFENDANTS = (
    Defendant("no alpha in dK", "dK lacks its scale"),
    Defendant("alpha fixed", "takes it for granted that alpha is 1/√D"),
    Defendant("delta of the tile", "wrong where a row of scores is longer than a tile"),
    Defendant("queries end at S_k", "wrong where there are more queries than keys"),
    Defendant("keys end at S_q", "wrong where there are more keys than queries"),
    Defendant("clamped rows", "wrong where the last block of queries is not full"),
    Defendant("D not masked", "wrong where D is no power of two"),
    Defendant("top-left mask", "takes the causal mask of square matrices for that of all"),
    Defendant("strides of q", "takes it for granted that q and k lie in memory alike"),
    Defendant("exp(s) / exp(lse)", "overflows where scores are large"),
    Defendant("no guard", "NaN where a query sees no key"),
    Defendant("dS in fp16", "overflows where dO is large"),
    Defendant("", "a right kernel", guilty=False),
    Defendant("base 2", "a right kernel, in powers of two", guilty=False),
    Defendant("bf16 products", "a right kernel, P and dS rounded to bf16", guilty=False),
)


@triton.jit
def defendant_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_row, q_col, k_row, k_col, v_row, v_col, do_row, do_col,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    log2e: tl.constexpr = 1.4426950408889634
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    in_keys = columns < S_k
    in_d = d < D
    if FAULT == "keys end at S_q":
        in_keys = columns < tl.minimum(S_q, S_k)
    if FAULT == "D not masked":
        in_d = d < BLOCK_D
    if FAULT == "strides of q":
        k_row, k_col = q_row, q_col
    if FAULT == "alpha fixed":
        alpha = 1 / tl.sqrt(D.to(tl.float32))
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    end = S_q
    if FAULT == "queries end at S_k":
        end = tl.minimum(S_q, S_k)
    for start in range(0, end, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        own = in_queries[:, None] & (d < D)[None, :]
        if FAULT == "clamped rows":
            rows = tl.minimum(rows, S_q - 1)
            in_queries = rows >= 0
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        if FAULT != "no guard":
            lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        last_seen = rows + S_k - S_q
        if FAULT == "top-left mask":
            last_seen = rows
        seen = in_keys[None, :] & (columns[None, :] < S_k)
        if CAUSAL:
            seen = seen & (columns[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        if FAULT == "base 2":
            p = tl.exp2(s * log2e - (lse_i * log2e)[:, None])
        elif FAULT == "exp(s) / exp(lse)":
            p = tl.exp(s) / tl.exp(lse_i)[:, None]
        else:
            p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        if FAULT == "delta of the tile":
            delta_i = tl.sum(p * dp, axis=1)
        ds = p * (dp - delta_i[:, None])
        if FAULT == "bf16 products":
            p = p.to(tl.bfloat16).to(tl.float32)
            ds = ds.to(tl.bfloat16).to(tl.float32)
        if FAULT == "dS in fp16":
            ds = ds.to(tl.float16).to(tl.float32)
        dv += tl.dot(tl.trans(p), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        dq = alpha * tl.dot(ds, k, input_precision="ieee")
        tl.atomic_add(dq_ptr + rows[:, None] * D + d[None, :], dq, mask=own)
    if FAULT != "no alpha in dK":
        dk = alpha * dk
    key_tile = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None] & (d < D)[None, :])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None] & (d < D)[None, :])


def draw(
    S_q: int,
    S_k: int,
    D: int = 16,
    alpha: float | None = None,
    causal: bool = False,
    seed: int = 0,
) -> Trial:
    """A trial with normally distributed values; alpha is 1/√D unless it is given."""
    generator = torch.Generator().manual_seed(seed)
    q, k, v, do = (torch.randn(S, D, generator=generator) for S in (S_q, S_k, S_k, S_q))
    return Trial(q, k, v, do, D**-0.5 if alpha is None else alpha, causal)


def gradients(trial: Trial, fault: str) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV of one trial by the kernel with this fault. Raises LaunchError if it strays."""
    q, k, v, do, alpha, causal = trial
    (S_q, D), S_k = q.shape, k.shape[0]
    o, lse = reference.attention_forward(q, k, v, alpha, causal)
    delta = reference.attention_delta(o, do)
    dq, dk, dv = (torch.zeros(S, D) for S in (S_q, S_k, S_k))
    sizes = {"BLOCK": BLOCK, "BLOCK_D": max(BLOCK, triton.next_power_of_2(D))}
    strides = (*q.stride(), *k.stride(), *v.stride(), *do.stride())
    arguments = (q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D, *strides)
    grid = (triton.cdiv(S_k, BLOCK),)
    with apart():
        defendant_kernel[grid](*arguments, **sizes, CAUSAL=causal, FAULT=fault)
    return dq, dk, dv


def kills(trial: Trial, fault: str) -> bool:
    """True if this trial finds the kernel guilty. Raises ValueError for a trial that can judge nobody.

    Verdicts are remembered: a suite that is tried again, with one trial more, answers at once.
    """
    tensors = [(t.shape, t.stride(), t.contiguous().numpy().tobytes()) for t in trial[:4]]
    key = hash((fault, trial.alpha, trial.causal, *tensors))
    if key not in _verdicts:
        _verdicts[key] = _kills(trial, fault)
    return _verdicts[key]


def _kills(trial: Trial, fault: str) -> bool:
    q, k, v, do = (t.double() for t in trial[:4])
    o, lse = reference.attention_forward(q, k, v, trial.alpha, trial.causal)
    right = reference.attention_gradients(q, k, v, o, do, lse, trial.alpha, trial.causal)
    if not all(bool(torch.isfinite(g).all()) for g in right):
        raise ValueError("the right gradients of this trial are not finite, so it can judge nobody")
    try:
        got = gradients(trial, fault)
    except LaunchError:
        return True
    return any(not _close(g.double(), r) for g, r in zip(got, right, strict=True))


def _close(got: Tensor, right: Tensor) -> bool:
    return bool(((got - right).abs() <= BAR * right.abs().max() + FLOOR).all())  # False for NaN


def killed_by(suite: Sequence[Trial], fault: str) -> int | None:
    """The number of the first trial that kills the kernel; None if it survives the suite."""
    return next((i for i, trial in enumerate(suite) if kills(trial, fault)), None)


def checked(suite: Any) -> list[Trial]:
    """The suite, if it is one. Raises TypeError or ValueError with a sentence for the learner."""
    if isinstance(suite, Trial):
        suite = [suite]
    if not isinstance(suite, list | tuple):
        raise TypeError(f"tests_on_trial returned a {type(suite).__name__}, expected a list of Trial(…)")
    if not 1 <= len(suite) <= MOST:
        raise ValueError(f"the suite has {len(suite)} trials, expected 1 to {MOST}")
    return [_checked_trial(number, trial) for number, trial in enumerate(suite)]


def _checked_trial(number: int, trial: Any) -> Trial:
    where = f"trial {number} of the suite"
    if not isinstance(trial, Trial):
        raise TypeError(f"{where} is a {type(trial).__name__}, expected a Trial(q, k, v, do, alpha, causal)")
    for name, tensor in trial._asdict().items():
        if name in ("alpha", "causal"):
            continue
        if not isinstance(tensor, Tensor) or tensor.ndim != 2 or tensor.dtype != torch.float32:
            raise TypeError(f"{name} in {where} is not a matrix of float32")
        if not 1 <= min(tensor.shape) <= max(tensor.shape) <= LONGEST:
            raise ValueError(
                f"{name} in {where} has shape {tuple(tensor.shape)}: 1 to {LONGEST} each, please"
            )
    if trial.do.shape != trial.q.shape or trial.v.shape != trial.k.shape:
        raise ValueError(f"in {where} do must have the shape of q, and v that of k")
    if trial.q.shape[1] != trial.k.shape[1]:
        raise ValueError(f"in {where} q and k have different D: {trial.q.shape[1]} and {trial.k.shape[1]}")
    tensors = [t.detach().cpu() for t in trial[:4]]
    return Trial(*tensors, float(trial.alpha), bool(trial.causal))
