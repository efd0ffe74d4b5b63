"""Answers to the causal kernels of lesson 07, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "dq_kernel_causal",
    "`p = tl.exp(s - lse_i[:, None])` with LSE = -inf and a masked s is exp(-inf + inf) = NaN. For S_q > "
    "S_k the queries that see nothing but share a block with others get NaN in dQ.",
    "no guard for queries that see nothing",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    block_mask = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block_mask, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block_mask, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=rows < S_q, other=float("inf"))
    delta_i = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    diagonal = S_k - S_q
    visible_keys = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + diagonal, S_k)
    n_tiles = tl.cdiv(tl.maximum(visible_keys, 0), BLOCK_K)
    for t in range(n_tiles):
        columns = t * BLOCK_K + keys
        tile_mask = (columns < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=tile_mask, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=tile_mask, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(rows[:, None] + diagonal >= columns[None, :], s, -float("inf"))
        s = tl.where((columns < S_k)[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty),
        mask=block_mask
    )

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="no guard for LSE = -inf",
    )
)

wrong(
    "dq_kernel_causal",
    "`hi = tl.minimum((pid + 1) * BM, S_k)` leaves out S_k - S_q, though the mask has it. For more keys "
    "than queries (S_q 40, S_k 70) the loop ends before the last visible keys and their share of dQ is "
    "missing.",
    "loop end without S_k − S_q",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_causal(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    pid = tl.program_id(0)
    hz = tl.program_id(1).to(tl.int64)
    b = hz // H
    h = hz - b * H
    m = pid.to(tl.int64) * BM + tl.arange(0, BM)
    e = tl.arange(0, BD)
    ok = (m < S_q)[:, None] & (e < D)[None, :]
    q = tl.load(
        q_ptr + (b * q_batch + h * q_head) + m[:, None] * q_row + e[None, :] * q_col, mask=ok, other=0.0
    )
    do = tl.load(
        do_ptr + (b * do_batch + h * do_head) + m[:, None] * do_row + e[None, :] * do_col,
        mask=ok, other=0.0
    )
    lse = tl.load(lse_ptr + hz * S_q + m, mask=m < S_q, other=0.0)
    lse = tl.where(lse == float("-inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + hz * S_q + m, mask=m < S_q, other=0.0)
    kp = k_ptr + (b * k_batch + h * k_head)
    vp = v_ptr + (b * v_batch + h * v_head)
    dq = tl.zeros((BM, BD), tl.float32)
    hi = tl.minimum((pid + 1) * BM, S_k)
    for lo in range(0, hi, BN):
        n = lo + tl.arange(0, BN).to(tl.int64)
        kv_ok = (n < S_k)[:, None] & (e < D)[None, :]
        k = tl.load(kp + n[:, None] * k_row + e[None, :] * k_col, mask=kv_ok, other=0.0)
        v = tl.load(vp + n[:, None] * v_row + e[None, :] * v_col, mask=kv_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        seen = (n[None, :] <= m[:, None] + S_k - S_q) & (n[None, :] < S_k)
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, acc=dq, input_precision="ieee")
    dq = alpha * dq
    tl.store(dq_ptr + (b * dq_batch + h * dq_head) + m[:, None] * dq_row + e[None, :] * dq_col,
             dq.to(dq_ptr.dtype.element_ty), mask=ok)

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    W = block or 32
    dq_causal[(triton.cdiv(S_q, W), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=W, BN=W, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="loop end without the shift",
    )
)

wrong(
    "dq_kernel_causal",
    "The mask has `<` where the query's last key is included (`<=`), so each query loses its own key; "
    "and `ds = p * dp - delta` takes delta outside the product with p, so that even hidden keys get "
    "-delta. Both show for every S.",
    "delta subtracted after P + mask hides the diagonal",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    valid_row = rows < S_q
    valid_d = d < D
    vq = valid_row[:, None] & valid_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=vq, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=vq, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=valid_row, other=0.0)
    no_key = lse == -float("inf")
    lse = tl.where(no_key, float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=valid_row, other=0.0)
    result = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    start = 0
    while start < stop:
        c = start + keys
        vk = (c < S_k)[:, None] & valid_d[None, :]
        k = tl.load(k_ptr + c[:, None] * k_row + d[None, :] * k_col, mask=vk, other=0.0)
        v = tl.load(v_ptr + c[:, None] * v_row + d[None, :] * v_col, mask=vk, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (c[None, :] < rows[:, None] + S_k - S_q) & (c < S_k)[None, :]
        s = tl.where(seen, s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * dp - delta[:, None]
        result += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        start += BLOCK_K
    result *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, result.to(dq_ptr.dtype.element_ty), mask=vq
    )

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="two mistakes: own key hidden, delta not weighted by p",
    )
)

right("dq_kernel_causal", "LSE -inf becomes 0, transposed tiles")(
    written("""
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_causal_transposed(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    i = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    q_in = (i < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0
    )
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + d[None, :] * do_col,
        mask=q_in, other=0.0
    )
    lse = tl.load(lse_ptr + bh * S_q + i, mask=i < S_q, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    delta = tl.load(delta_ptr + bh * S_q + i, mask=i < S_q, other=0.0)
    qt = tl.trans(q)
    dot_ = tl.trans(do)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    start = 0
    while start < end:
        j = start + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_in = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + d[None, :] * k_col,
            mask=kv_in, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + d[None, :] * v_col,
            mask=kv_in, other=0.0
        )
        st = alpha * tl.dot(k, qt, input_precision="ieee")  # (keys, queries)
        hide = (j[:, None] - i[None, :] > S_k - S_q) | (j >= S_k)[:, None]
        pt = tl.exp(tl.where(hide, -float("inf"), st) - lse[None, :])
        dpt = tl.dot(v, dot_, input_precision="ieee")
        dst = pt * (dpt - delta[None, :])
        dq += tl.dot(tl.trans(dst.to(k.dtype)), k, input_precision="ieee")
        start += BLOCK_K
    tl.store(dq_ptr + b * dq_batch + h * dq_head + i[:, None] * dq_row + d[None, :] * dq_col,
             (dq * alpha).to(dq_ptr.dtype.element_ty), mask=q_in)

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_causal_transposed[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""")
)
