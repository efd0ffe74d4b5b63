"""The defendants of `tests_on_trial`: twelve sick backward kernels and three right ones, and the judge.

    >>> verdicts([Trial(q, k, v, do, alpha=0.25)], 0)          # does this suite kill mutant 0?
    True

One correct kernel, and edits that make the mutants of it. Each mutant is right on most inputs, and its
`nature` says where it is not. A kernel is killed by a trial if one of its gradients is further from the fp64
reference than `BAR` times that gradient's largest entry, or is not finite, or if it leaves its tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.interpreter.errors import LaunchError
from flashlearn.interpreter.route import apart
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.variants import Edits, variant
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
    Defendant("alpha fixed", "assumes that alpha is 1/√D"),
    Defendant("delta of the tile", "wrong where a row of scores is longer than a tile"),
    Defendant("queries end at S_k", "wrong where there are more queries than keys"),
    Defendant("keys end at S_q", "wrong where there are more keys than queries"),
    Defendant("clamped rows", "wrong where the last block of queries is not full"),
    Defendant("D not masked", "wrong where D is not a power of two"),
    Defendant("top-left mask", "uses the causal mask of square matrices for all"),
    Defendant("strides of q", "assumes that q and k have the same layout"),
    Defendant("exp(s) / exp(lse)", "overflows where scores are large"),
    Defendant("no guard", "NaN where a query sees no key"),
    Defendant("dS in fp16", "overflows where dO is large"),
    Defendant("", "a right kernel", guilty=False),
    Defendant("base 2", "a right kernel that uses powers of two", guilty=False),
    Defendant("bf16 products", "a right kernel that rounds P and dS to bf16", guilty=False),
)


@triton.jit
def backward_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_row, q_col, k_row, k_col, v_row, v_col, do_row, do_col,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    in_keys = columns < S_k
    in_d = d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        last_seen = rows + S_k - S_q
        seen = in_keys[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dv += tl.dot(tl.trans(p), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        dq = alpha * tl.dot(ds, k, input_precision="ieee")
        tl.atomic_add(dq_ptr + rows[:, None] * D + d[None, :], dq, mask=in_tile)
    key_tile = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_block)
    tl.store(dv_ptr + key_tile, dv, mask=in_block)


_IN_D = "    in_d = d < D\n"
_P = "        p = tl.exp(s - lse_i[:, None])\n"
_DS = "        ds = p * (dp - delta_i[:, None])\n"
_GUARD = '        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)\n'
_BASE_2 = (
    "        log2e: tl.constexpr = 1.4426950408889634\n"
    "        p = tl.exp2(s * log2e - (lse_i * log2e)[:, None])\n"
)
_TO_BF16 = "        {0} = {0}.to(tl.bfloat16).to(tl.float32)\n"
_IN_QUERIES = "        in_queries = rows < S_q\n"
_ADD = "tl.atomic_add(dq_ptr + rows[:, None] * D + d[None, :], dq, mask={})"
_STORE_DK, _STORE_DV = (
    f"tl.store({name}_ptr + key_tile, {value}, mask={{}})"
    for name, value in (("dk", "alpha * dk"), ("dv", "dv"))
)
_REAL = "in_keys[:, None] & (d < D)[None, :]"

EDITS: dict[str, Edits] = {
    "": (),
    "no alpha in dK": (("alpha * dk, mask", "dk, mask"),),
    "alpha fixed": ((_IN_D, f"{_IN_D}    alpha = 1 / tl.sqrt(D.to(tl.float32))\n"),),
    "delta of the tile": ((_DS, f"        delta_i = tl.sum(p * dp, axis=1)\n{_DS}"),),
    "queries end at S_k": (("range(0, S_q, BLOCK)", "range(0, tl.minimum(S_q, S_k), BLOCK)"),),
    "keys end at S_q": (("in_keys = columns < S_k", "in_keys = columns < tl.minimum(S_q, S_k)"),),
    "clamped rows": (
        (
            _IN_QUERIES,
            f"{_IN_QUERIES}        own = in_queries[:, None] & in_d[None, :]\n"
            "        rows = tl.minimum(rows, S_q - 1)\n        in_queries = rows >= 0\n",
        ),
        (_ADD.format("in_tile"), _ADD.format("own")),
    ),
    "D not masked": (
        ("in_d = d < D\n", "in_d = d < BLOCK_D\n"),
        (_ADD.format("in_tile"), _ADD.format("in_queries[:, None] & (d < D)[None, :]")),
        (_STORE_DK.format("in_block"), _STORE_DK.format(_REAL)),
        (_STORE_DV.format("in_block"), _STORE_DV.format(_REAL)),
    ),
    "top-left mask": (("last_seen = rows + S_k - S_q", "last_seen = rows"),),
    "strides of q": ((_IN_D, f"{_IN_D}    k_row, k_col = q_row, q_col\n"),),
    "exp(s) / exp(lse)": ((_P, "        p = tl.exp(s) / tl.exp(lse_i)[:, None]\n"),),
    "no guard": ((_GUARD, ""),),
    "dS in fp16": ((_DS, f"{_DS}        ds = ds.to(tl.float16).to(tl.float32)\n"),),
    "base 2": ((_P, _BASE_2),),
    "bf16 products": ((_DS, f"{_DS}{_TO_BF16.format('p')}{_TO_BF16.format('ds')}"),),
}
"""What is replaced by what, by the fault of a defendant; the last two are right."""


def launch_backward(trial: Trial, lse: Tensor, delta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV of one trial; lse and delta [S_q] in fp32."""
    q, k, v, do, alpha, causal = trial
    (S_q, D), S_k = q.shape, k.shape[0]
    dq, dk, dv = (torch.zeros(S, D) for S in (S_q, S_k, S_k))
    sizes = {"BLOCK": BLOCK, "BLOCK_D": max(BLOCK, triton.next_power_of_2(D))}
    strides = (*q.stride(), *k.stride(), *v.stride(), *do.stride())
    arguments = (q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D, *strides)
    backward_kernel[(triton.cdiv(S_k, BLOCK),)](*arguments, **sizes, CAUSAL=causal)
    return dq, dk, dv


