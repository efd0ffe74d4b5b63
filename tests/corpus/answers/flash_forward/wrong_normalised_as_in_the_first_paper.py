# label: wrong
# title: normalised as in the first paper
# says: acc is kept normalised, but the old sum is not multiplied by the old l before it is divided by the
#   new.
# names: divided in every step

@triton.jit
def normalised_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D, BLOCK: tl.constexpr, BD: tl.constexpr
):
    # as in the first FlashAttention paper: acc is kept normalised
    bh = tl.program_id(1)
    i, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BD)
    tile = (bh * S_q + i)[:, None] * D + d[None, :]
    ok = (i < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + tile, mask=ok, other=0.0)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    ell = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, BD), tl.float32)
    for start in range(0, S_k, BLOCK):
        j = start + tl.arange(0, BLOCK)
        ok_j = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + (bh * S_k + j)[:, None] * D + d[None, :], mask=ok_j, other=0.0)
        v = tl.load(v_ptr + (bh * S_k + j)[:, None] * D + d[None, :], mask=ok_j, other=0.0)
        s = tl.where(
            (j < S_k)[None, :], tl.dot(q, tl.trans(k), input_precision="ieee") * alpha, -float("inf")
        )
        m_new = tl.maximum(m, tl.max(s, 1))
        beta = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        ell_new = beta * ell + tl.sum(p, 1)
        acc = acc * (beta / ell_new)[:, None]  # the old l is missing here
        acc += tl.dot((p / ell_new[:, None]).to(v.dtype), v, input_precision="ieee")
        m, ell = m_new, ell_new
    tl.store(o_ptr + tile, acc, mask=ok)
    tl.store(lse_ptr + bh * S_q + i, m + tl.log(ell), mask=i < S_q)


def normalised_as_in_the_first_paper(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, S_q, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, S_q)
    grid = (triton.cdiv(S_q, 16), B * H)
    BD = max(16, triton.next_power_of_2(D))
    normalised_kernel[grid](q, k, v, o, lse, alpha, S_q, k.shape[2], D, BLOCK=16, BD=BD)
    return o, lse
