# label: wrong
# title: two mistakes: start without the shift, alpha missing in dK
# says: `begin = pid * BLOCK_K // BLOCK_Q * BLOCK_Q` leaves out S_k - S_q: for more keys than queries the loop
#   starts too late (or never), and queries that see the block are missed. And dk is stored without its factor
#   alpha.
# names: alpha is missing from dK + loop start without S_k − S_q

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    base_q = q_ptr + b * q_batch + h * q_head
    base_do = do_ptr + b * do_batch + h * do_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    c = pid.to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    own = (c < S_k)[:, None] & (d < D)[None, :]
    kt = tl.load(k_ptr + b * k_batch + h * k_head + d[:, None] * k_col + c[None, :] * k_row,
                 mask=(d < D)[:, None] & (c < S_k)[None, :], other=0.0)
    vt = tl.load(v_ptr + b * v_batch + h * v_head + d[:, None] * v_col + c[None, :] * v_row,
                 mask=(d < D)[:, None] & (c < S_k)[None, :], other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    begin = pid * BLOCK_K // BLOCK_Q * BLOCK_Q
    for start in range(begin, S_q, BLOCK_Q):
        r = start + tl.arange(0, BLOCK_Q).to(tl.int64)
        rm = r < S_q
        q = tl.load(
            base_q + r[:, None] * q_row + d[None, :] * q_col, mask=rm[:, None] & (d < D)[None, :], other=0.0
        )
        do = tl.load(
            base_do + r[:, None] * do_row + d[None, :] * do_col,
            mask=rm[:, None] & (d < D)[None, :], other=0.0
        )
        lse = tl.load(lse_ptr + r, mask=rm, other=float("inf"))
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        delta = tl.load(delta_ptr + r, mask=rm, other=0.0)
        s = alpha * tl.dot(q, kt, input_precision="ieee")
        s = tl.where(c[None, :] - r[:, None] <= S_k - S_q, s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, vt, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + b * dk_batch + h * dk_head + c[:, None] * dk_row + d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + c[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=own)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
