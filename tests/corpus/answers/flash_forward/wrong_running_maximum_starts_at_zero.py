# label: wrong
# title: running maximum starts at zero
# says: `biggest = tl.zeros(...)`: the maximum starts at 0, not at -inf. A row whose scores all lie below
#   about -104 underflows: l = 0, O = 0/0, LSE = -inf.
# names: m starts at 0

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
    q_in = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0)
    biggest = tl.zeros((BLOCK_Q,), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    numer = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for tile in range(tl.cdiv(S_k, BLOCK_K)):
        c = tile * BLOCK_K + keys
        live = c < S_k
        kT = tl.load(
            k_ptr + d[:, None] * k_col + c[None, :] * k_row,
            mask=(d < D)[:, None] & live[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + c[:, None] * v_row + d[None, :] * v_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        s = alpha * tl.dot(q, kT, input_precision="ieee")
        s = tl.where(live[None, :], s, float("-inf"))
        new = tl.maximum(biggest, tl.max(s, axis=1))
        old_share = tl.exp(biggest - new)
        p = tl.exp(s - new[:, None])
        denom = denom * old_share + tl.sum(p, axis=1)
        numer = numer * old_share[:, None]
        numer += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        biggest = new
    o = numer / denom[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=q_in)
    tl.store(lse_ptr + rows, biggest + tl.log(denom), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
