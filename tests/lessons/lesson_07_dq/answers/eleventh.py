"""Answers to lesson 07, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "dq_kernel",
    "`do_ptr + at` uses q_row and q_col for dO, which has strides of its own",
    "one edit",
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
    # reads BLOCK_Q rows of Q and dO and all of K and V of its head; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    ok = (rows < S_q)[:, None] & (d < D)[None, :]
    at = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + at, mask=ok, other=0.0)
    do = tl.load(do_ptr + at, mask=ok, other=0.0)
    L = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    Delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + keys
        ok_k = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=ok_k, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=ok_k, other=0.0)
        s = tl.where((j < S_k)[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf"))
        p = tl.exp(s - L)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        acc += tl.dot((p * (dp - Delta)).to(k.dtype), k, input_precision="ieee")
    acc = acc * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, acc.to(dq_ptr.dtype.element_ty), mask=ok)


def dq_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype; o and lse are what the forward pass returned."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)  # one number per query, before the loop that needs it
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 96 KiB of shared memory instead of 128, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
''',
        title="do with the strides of q",
    )
)

wrong(
    "dq_kernel",
    "alpha is in `ds = alpha * p * (dp - delta_i)` and once more in `dq *= alpha`; and padded "
    "keys are not masked in s, so that p may be infinite at LSE near -120",
    "alpha applied twice + padded keys get a probability",
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
    # reads BLOCK_Q rows of Q and dO and all of K and V of its head; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        p = tl.exp(s - lse_i[:, None])  # final at once: no maximum to track, nothing to rescale
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = alpha * p * (dp - delta_i[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha  # once per element of dQ, not once per element of dS
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype; o and lse are what the forward pass returned."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)  # one number per query, before the loop that needs it
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 96 KiB of shared memory instead of 128, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
''',
        title="alpha twice and no key mask",
    )
)

wrong(
    "dq_kernel_causal",
    "`s = tl.where(visible, s, 0.0)` gives hidden keys the score 0 and so P = e^{-LSE}; it must "
    "be -inf before the exponential (or P = 0 after it)",
    "hidden scores set to 0",
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
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
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
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    reach = rows + S_k - S_q
    stop = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q, S_k)
    for start in range(0, stop, BLOCK_K):
        cols = start + keys
        theirs = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        visible = (cols < S_k)[None, :] & (cols[None, :] <= reach[:, None])
        s = tl.where(visible, s, 0.0)
        p = tl.exp(s - lse[:, None])
        ds = p * (tl.dot(g, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, (dq * alpha).to(dq_ptr.dtype.element_ty), mask=mine)


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
    STAGES = 2  # as without a mask: two programs share a multiprocessor
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
''',
        title="hidden scores are zero",
    )
)

wrong(
    "dq_without_delta",
    "`mean_key = sum_pk / S_k` divides by the number of keys; the sum of P K is weighted with "
    "probabilities and is the mean already",
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
    mask_q = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)
    sum_pdpk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    sum_pk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    delta = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        cols = start + keys
        mask_k = (cols[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(tl.where(cols[None, :] < S_k, s, -float("inf")) - lse[:, None])
        w = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        delta += tl.sum(w, axis=1)
        sum_pdpk += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        sum_pk += tl.dot(p.to(k.dtype), k, input_precision="ieee")
    mean_key = sum_pk / S_k
    dq = alpha * (sum_pdpk - delta[:, None] * mean_key)
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=mask_q)


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
    )
    return dq
''',
        title="mean key divided by the number of keys",
    )
)
