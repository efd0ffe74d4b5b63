# label: right
# title: −1e30 as filler, guarded by p = where(see, …, 0); from the diagonal backwards in a while loop

@triton.jit
def finite_filler_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D, B: tl.constexpr, BD: tl.constexpr):
    NEG: tl.constexpr = -1.0e30
    qb, bh = tl.program_id(1), tl.program_id(0)
    i = qb * B + tl.arange(0, B)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * S_q + i)[:, None] * D + d, mask=(i < S_q)[:, None] & (d < D), other=0.0)
    q = q.to(tl.float32) * alpha
    m = tl.full((B,), NEG, tl.float32)
    den = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, BD), tl.float32)
    last = tl.minimum(S_k, (qb + 1) * B + S_k - S_q) - 1  # last key that anybody here sees
    j0 = last // B * B
    while j0 >= 0:  # from the diagonal back to the first key
        j = j0 + tl.arange(0, B)
        kv = (j < S_k)[:, None] & (d < D)
        k = tl.load(k_ptr + (bh * S_k + j)[:, None] * D + d, mask=kv, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + (bh * S_k + j)[:, None] * D + d, mask=kv, other=0.0).to(tl.float32)
        see = (j[None, :] - i[:, None] <= S_k - S_q) & (j < S_k)[None, :]
        s = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), NEG)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)  # without the where: 1 in rows that see nothing
        c = tl.exp(m - m_new)
        den = den * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
        j0 -= B
    blind = den == 0.0
    o = tl.where(blind[:, None], 0.0, acc / tl.where(blind, 1.0, den)[:, None])
    tl.store(o_ptr + (bh * S_q + i)[:, None] * D + d, o, mask=(i < S_q)[:, None] & (d < D))
    lse = tl.where(blind, -float("inf"), m + tl.log(tl.where(blind, 1.0, den)))
    tl.store(lse_ptr + bh * S_q + i, lse, mask=i < S_q)


def from_the_diagonal_back(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, S_q, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, S_q)
    grid = (B * H, triton.cdiv(S_q, 64))
    BD = max(16, triton.next_power_of_2(D))
    finite_filler_kernel[grid](q, k, v, o, lse, alpha, S_q, k.shape[2], D, B=64, BD=BD)
    return o, lse
