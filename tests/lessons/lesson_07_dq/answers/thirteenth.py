"""Answers to lesson 07, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "dq_kernel",
    "the mask of s is missing: a padded key has score 0 and P = exp(-lse), infinite where LSE is "
    "near -120, and inf * 0 is NaN",
    "padded keys get a probability",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in = qi < S_q
    in_d = d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
    dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        g = p * (dp - dl[:, None])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
    grad *= alpha
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype; o and lse are what the forward pass returned."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return grad
''',
        title="no mask on scores",
    )
)

wrong(
    "dq_kernel",
    "two: line g = p * (dp - dl[None, :]) gives key j the delta of query j; and grad *= alpha is "
    "missing at the end",
    "alpha is missing from dQ + delta along the keys",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in = qi < S_q
    in_d = d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
    dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(k_in[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        g = p * (dp - dl[None, :])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype; o and lse are what the forward pass returned."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return grad
''',
        title="delta along keys",
    )
)

wrong(
    "dq_kernel_causal",
    "lines last_seen and end: the shift is S_q - S_k in place of S_k - S_q, right only for equal lengths",
    "S_k − S_q with the wrong sign",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in = qi < S_q
    in_d = d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = qi + S_q - S_k
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_q - S_k)
    for start in range(0, end, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :] & (kj[None, :] <= last_seen[:, None])
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        g = p * (dp - dl[:, None])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
    grad *= alpha
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """The same where query i saw the keys j ≤ i + S_k − S_q; where that is none LSE is −inf, and dQ = 0."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return grad
''',
        title="offset sign",
    )
)

wrong(
    "dq_without_delta",
    "line dl = tl.sum(p_dp, axis=1): delta is overwritten by the sum of the last tile and not added up",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def dq_without_delta_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in = qi < S_q
    in_d = d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
    worth_of_keys = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    mean_key = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    dl = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(k_in[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        p_dp = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        worth_of_keys += tl.dot(p_dp.to(k.dtype), k, input_precision="ieee")
        mean_key += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        dl = tl.sum(p_dp, axis=1)
    grad = alpha * (worth_of_keys - dl[:, None] * mean_key)
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_without_delta(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype, from lse [B, H, S_q] and without O."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    dq_without_delta_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return grad
''',
        title="delta reset each tile",
    )
)

right("dq_kernel_causal", "guard behind the exponential")(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
        p = tl.where(seen, tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """The same where query i saw the keys j ≤ i + S_k − S_q; where that is none LSE is −inf, and dQ = 0."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
'''
    )
)
