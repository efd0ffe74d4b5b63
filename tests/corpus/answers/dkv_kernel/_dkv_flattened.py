# part: a text that answers change

@triton.jit
def kv_grads(
    query, key, value, grad_out, lse, delta, grad_key, grad_value, scale, nq, nk, dim, key_blocks,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    head = (tl.program_id(0) // key_blocks).to(tl.int64)
    c = (tl.program_id(0) % key_blocks) * BK + tl.arange(0, BK)
    e = tl.arange(0, BD)
    c_ok = (c[:, None] < nk) & (e[None, :] < dim)
    c_at = head * nk * dim + c[:, None] * dim + e[None, :]
    k = tl.load(key + c_at, mask=c_ok, other=0.0).to(tl.float32)
    v = tl.load(value + c_at, mask=c_ok, other=0.0).to(tl.float32)
    sum_k = tl.zeros([BK, BD], tl.float32)
    sum_v = tl.zeros([BK, BD], tl.float32)
    lanes = tl.arange(0, BQ)
    for i0 in range(0, nq, BQ):
        r = i0 + lanes
        r_ok = (r[:, None] < nq) & (e[None, :] < dim)
        r_at = head * nq * dim + r[:, None] * dim + e[None, :]
        q = tl.load(query + r_at, mask=r_ok, other=0.0).to(tl.float32)
        g = tl.load(grad_out + r_at, mask=r_ok, other=0.0).to(tl.float32)
        row_lse = tl.load(lse + head * nq + r, mask=r < nq, other=float("inf"))
        row_delta = tl.load(delta + head * nq + r, mask=r < nq, other=0.0)
        prob = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") * scale - row_lse[:, None])
        sum_v += tl.dot(tl.trans(prob), g, input_precision="ieee")
        d_score = prob * (tl.dot(g, tl.trans(v), input_precision="ieee") - row_delta[:, None])
        sum_k += tl.dot(tl.trans(d_score), q * scale, input_precision="ieee")
    tl.store(grad_key + c_at, sum_k.to(grad_key.dtype.element_ty), mask=c_ok)
    tl.store(grad_value + c_at, sum_v.to(grad_value.dtype.element_ty), mask=c_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, nq, dim = q.shape
    nk = k.shape[2]
    delta = (o.float() * do.float()).sum(-1)
    q, k, v, do, lse = (x.contiguous() for x in (q, k, v, do, lse))
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    key_blocks = triton.cdiv(nk, 16)
    kv_grads[(B * H * key_blocks,)](
        q, k, v, do, lse, delta, dk, dv, alpha, nq, nk, dim, key_blocks,
        BQ=32, BK=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
