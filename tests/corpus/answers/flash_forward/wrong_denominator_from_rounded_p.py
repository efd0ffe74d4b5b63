# label: wrong
# title: denominator from rounded p
# says: line denom = ... tl.sum(e.to(v.dtype).to(tl.float32), 1): the denominator sums the rounded
#   exponentials, which moves LSE beyond its bound for half-precision inputs
# names: precision

from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for k0 in range(0, S_k, BLOCK_K):
        cols = k0 + keys
        kv_ok = (cols < S_k)[:, None] & (d < D)[None, :]
        kt = tl.load(k_ptr + cols[None, :] * k_row + d[:, None] * k_col, mask=tl.trans(kv_ok), other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new_top)
        e = tl.exp(s - new_top[:, None])
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        denom = denom * shrink + tl.sum(e.to(v.dtype).to(tl.float32), 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        top = new_top
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             (out / denom[:, None]).to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, top + tl.log(denom), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
