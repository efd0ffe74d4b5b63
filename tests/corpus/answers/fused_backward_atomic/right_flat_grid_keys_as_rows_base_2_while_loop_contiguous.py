# label: right
# title: a flat grid, keys as rows, base 2, a while loop, contiguous copies

from flashlearn.kernels.delta import delta_preprocess

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _transposed_kernel(
    Q, K, V, DO, LSE, Delta, DQ, DK, DV, scale, H, N, M, D,
    BN: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    # one flat grid; Sᵀ with keys as rows, so that P and dS need no transpose for dV and dK, and one for dQ
    pid = tl.program_id(0)
    blocks = tl.cdiv(M, BM)
    head = (pid // blocks).to(tl.int64)
    keys = (pid % blocks) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    own = (keys < M)[:, None] & (d < D)[None, :]
    at_keys = head * M * D + keys[:, None] * D + d[None, :]
    k = tl.load(K + at_keys, mask=own, other=0.0)
    v = tl.load(V + at_keys, mask=own, other=0.0)
    gk = tl.zeros((BM, BD), tl.float32)
    gv = tl.zeros((BM, BD), tl.float32)
    start = 0
    if CAUSAL:
        start = max(0, (pid % blocks) * BM + N - M) // BN * BN
    while start < N:
        rows = start + tl.arange(0, BN)
        some = (rows < N)[:, None] & (d < D)[None, :]
        at_rows = head * N * D + rows[:, None] * D + d[None, :]
        q = tl.load(Q + at_rows, mask=some, other=0.0)
        do = tl.load(DO + at_rows, mask=some, other=0.0)
        lse = tl.load(LSE + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(Delta + head * N + rows, mask=rows < N, other=0.0)
        keep = (keys < M)[:, None] & (rows < N)[None, :] & (lse > -float("inf"))[None, :]
        if CAUSAL:
            keep &= keys[:, None] <= rows[None, :] + (M - N)
        st = tl.dot(k, tl.trans(q), input_precision="ieee") * (scale * LOG2E)
        pt = tl.where(keep, tl.exp2(st - (lse * LOG2E)[None, :]), 0.0)
        gv = tl.dot(pt.to(do.dtype), do, gv, input_precision="ieee")
        dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
        dst = (pt * (dpt - delta[None, :])).to(q.dtype)
        gk = tl.dot(dst, q, gk, input_precision="ieee")
        tl.atomic_add(DQ + at_rows, scale * tl.dot(tl.trans(dst), k, input_precision="ieee"), mask=some)
        start += BN
    tl.store(DK + at_keys, (gk * scale).to(DK.dtype.element_ty), mask=own)
    tl.store(DV + at_keys, gv.to(DV.dtype.element_ty), mask=own)


def keys_as_rows(q, k, v, o, do, lse, alpha, causal):
    shape_q, shape_k = q.shape, k.shape
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, N, D = shape_q
    M = shape_k[2]
    dq = torch.zeros(shape_q, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _transposed_kernel[(triton.cdiv(M, 64) * B * H,)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, dk, dv, alpha, H, N, M, D,
        BN=32, BM=64, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    return dq.to(q.dtype), dk, dv
