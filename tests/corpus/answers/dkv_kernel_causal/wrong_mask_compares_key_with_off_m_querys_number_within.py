# label: wrong
# title: two mistakes: mask counts within the tile, and no d < D in the stores
# says: The mask compares the key with `off_m`, the query's number within its tile, instead of start + off_m:
#   right for the first tile of queries only. And the stores of dk and dv mask rows alone, so for a D that is
#   no power of two (24) the padded lanes are written over the next row.
# names: out_of_bounds

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    off_n = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    off_m = tl.arange(0, BLOCK_Q).to(tl.int64)
    off_d = tl.arange(0, BLOCK_D)
    k = tl.load(k_ptr + b * k_batch + h * k_head + off_n[:, None] * k_row + off_d[None, :] * k_col,
                mask=(off_n[:, None] < S_k) & (off_d[None, :] < D), other=0.0)
    v = tl.load(v_ptr + b * v_batch + h * v_head + off_n[:, None] * v_row + off_d[None, :] * v_col,
                mask=(off_n[:, None] < S_k) & (off_d[None, :] < D), other=0.0)
    q_base = q_ptr + b * q_batch + h * q_head
    do_base = do_ptr + b * do_batch + h * do_head
    stat = tl.program_id(1).to(tl.int64) * S_q
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    lo = tl.maximum(tl.program_id(0) * BLOCK_K + S_q - S_k, 0)
    lo = lo - lo % BLOCK_Q
    for start in range(lo, S_q, BLOCK_Q):
        m = start + off_m
        valid = m < S_q
        q = tl.load(
            q_base + m[:, None] * q_row + off_d[None, :] * q_col,
            mask=valid[:, None] & (off_d[None, :] < D), other=0.0
        )
        do = tl.load(
            do_base + m[:, None] * do_row + off_d[None, :] * do_col,
            mask=valid[:, None] & (off_d[None, :] < D), other=0.0
        )
        lse = tl.load(lse_ptr + stat + m, mask=valid, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(delta_ptr + stat + m, mask=valid, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        causal = off_m[:, None] + (S_k - S_q) >= off_n[None, :]
        s = tl.where(causal, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + b * dk_batch + h * dk_head + off_n[:, None] * dk_row + off_d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=off_n[:, None] < S_k)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + off_n[:, None] * dv_row + off_d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=off_n[:, None] < S_k)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    dkdv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
