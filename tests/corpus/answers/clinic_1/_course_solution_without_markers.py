# part: a text that answers change

from torch import Tensor


@triton.jit
def clinic_1_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # one pass: a program owns a block of keys, scans the queries, and adds to dQ atomically
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
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
        dq = alpha * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + query_tile, dq, mask=in_queries[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])


def clinic_1(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.zeros((S_q, D), dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_1_kernel[grid](q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq.to(q.dtype), dk, dv