@functools.cache
def _launcher(fault: str) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    return variant(launch_backward, backward_kernel, edits=EDITS[fault])


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
    """dQ, dK and dV of one trial by the kernel with this fault. Raises LaunchError out of bounds."""
    q, k, v, do, alpha, causal = trial
    o, lse = reference.attention_forward(q, k, v, alpha, causal)
    delta = reference.attention_delta(o, do)
    with apart():
        return _launcher(fault)(trial, lse, delta)


def kills(trial: Trial, fault: str) -> bool:
    """True if this trial finds the kernel guilty. Raises ValueError for a trial that cannot judge.

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
        raise ValueError("the right gradients of this trial are not finite, so it cannot judge")
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
    where = f"trial {number} of the suite (counted from 0)"
    if not isinstance(trial, Trial):
        raise TypeError(f"{where} is a {type(trial).__name__}, expected a Trial(q, k, v, do, alpha, causal)")
    for name, tensor in trial._asdict().items():
        if name in ("alpha", "causal"):
            continue
        if not isinstance(tensor, Tensor) or tensor.ndim != 2 or tensor.dtype != torch.float32:
            raise TypeError(f"{name} in {where} is not a matrix of float32")
        if not 1 <= min(tensor.shape) <= max(tensor.shape) <= LONGEST:
            raise ValueError(
                f"{name} in {where} has shape {tuple(tensor.shape)}: each size must be from 1 to {LONGEST}"
            )
    if trial.do.shape != trial.q.shape or trial.v.shape != trial.k.shape:
        raise ValueError(f"in {where} do must have the shape of q, and v that of k")
    if trial.q.shape[1] != trial.k.shape[1]:
        raise ValueError(f"in {where} q and k have different D: {trial.q.shape[1]} and {trial.k.shape[1]}")
    tensors = [t.detach().cpu() for t in trial[:4]]
    return Trial(*tensors, float(trial.alpha), bool(trial.causal))
