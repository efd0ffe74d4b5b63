# label: wrong
# title: guard for padded queries only
# says: `other=float('inf')` covers padded queries, but a real query that sees nothing has LSE = -inf in
#   memory: exp(-inf + inf) is NaN in p, and through the sum over queries in every key of the block. For S_q >
#   S_k where the empty queries end inside a tile.
# names: no guard for queries that see nothing

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def p_and_ds(q, k, v, do, lse, delta, alpha, seen):
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
    p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
    dp = tl.dot(do, tl.trans(v), input_precision="ieee")
    return p, p * (dp - delta[:, None])

@triton.jit
def flash_dkv_causal_kernel(
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
    dmask = (d < D)[None, :]
    kmask = (columns < S_k)[:, None] & dmask
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=kmask, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=kmask, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    start = tl.maximum(0, tl.program_id(0) * BLOCK_K - shift) // BLOCK_Q * BLOCK_Q
    while start < S_q:
        rows = start + queries
        live = rows < S_q
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=live[:, None] & dmask, other=0.0)
        do = tl.load(
            do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=live[:, None] & dmask, other=0.0
        )
        lse = tl.load(lse_ptr + rows, mask=live, other=float("inf"))
        delta = tl.load(delta_ptr + rows, mask=live, other=0.0)
        seen = columns[None, :] <= rows[:, None] + shift
        p, ds = p_and_ds(q, k, v, do, lse, delta, alpha, seen)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, acc=dv, input_precision="ieee")
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, acc=dk, input_precision="ieee")
        start += BLOCK_Q
    dk = dk * alpha
    tl.store(
        dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=kmask
    )
    tl.store(
        dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=kmask
    )

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
