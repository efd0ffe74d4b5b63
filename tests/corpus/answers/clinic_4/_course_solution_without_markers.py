# part: a text that answers change

from torch import Tensor


@triton.jit
def clinic_4_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # a program owns a block of keys; row numbers stop at the last query, so that its loads need no mask
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        safe = tl.minimum(rows, S_q - 1)
        query_tile = safe[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile)
        do = tl.load(do_ptr + query_tile)
        lse_i = tl.load(lse_ptr + safe)
        delta_i = tl.load(delta_ptr + safe)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_4(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_4_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk, dv
