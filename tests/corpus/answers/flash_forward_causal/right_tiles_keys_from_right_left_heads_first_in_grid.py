# label: right
# title: unseen: tiles of keys from right to left, heads first in the grid

@triton.jit
def backwards_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, heads, nq, nk, dim,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    block = tl.program_id(1)
    z = (tl.program_id(0) // heads).to(tl.int64)
    y = (tl.program_id(0) % heads).to(tl.int64)
    qi = block * TQ + tl.arange(0, TQ)
    lane = tl.arange(0, TK)
    e = tl.arange(0, TD)
    q_here = (qi[:, None] < nq) & (e[None, :] < dim)
    q = tl.load(q_ptr + z * q0 + y * q1 + qi[:, None] * q2 + e[None, :] * q3, mask=q_here, other=0.0)
    best = tl.full([TQ], float("-inf"), tl.float32)
    total = tl.zeros([TQ], tl.float32)
    mix = tl.zeros([TQ, TD], tl.float32)
    reach = nk - nq + qi  # the last key that each query sees
    stop = tl.minimum(nk, nk - nq + (block + 1) * TQ)
    tiles = (tl.maximum(stop, 0) + TK - 1) // TK
    for t in range(tiles):
        kj = (tiles - 1 - t) * TK + lane
        kv_here = (kj[:, None] < nk) & (e[None, :] < dim)
        k = tl.load(k_ptr + z * k0 + y * k1 + kj[:, None] * k2 + e[None, :] * k3, mask=kv_here, other=0.0)
        v = tl.load(v_ptr + z * v0 + y * v1 + kj[:, None] * v2 + e[None, :] * v3, mask=kv_here, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        score = tl.where((kj[None, :] <= reach[:, None]) & (kj[None, :] < nk), score, float("-inf"))
        better = tl.maximum(best, tl.max(score, 1))
        origin = tl.where(better == float("-inf"), 0.0, better)
        fade = tl.exp(best - origin)
        share = tl.exp(score - origin[:, None])
        total = total * fade + tl.sum(share, 1)
        mix = mix * fade[:, None] + tl.dot(share.to(v.dtype), v, input_precision="ieee")
        best = better
    result = mix / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        o_ptr + z * o0 + y * o1 + qi[:, None] * o2 + e[None, :] * o3,
        result.to(o_ptr.dtype.element_ty), mask=q_here,
    )
    tl.store(lse_ptr + tl.program_id(0).to(tl.int64) * nq + qi, best + tl.log(total), mask=qi < nq)


def flash_forward_causal(q, k, v, alpha):
    batch, heads, nq, dim = q.shape
    o = q.new_empty(q.shape)
    lse = q.new_empty((batch, heads, nq), dtype=torch.float32)
    backwards_kernel[(batch * heads, triton.cdiv(nq, 32))](
        q, k, v, o, lse, alpha, heads, nq, k.shape[-2], dim,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        TQ=32, TK=16, TD=max(16, triton.next_power_of_2(dim)),
    )
    return o, lse
