# label: wrong
# title: two mistakes: rows of LSE found with S_k, dQ stored with q's strides
# says: `stat = hz * S_k`: LSE and delta have S_q numbers per head, so every head after the first is wrong for
#   S_q != S_k. And the store uses q_row, q_col and q's batch and head strides for the fresh, contiguous dq:
#   wrong (or out of bounds) whenever q is a view.
# names: out_of_bounds

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_rows(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    b = hz // H
    h = hz % H
    stat = hz * S_k
    rows = tl.program_id(0).to(tl.int64) * BQ + tl.arange(0, BQ)
    d = tl.arange(0, BD)
    live = rows < S_q
    block = live[:, None] & (d < D)[None, :]
    q_off = b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_off, mask=block, other=0.0)
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col,
        mask=block, other=0.0
    )
    lse = tl.load(lse_ptr + stat + rows, mask=live, other=0.0)
    delta = tl.load(delta_ptr + stat + rows, mask=live, other=0.0)
    dq = tl.zeros((BQ, BD), tl.float32)
    for start in range(0, S_k, BK):
        n = start + tl.arange(0, BK).to(tl.int64)
        here = n < S_k
        tile = here[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0
        )
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        p = tl.where(here[None, :], tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(dq_ptr + q_off, dq.to(dq_ptr.dtype.element_ty), mask=block)

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_rows[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BQ=BLOCK, BK=BLOCK, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
