"""Answers to lesson 08, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "dkv_kernel",
    "the tile is [keys, queries], and `p = tl.exp(s_t - lse_i[:, None])` and the delta line "
    "spread the queries' numbers along the keys; it must be [None, :]",
    "delta along the keys + LSE along the keys",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_K rows of K and V and all of Q, dO, lse and delta of its head; writes as many of dK and dV
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)  # this program's keys
    queries = tl.arange(0, BLOCK_Q)  # a tile's queries, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    mine = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        i = start + queries
        ok = (i < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
        lse_i = tl.load(lse_ptr + i, mask=i < S_q, other=float("inf"))
        delta_i = tl.load(delta_ptr + i, mask=i < S_q, other=0.0)
        s_t = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")  # no transpose of p and ds needed
        p_t = tl.exp(s_t - lse_i[:, None])
        dv = tl.dot(p_t.to(do.dtype), do, dv, input_precision="ieee")
        dp_t = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds_t = p_t * (dp_t - delta_i[:, None])
        dk = tl.dot(ds_t.to(q.dtype), q, dk, input_precision="ieee")
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=mine)


def dkv_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> tuple[Tensor, Tensor]:
    """dK and dV, both [B, H, S_k, D] in their input's dtype; o and lse as the forward pass returned them."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)  # one number per query, before the loop that needs it
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 104.5 KiB of shared memory instead of 137, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dk, dv
''',
        title="keys first but lse along keys",
    )
)

wrong(
    "dkv_kernel",
    "q is scaled on load (`q = (q * alpha).to(q.dtype)`), so `dk += dsᵀ q` has alpha already, and"
    " `dk * alpha` at the end puts it there twice (and half precision rounds the scaled q)",
    "alpha applied twice to dK",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_K rows of K and V and all of Q, dO, lse and delta of its head; writes as many of dK and dV
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)  # this program's keys
    queries = tl.arange(0, BLOCK_Q)  # a tile's queries, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    mask_k = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
    grad_k = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    grad_v = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_q, BLOCK_Q)):
        r = t * BLOCK_Q + queries
        mask_q = (r < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + r[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
        q = (q * alpha).to(q.dtype)
        do = tl.load(do_ptr + r[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
        lse = tl.load(lse_ptr + r, mask=r < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + r, mask=r < S_q, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        grad_v += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        grad_k += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    grad_k = grad_k * alpha
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, grad_k.to(dk_ptr.dtype.element_ty), mask=mask_k)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, grad_v.to(dv_ptr.dtype.element_ty), mask=mask_k)


def dkv_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> tuple[Tensor, Tensor]:
    """dK and dV, both [B, H, S_k, D] in their input's dtype; o and lse as the forward pass returned them."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)  # one number per query, before the loop that needs it
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 104.5 KiB of shared memory instead of 137, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dk, dv
''',
        title="scaled q meets ds and alpha again",
    )
)

wrong(
    "dkv_kernel_causal",
    "`first = tl.program_id(0) * BLOCK_K` forgets the shift S_k − S_q: with more keys than "
    "queries the scan begins too late and misses queries that see the block",
    "loop start without S_k − S_q",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # key j is seen by the queries i ≥ j − (S_k − S_q); reads Q and dO from the first that sees this block
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_keys = columns < S_k
    in_d = d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = tl.program_id(0) * BLOCK_K  # queries before the diagonal do not see this block
    for start in range(first // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q):
        rows = start + queries
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0, as for padding
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = columns[None, :] <= rows[:, None] + S_k - S_q
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    dk_tile = columns[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


def dkv_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The same where query i saw the keys j ≤ i + S_k − S_q, some of them none (there LSE is −inf)."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2  # as without a mask: two programs share a multiprocessor
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dk, dv
''',
        title="start at the diagonal of a square",
    )
)
