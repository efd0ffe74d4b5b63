# label: right
# title: two programs per head, each with a part of its own, added by torch

from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _walking_kernel(
    Q, K, V, DO, LSE, Delta, Parts, DK, DV, scale, N, M, D,
    BLOCK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr, FIXED: tl.constexpr,
):
    # a program owns every num_programs-th block of keys, and a part of memory that nobody else touches
    head = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BD)
    part = Parts + head * N * D
    if not FIXED:
        part += tl.program_id(1).to(tl.int64) * tl.num_programs(0) * N * D
    for block in range(tl.program_id(1), tl.cdiv(M, BLOCK), tl.num_programs(1)):
        keys = block * BLOCK + tl.arange(0, BLOCK)
        own = (keys < M)[:, None] & (d < D)[None, :]
        at_keys = head * M * D + keys[:, None] * D + d[None, :]
        k = tl.load(K + at_keys, mask=own, other=0.0)
        v = tl.load(V + at_keys, mask=own, other=0.0)
        gk = tl.zeros((BLOCK, BD), tl.float32)
        gv = tl.zeros((BLOCK, BD), tl.float32)
        first = 0
        if CAUSAL:
            first = tl.maximum(block * BLOCK - (M - N), 0) // BLOCK
        for step in range(first, tl.cdiv(N, BLOCK)):
            rows = step * BLOCK + tl.arange(0, BLOCK)
            some = (rows < N)[:, None] & (d < D)[None, :]
            offsets = rows[:, None] * D + d[None, :]
            q = tl.load(Q + head * N * D + offsets, mask=some, other=0.0)
            do = tl.load(DO + head * N * D + offsets, mask=some, other=0.0)
            lse = tl.load(LSE + head * N + rows, mask=rows < N, other=0.0)
            delta = tl.load(Delta + head * N + rows, mask=rows < N, other=0.0)
            s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
            keep = (keys < M)[None, :] & (lse != -float("inf"))[:, None]
            if CAUSAL:
                keep &= keys[None, :] <= rows[:, None] + (M - N)
            p = tl.exp(tl.where(keep, s - lse[:, None], -float("inf")))
            gv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
            ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
            gk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
            share = scale * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
            if FIXED:
                tl.atomic_add(part + offsets, (share * 1099511627776.0).to(tl.int64), mask=some)
            else:
                so_far = tl.load(part + offsets, mask=some, other=0.0)
                tl.store(part + offsets, so_far + share, mask=some)
        tl.store(DK + at_keys, (scale * gk).to(DK.dtype.element_ty), mask=own)
        tl.store(DV + at_keys, gv.to(DV.dtype.element_ty), mask=own)


def _walk(q, k, v, o, do, lse, alpha, causal, parts, programs, fixed):
    delta = delta_preprocess(o, do)
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, N, D = q.shape
    M = k.shape[2]
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _walking_kernel[(B * H, programs)](
        q, k, v, do, lse.contiguous(), delta, parts, dk, dv, alpha, N, M, D,
        BLOCK=32, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal, FIXED=fixed,
    )
    return dk, dv


def two_parts(q, k, v, o, do, lse, alpha, causal):
    parts = torch.zeros((2, *q.shape), dtype=torch.float32, device=q.device)
    dk, dv = _walk(q, k, v, o, do, lse, alpha, causal, parts, 2, False)
    return (parts[0] + parts[1]).to(q.dtype), dk, dv
