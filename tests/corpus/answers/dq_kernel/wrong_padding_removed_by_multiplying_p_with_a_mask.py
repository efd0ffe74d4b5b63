# label: wrong
# title: padding removed by multiplying p with a mask
# says: `p = tl.exp(s - lse) * (n < S_k)`: the padded key's exponential is formed first. With LSE near -120
#   and a ragged S_k it is infinite, and inf * 0 is NaN. The mask belongs on s (-inf), or in a tl.where.
# names: padded keys get a probability

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    b, h = head // H, head % H
    first = tl.program_id(0) * BM
    q_blk = tl.make_block_ptr(
        q_ptr + b * q_batch + h * q_head, (S_q, D), (q_row, q_col), (first, 0), (BM, BD), (1, 0)
    )
    do_blk = tl.make_block_ptr(
        do_ptr + b * do_batch + h * do_head, (S_q, D), (do_row, do_col), (first, 0), (BM, BD), (1, 0)
    )
    dq_blk = tl.make_block_ptr(
        dq_ptr + b * dq_batch + h * dq_head, (S_q, D), (dq_row, dq_col), (first, 0), (BM, BD), (1, 0)
    )
    k_blk = tl.make_block_ptr(
        k_ptr + b * k_batch + h * k_head, (S_k, D), (k_row, k_col), (0, 0), (BN, BD), (1, 0)
    )
    v_blk = tl.make_block_ptr(
        v_ptr + b * v_batch + h * v_head, (S_k, D), (v_row, v_col), (0, 0), (BN, BD), (1, 0)
    )
    q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
    do = tl.load(do_blk, boundary_check=(0, 1), padding_option="zero")
    m = first + tl.arange(0, BM)
    lse = tl.load(lse_ptr + head * S_q + m, mask=m < S_q, other=0.0)[:, None]
    delta = tl.load(delta_ptr + head * S_q + m, mask=m < S_q, other=0.0)[:, None]
    dq = tl.zeros((BM, BD), tl.float32)
    for start in range(0, S_k, BN):
        k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
        n = start + tl.arange(0, BN)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse) * (n < S_k)[None, :].to(tl.float32)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta)
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        k_blk = tl.advance(k_blk, (BN, 0))
        v_blk = tl.advance(v_blk, (BN, 0))
    tl.store(dq_blk, (alpha * dq).to(dq_ptr.dtype.element_ty), boundary_check=(0, 1))

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    T = block or 32
    flash_dq_kernel[(triton.cdiv(S_q, T), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=T, BN=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
