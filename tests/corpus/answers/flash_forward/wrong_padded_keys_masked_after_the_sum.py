# label: wrong
# title: padded keys masked after the sum
# says: `p = tl.where(valid, p, 0.0)` comes after `tl.sum(p, 1)`: the padded keys are still in the
#   denominator. For S_k that is no multiple of the tile O is too small and LSE too large.
# names: padded keys are not masked

@triton.jit
def online_step(s, m, l):
    m_next = tl.maximum(m, tl.max(s, 1))
    corr = tl.exp(m - m_next)
    p = tl.exp(s - m_next[:, None])
    return p, corr, m_next, l * corr + tl.sum(p, 1)

@triton.jit
def fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    qo = (head // H) * q_batch + (head % H) * q_head
    ko = (head // H) * k_batch + (head % H) * k_head
    vo = (head // H) * v_batch + (head % H) * v_head
    oo = (head // H) * o_batch + (head % H) * o_head
    i = tl.program_id(0).to(tl.int64) * TQ + tl.arange(0, TQ)
    e = tl.arange(0, TD)
    Q = tl.load(q_ptr + qo + i[:, None] * q_row + e[None, :] * q_col,
                mask=(i[:, None] < S_q) & (e[None, :] < D), other=0.0)
    m = tl.full((TQ,), -float("inf"), tl.float32)
    l = tl.zeros((TQ,), tl.float32)
    O = tl.zeros((TQ, TD), tl.float32)
    for j0 in range(0, S_k, TK):
        j = j0 + tl.arange(0, TK).to(tl.int64)
        kv_mask = (j[:, None] < S_k) & (e[None, :] < D)
        K = tl.load(k_ptr + ko + j[:, None] * k_row + e[None, :] * k_col, mask=kv_mask, other=0.0)
        V = tl.load(v_ptr + vo + j[:, None] * v_row + e[None, :] * v_col, mask=kv_mask, other=0.0)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * alpha
        p, corr, m, l = online_step(S, m, l)
        valid = (j < S_k)[None, :]
        p = tl.where(valid, p, 0.0)
        O = O * corr[:, None] + tl.dot(p.to(V.dtype), V, input_precision="ieee")
    O = O / l[:, None]
    tl.store(o_ptr + oo + i[:, None] * o_row + e[None, :] * o_col, O.to(o_ptr.dtype.element_ty),
             mask=(i[:, None] < S_q) & (e[None, :] < D))
    tl.store(lse_ptr + head * S_q + i, m + tl.log(l), mask=i < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    T = block or 32
    fwd[(triton.cdiv(S_q, T), B * H)](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        TQ=T, TK=T, TD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
