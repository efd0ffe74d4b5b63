# label: wrong
# title: row index clamped
# says: `rows = tl.minimum(start + queries, S_q - 1)`: in a ragged last tile the padded lanes repeat the last
#   query with its own LSE, so dV and dK get its share as often as there are padded lanes. Wrong for every S_q
#   that is no multiple of the tile.
# names: padded queries repeat the last one

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    columns = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    dm = (d < D)[None, :]
    cm = (columns < S_k)[:, None] & dm
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=cm, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=cm, other=0.0)
    kT = tl.trans(k)
    vT = tl.trans(v)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        rows = tl.minimum(start + queries, S_q - 1)  # always in bounds, no row mask needed
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=dm, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=dm, other=0.0)
        lse = tl.load(lse_ptr + rows)
        delta = tl.load(delta_ptr + rows)
        s = alpha * tl.dot(q, kT, input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, vT, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dv += tl.dot(tl.trans(p).to(do.dtype), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    dk *= alpha
    tl.store(
        dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=cm
    )
    tl.store(
        dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=cm
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
