# label: wrong
# title: one offset tile for K and V
# says: `kv = n[:, None] * k_row + d[None, :] * k_col` is used for the load of V too: V has strides v_row and
#   v_col of its own. Wrong whenever K and V do not share a layout (e.g. K stored as columns).
# names: out_of_bounds

@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    row_ok = (rows < S_q)[:, None]
    d_ok = (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, row_ok & d_ok, 0.0)
    running_max = tl.zeros((BLOCK_Q,), tl.float32) - float("inf")
    running_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    tiles = tl.cdiv(S_k, BLOCK_K)
    for t in range(tiles):
        n = t * BLOCK_K + keys
        n_ok = n < S_k
        kv = n[:, None] * k_row + d[None, :] * k_col
        k = tl.load(k_ptr + kv, n_ok[:, None] & d_ok, 0.0)
        v = tl.load(v_ptr + kv, n_ok[:, None] & d_ok, 0.0)
        scores = alpha * tl.dot(q, k.T, input_precision="ieee")
        scores = tl.where(n_ok[None, :], scores, -float("inf"))
        bigger = tl.maximum(running_max, tl.max(scores, axis=1))
        shrink = tl.exp(running_max - bigger)
        weights = tl.exp(scores - bigger[:, None])
        running_sum = running_sum * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        running_max = bigger
    out /= running_sum[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), row_ok & d_ok
    )
    tl.store(lse_ptr + rows, running_max + tl.log(running_sum), rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
