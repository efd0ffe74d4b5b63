# label: wrong
# title: two mistakes: p cast to fp16, and delta never subtracted
# says: `p.to(tl.float16)` meets a `do` of another dtype in bf16 and fp32: it does not compile. And `ds = p *
#   dp` leaves out delta, so dK is wrong in every dtype (dV is not).
# names: crashed + delta omitted

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    start_n = tl.program_id(0) * BLOCK_K
    kb = tl.make_block_ptr(
        k_ptr + b * k_batch + h * k_head, (S_k, D), (k_row, k_col), (start_n, 0), (BLOCK_K, BLOCK_D), (1, 0)
    )
    vb = tl.make_block_ptr(
        v_ptr + b * v_batch + h * v_head, (S_k, D), (v_row, v_col), (start_n, 0), (BLOCK_K, BLOCK_D), (1, 0)
    )
    qb = tl.make_block_ptr(
        q_ptr + b * q_batch + h * q_head, (S_q, D), (q_row, q_col), (0, 0), (BLOCK_Q, BLOCK_D), (1, 0)
    )
    ob = tl.make_block_ptr(
        do_ptr + b * do_batch + h * do_head, (S_q, D), (do_row, do_col), (0, 0), (BLOCK_Q, BLOCK_D), (1, 0)
    )
    k = tl.load(kb, boundary_check=(0, 1), padding_option="zero")
    v = tl.load(vb, boundary_check=(0, 1), padding_option="zero")
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start_m in range(0, S_q, BLOCK_Q):
        q = tl.load(qb, boundary_check=(0, 1), padding_option="zero")
        do = tl.load(ob, boundary_check=(0, 1), padding_option="zero")
        m = start_m + tl.arange(0, BLOCK_Q)
        lse = tl.load(lse_ptr + m, mask=m < S_q, other=float("inf"))
        qk = tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(qk * alpha - lse[:, None])
        dv += tl.dot(tl.trans(p.to(tl.float16)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * dp
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
        qb = tl.advance(qb, (BLOCK_Q, 0))
        ob = tl.advance(ob, (BLOCK_Q, 0))
    dkb = tl.make_block_ptr(
        dk_ptr + b * dk_batch + h * dk_head, (S_k, D), (dk_row, dk_col), (start_n, 0), (BLOCK_K, BLOCK_D),
        (1, 0)
    )
    dvb = tl.make_block_ptr(
        dv_ptr + b * dv_batch + h * dv_head, (S_k, D), (dv_row, dv_col), (start_n, 0), (BLOCK_K, BLOCK_D),
        (1, 0)
    )
    tl.store(dkb, (dk * alpha).to(dk_ptr.dtype.element_ty), boundary_check=(0, 1))
    tl.store(dvb, dv.to(dv_ptr.dtype.element_ty), boundary_check=(0, 1))

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
