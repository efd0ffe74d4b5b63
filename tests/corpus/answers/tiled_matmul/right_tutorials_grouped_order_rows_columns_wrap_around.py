# label: right
# title: the tutorial's grouped order; rows and columns wrap around the edge and are masked last

@triton.jit
def mm_grouped(
    A, B, C, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(axis=0).to(tl.int64)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    first = pid // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    pm = first + (pid % per_group) % height
    pn = (pid % per_group) // height
    # indices that wrap around need no mask
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    pa = A + om[:, None] * am + ok[None, :] * ak
    pb = B + ok[:, None] * bk + on[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        b = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        pa += BK * ak
        pb += BK * bk
    oi = pm * BM + tl.arange(0, BM)
    oj = pn * BN + tl.arange(0, BN)
    tl.store(C + oi[:, None] * cm + oj[None, :] * cn, acc.to(C.dtype.element_ty),
             mask=(oi[:, None] < M) & (oj[None, :] < N))


def launcher(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)
    mm_grouped[grid](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BM=16, BN=32, BK=32, GROUP=2,
    )
    return c
