# label: wrong
# title: the end of range is the last visible key
# says: The loop ends at the last visible key itself, but the end of range is exclusive: it must be
#   last_query + shift + 1, or a tile that begins with that key is left out.
# names: loop ends at the last key itself

from torch import Tensor


@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    shift = S_k - S_q
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col,
        mask=(rows[:, None] < S_q) & (d[None, :] < D), other=0.0,
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)

    last_query = tl.program_id(0) * BLOCK_Q + BLOCK_Q - 1
    last_key = tl.minimum(S_k, last_query + shift)  # what the last query of this block still sees
    for start in range(0, last_key, BLOCK_K):
        j = start + keys
        ok = (j[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=ok, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        visible = (j[None, :] <= rows[:, None] + shift) & (j[None, :] < S_k)
        s = tl.where(visible, s, -float("inf"))
        m_next = tl.maximum(m, tl.max(s, axis=1))
        safe = tl.where(m_next == -float("inf"), 0.0, m_next)  # -inf - -inf would be NaN
        p = tl.exp(s - safe[:, None])
        scale = tl.exp(m - safe)
        l = l * scale + tl.sum(p, axis=1)
        acc = acc * scale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_next
    denominator = tl.where(l > 0.0, l, 1.0)
    o = acc / denominator[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=(rows[:, None] < S_q) & (d[None, :] < D),
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_causal(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    """The same where query i sees the keys j ≤ i + S_k − S_q; O = 0 and LSE = −inf where that is none."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
