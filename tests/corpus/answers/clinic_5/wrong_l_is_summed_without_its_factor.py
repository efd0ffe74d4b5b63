# label: wrong
# title: l_i + sum, without rescale
# says: The sum was moved behind the mask, but lost its rescale on the way: l_i of earlier tiles is not
#   converted to the new maximum, so O and LSE are wrong with several tiles of keys.
# names: l is not rescaled

from torch import Tensor


@triton.jit
def clinic_5_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # causal: query i sees the keys j ≤ i + S_k − S_q
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= rows[:, None] + S_k - S_q)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        p = tl.where(seen, p, 0.0)
        l_i = l_i + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(o_ptr + query_tile, o, mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_5(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_5_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
