"""dQ from one scan over the keys that knows neither O nor delta: lesson 07's stretch, formula and kernel.

    >>> dq = dq_without_delta(q, k, v, do, lse, alpha)

dQ / alpha = Σ_j P_ij dP_ij K_j − (Σ_j P_ij dP_ij) Σ_j P_ij K_j: three sums that grow together, and a
difference at the end. The kernels that users import take delta from O instead, which cancels less and has one
product fewer. Tensors are [B, H, S, D] of any strides and any D. The lines between BEGIN and END SOLUTION are
the exercise.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.machine.memory import spans

__all__ = ["dq_in_torch", "dq_without_delta", "in_one_scan"]


@triton.jit
def dq_without_delta_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # reads BLOCK_Q rows of Q and dO, and all of K and V of its head once; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO dq_without_delta: load q, do, lse; scan K, V, three sums; then dq")
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    worth_of_keys = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)  # Σ P dP K
    mean_key = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)  # Σ P K
    delta_i = tl.zeros((BLOCK_Q,), tl.float32)  # Σ P dP, complete only after the last tile
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        p_dp = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        worth_of_keys += tl.dot(p_dp.to(k.dtype), k, input_precision="ieee")
        mean_key += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta_i += tl.sum(p_dp, axis=1)
    dq = alpha * (worth_of_keys - delta_i[:, None] * mean_key)
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION


def dq_without_delta(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype, from lse [B, H, S_q] and without O."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 96 KiB of shared memory instead of 128, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    dq_without_delta_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )  # fmt: skip
    return dq


def dq_in_torch(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
    """The same from whole matrices, delta first."""
    q_, k_, v_, do_, lse_ = map(_wide, (q, k, v, do, lse))
    p, dp = torch.exp(alpha * q_ @ k_.mT - lse_.unsqueeze(-1)), do_ @ v_.mT
    ds = p * (dp - (p * dp).sum(dim=-1, keepdim=True))
    return (alpha * ds @ k_).to(q.dtype)


def dq_in_torch_by_parts(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
    """The same for some entries of the batch at a time: S, P, dP and dS of all of them take gigabytes."""
    parts = spans(q.shape[0], q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2])
    given = ([t[part] for t in (q, k, v, do, lse)] for part in parts)
    return torch.cat([dq_in_torch(*tensors, alpha) for tensors in given])


TILED = frozenset(
    {
        "delta so far",
        "delta of the tile",
        "last tile only",
        "whole blocks only",
        "sums in half",
        "padded keys",
    }
)


@tiled(TILED)
def in_one_scan(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float,
    faults: Faults = NONE, tile: Tile = (32, 32),
) -> Tensor:  # fmt: skip
    """The same in three sums over tiles of keys, or with faults by name; what meets K has K's dtype."""
    q_, do_, lse_ = _wide(q), _wide(do), _wide(lse).unsqueeze(-1)
    worth_of_keys, mean_key = torch.zeros_like(q_), torch.zeros_like(q_)
    delta, S_k = torch.zeros_like(q_[..., :1]), k.shape[-2]
    for start in range(0, S_k // tile[1] * tile[1] if "whole blocks only" in faults else S_k, tile[1]):
        k_, v_ = (_wide(t[..., start : start + tile[1], :]) for t in (k, v))
        if "padded keys" in faults:
            k_, v_ = (F.pad(t, (0, 0, 0, tile[1] - t.shape[-2])) for t in (k_, v_))
        p = torch.exp(alpha * q_ @ k_.mT - lse_)
        p_dp = p * (do_ @ v_.mT)
        if "last tile only" in faults:
            worth_of_keys, mean_key, delta = (torch.zeros_like(t) for t in (worth_of_keys, mean_key, delta))
        own = p_dp.sum(dim=-1, keepdim=True)
        delta = delta + own
        centred = p_dp
        if faults & {"delta so far", "delta of the tile"}:
            centred = p_dp - p * (delta if "delta so far" in faults else own)
        worth_of_keys = worth_of_keys + _wide(centred.to(k.dtype)) @ k_
        averaged = v_ if "values averaged" in faults else k_
        mean_key = mean_key + _wide(p.to(k.dtype)) @ averaged
        if "sums in half" in faults:
            worth_of_keys, mean_key = (_wide(t.to(k.dtype)) for t in (worth_of_keys, mean_key))
    if faults & {"no delta", "delta so far", "delta of the tile"}:
        delta = torch.zeros_like(delta)
    if "delta is 1" in faults:
        delta = torch.ones_like(delta)
    if "keys not weighted" in faults:
        mean_key = _wide(k).sum(dim=-2, keepdim=True).expand_as(q_)
    if "alpha in one part" in faults:
        return (alpha * worth_of_keys - delta * mean_key).to(q.dtype)
    if "alpha in the other part" in faults:
        return (worth_of_keys - alpha * delta * mean_key).to(q.dtype)
    dq = worth_of_keys - delta * mean_key
    if "no alpha" not in faults:
        dq = alpha * dq
    return (alpha * dq if "alpha twice" in faults else dq).to(q.dtype)


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()
