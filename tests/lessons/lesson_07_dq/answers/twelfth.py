"""Answers to lesson 07, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "dq_kernel_causal",
    "the line that replaces lse = −inf is missing: in a block where some queries see no key "
    "exp(−inf + inf) is NaN.",
    "no guard for queries that see nothing",
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
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
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
    STAGES = 2  # as without a mask: two programs share a multiprocessor
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
''',
        title="no guard for empty rows",
    )
)

wrong(
    "dq_kernel",
    "two: delta is rebuilt from the keys of one tile (`tl.sum(prob * dprob, axis=1)` in the "
    "loop), and the factor alpha of dQ is missing.",
    "alpha is missing from dQ + delta of one tile",
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
    okq, okd = rows < S_q, d < D
    block = okq[:, None] & okd[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=okq, other=0.0)
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        tile = okk[:, None] & okd[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0)
        z = tl.dot(q, k.T, input_precision="ieee") * alpha
        prob = tl.where(okk[None, :], tl.exp(z - lse[:, None]), 0.0)
        dprob = tl.dot(g, v.T, input_precision="ieee")
        delta = tl.sum(prob * dprob, axis=1)
        dz = prob * (dprob - delta[:, None])
        total += tl.dot(dz.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, total.to(dq_ptr.dtype.element_ty), mask=block)


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
        title="tile delta no alpha",
    )
)

wrong(
    "dq_kernel",
    "`total += tl.dot(dz, v)`: dQ is dS times K, not times V; the shapes agree.",
    "dQ from V",
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
    okq, okd = rows < S_q, d < D
    block = okq[:, None] & okd[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=okq, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=okq, other=0.0)
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        tile = okk[:, None] & okd[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0)
        z = tl.dot(q, k.T, input_precision="ieee") * alpha
        prob = tl.where(okk[None, :], tl.exp(z - lse[:, None]), 0.0)
        dprob = tl.dot(g, v.T, input_precision="ieee")
        dz = prob * (dprob - delta[:, None])
        total += tl.dot(dz.to(v.dtype), v, input_precision="ieee")
    total = total * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, total.to(dq_ptr.dtype.element_ty), mask=block)


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
        title="times v",
    )
)

wrong(
    "dq_without_delta",
    "`delta += tl.sum(dprob, axis=1)` sums dP without the weight P; it must be Σ P dP.",
    "first divergence",
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
    okq, okd = rows < S_q, d < D
    block = okq[:, None] & okd[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=okq, other=0.0)
    delta = tl.zeros((BLOCK_Q,), tl.float32)
    mean = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        tile = okk[:, None] & okd[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0)
        z = tl.dot(q, k.T, input_precision="ieee") * alpha
        prob = tl.where(okk[None, :], tl.exp(z - lse[:, None]), 0.0)
        dprob = tl.dot(g, v.T, input_precision="ieee")
        dz = prob * dprob
        delta += tl.sum(dprob, axis=1)
        mean += tl.dot(prob.to(k.dtype), k, input_precision="ieee")
        total += tl.dot(dz.to(k.dtype), k, input_precision="ieee")
    total = (total - delta[:, None] * mean) * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, total.to(dq_ptr.dtype.element_ty), mask=block)


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
        title="delta of dp",
    )
)
