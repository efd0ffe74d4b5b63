# label: wrong
# title: two mistakes: own 1/sqrt(D), and LSE stored without a mask
# says: `scale = 1.0 / D ** 0.5` in the launcher replaces the argument alpha, so any other alpha (a negative
#   one) is ignored; and `tl.store(lse_ptr + rows, ...)` has no mask, so for ragged S_q it writes over the
#   next head's LSE or beyond the tensor.
# names: out_of_bounds + alpha's sign is lost

@triton.jit
def fa_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, H, S_q, S_k, D,
    qb, qh, qr, qc, kb, kh, kr, kc, vb, vh, vr, vc, ob, oh, orow, oc,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    n_blocks = tl.cdiv(S_q, BLOCK_Q)
    pid = tl.program_id(0)
    blk = pid % n_blocks
    bh = (pid // n_blocks).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = blk.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    row_in = rows < S_q
    d_in = d < D
    q = tl.load(q_ptr + b * qb + h * qh + rows[:, None] * qr + d[None, :] * qc,
                mask=row_in[:, None] & d_in[None, :], other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for s0 in range(0, S_k, BLOCK_K):
        n = s0 + tl.arange(0, BLOCK_K).to(tl.int64)
        n_in = n < S_k
        k = tl.load(
            k_ptr + b * kb + h * kh + n[:, None] * kr + d[None, :] * kc,
            mask=n_in[:, None] & d_in[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + b * vb + h * vh + n[:, None] * vr + d[None, :] * vc,
            mask=n_in[:, None] & d_in[None, :], other=0.0
        )
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(n_in[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha_ = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * alpha_ + tl.sum(p, 1)
        acc = acc * alpha_[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    acc = acc / l[:, None]
    tl.store(o_ptr + b * ob + h * oh + rows[:, None] * orow + d[None, :] * oc,
             acc.to(o_ptr.dtype.element_ty), mask=row_in[:, None] & d_in[None, :])
    lse_ptr += bh * S_q
    tl.store(lse_ptr + rows, m + tl.log(l))

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = 1.0 / D ** 0.5
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    fa_kernel[(triton.cdiv(S_q, BLOCK) * B * H,)](
        q, k, v, o, lse, scale, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
