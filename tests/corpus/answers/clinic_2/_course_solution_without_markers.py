# part: a text that answers change

from torch import Tensor


@triton.jit
def clinic_2_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # two programs for each block of keys: each scans one half of the queries, and adds what it found
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    half = tl.cdiv(S_q, 2)
    first = tl.program_id(1) * half
    end = tl.minimum(S_q, first + half)
    for start in range(first, end, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_half = rows < end
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_half[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_half[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_half, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_half, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])


def clinic_2(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    grid = (triton.cdiv(S_k, BLOCK), 2)
    clinic_2_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk.to(k.dtype), dv.to(v.dtype)
