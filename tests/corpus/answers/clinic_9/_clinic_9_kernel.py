# part: a text that answers change

from torch import Tensor


@triton.jit
def clinic_9_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # forward, all keys visible
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
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")
        acc = acc + pv
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_9(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_9_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
