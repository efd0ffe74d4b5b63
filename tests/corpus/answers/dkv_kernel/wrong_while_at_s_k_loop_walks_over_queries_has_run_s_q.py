# label: wrong
# title: loop over S_k instead of S_q
# says: `while at < S_k`: the loop walks over queries and has to run to S_q. With more queries than keys the
#   last queries are left out; S_q = S_k hides it.
# names: loop over S_k

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_scan(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    g = tl.program_id(1).to(tl.int64)
    b = g // H
    h = g % H
    j = tl.program_id(0).to(tl.int64) * TK + tl.arange(0, TK)
    e = tl.arange(0, TD)
    my = (j < S_k)[:, None] & (e < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + e[None, :] * k_col, mask=my, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + e[None, :] * v_col, mask=my, other=0.0
    )
    sum_k = tl.zeros((TK, TD), tl.float32)
    sum_v = tl.zeros((TK, TD), tl.float32)
    at = 0
    while at < S_k:
        i = at + tl.arange(0, TQ).to(tl.int64)
        alive = i < S_q
        tile = alive[:, None] & (e < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + e[None, :] * q_col, mask=tile, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + e[None, :] * do_col,
            mask=tile, other=0.0
        )
        lse = tl.load(lse_ptr + g * S_q + i, mask=alive, other=0.0)
        dlt = tl.load(delta_ptr + g * S_q + i, mask=alive, other=0.0)
        p = tl.exp(alpha * tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        p = tl.where(alive[:, None], p, 0.0)
        sum_v = tl.dot(tl.trans(p.to(do.dtype)), do, acc=sum_v, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - dlt[:, None])
        sum_k = tl.dot(tl.trans(ds.to(q.dtype)), q, acc=sum_k, input_precision="ieee")
        at += TQ
    tl.store(dk_ptr + b * dk_batch + h * dk_head + j[:, None] * dk_row + e[None, :] * dk_col,
             (alpha * sum_k).to(dk_ptr.dtype.element_ty), mask=my)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + j[:, None] * dv_row + e[None, :] * dv_col,
             sum_v.to(dv_ptr.dtype.element_ty), mask=my)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_scan[(triton.cdiv(S_k, T), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        TQ=T, TK=T, TD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
