# part: a text that answers include

@triton.jit
def probabilities(q, k, lse, alpha, see):
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
    return tl.where(see, tl.exp(s - lse[:, None]), 0.0)


@triton.jit
def reversed_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    # contiguous inputs; queries from the last tile to the first; delta from O and dO of the tile
    j0, head = tl.program_id(1) * BK, tl.program_id(0)
    j, d = j0 + tl.arange(0, BK), tl.arange(0, BD)
    at_j = (head * S_k + j)[:, None] * D + d[None, :]
    ok_j = (j < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + at_j, mask=ok_j, other=0.0)
    v = tl.load(v_ptr + at_j, mask=ok_j, other=0.0)
    dk, dv = tl.zeros((BK, BD), tl.float32), tl.zeros((BK, BD), tl.float32)
    first = 0
    if CAUSAL:
        first = tl.maximum(0, j0 - (S_k - S_q))
    i0 = (S_q - 1) // BQ * BQ
    while i0 + BQ > first and i0 >= 0:
        i = i0 + tl.arange(0, BQ)
        at_i = (head * S_q + i)[:, None] * D + d[None, :]
        ok_i = (i < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + at_i, mask=ok_i, other=0.0)
        do = tl.load(do_ptr + at_i, mask=ok_i, other=0.0)
        o = tl.load(o_ptr + at_i, mask=ok_i, other=0.0)
        delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
        lse = tl.load(lse_ptr + head * S_q + i, mask=i < S_q, other=0.0)
        see = (i < S_q)[:, None] & (j < S_k)[None, :]
        if CAUSAL:
            see = see & (i[:, None] >= j[None, :] - (S_k - S_q))
        p = probabilities(q, k, lse, alpha, see)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha
        dv = tl.dot(tl.trans(p).to(do.dtype), do, dv, input_precision="ieee")
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
        i0 -= BQ
    tl.store(dk_ptr + at_j, dk, mask=ok_j)
    tl.store(dv_ptr + at_j, dv, mask=ok_j)


def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
    q, k, v, o, do, lse = (t.contiguous() for t in (q, k, v, o, do, lse))
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    reversed_kernel[(B * H, triton.cdiv(S_k, BK))](
        q, k, v, o, do, lse, dk, dv, alpha, S_q, S_k, D,
        BQ=BQ, BK=BK, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    return dk, dv
