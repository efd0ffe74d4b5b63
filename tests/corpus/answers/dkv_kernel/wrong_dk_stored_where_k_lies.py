# label: wrong
# title: dK stored where K lies
# says: The offsets `k_off` with the strides of k are used again to store dk, which is a fresh contiguous
#   tensor. Wrong for a K that is a view: [B, S, H, D] in memory mixes the heads up, an expanded K writes
#   every head to one place.
# names: out_of_bounds; stored with other strides

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def backward_keys(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    stat = (b * tl.num_programs(1) + h) * S_q
    col = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    keep = (col < S_k)[:, None] & (d < D)[None, :]
    k_off = b * k_batch + h * k_head + col[:, None] * k_row + d[None, :] * k_col
    v_off = b * v_batch + h * v_head + col[:, None] * v_row + d[None, :] * v_col
    dv_off = b * dv_batch + h * dv_head + col[:, None] * dv_row + d[None, :] * dv_col
    k = tl.load(k_ptr + k_off, mask=keep, other=0.0)
    v = tl.load(v_ptr + v_off, mask=keep, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        row = start + tl.arange(0, BLOCK_Q).to(tl.int64)
        rm = row < S_q
        keep_q = rm[:, None] & (d < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + row[:, None] * q_row + d[None, :] * q_col,
            mask=keep_q, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + row[:, None] * do_row + d[None, :] * do_col,
            mask=keep_q, other=0.0
        )
        lse = tl.load(lse_ptr + stat + row, mask=rm, other=float("inf"))
        delta = tl.load(delta_ptr + stat + row, mask=rm, other=0.0)
        p = tl.exp(alpha * tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + k_off, (dk * alpha).to(dk_ptr.dtype.element_ty), mask=keep)
    tl.store(dv_ptr + dv_off, dv.to(dv_ptr.dtype.element_ty), mask=keep)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    backward_keys[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
