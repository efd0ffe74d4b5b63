"""Answers to the kernels of lesson 05, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

# ---------------------------------------------------------- tiled_matmul: the tutorial's grouped order

GROUPED = """
@triton.jit
def mm_grouped(
    A, B, C, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(axis=0)
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
"""

right(
    "tiled_matmul", "the tutorial's grouped order; rows and columns wrap around the edge and are masked last"
)(written(GROUPED))

wrong(
    "tiled_matmul",
    "The mask of the inner dimension compares the lanes with K, not with what is left of K: the last, "
    "incomplete step reads beyond the ends of A's rows and B's columns.",
    "inner dimension not masked",
    "out_of_bounds",
)(
    edited(
        GROUPED,
        ("ok[None, :] < K - k * BK", "ok[None, :] < K"),
        ("ok[:, None] < K - k * BK", "ok[:, None] < K"),
        title="ok < K in every step",
    )
)

wrong(
    "tiled_matmul",
    "The last group of tiles is taken to be as high as the others: where it is not, some tiles have no "
    "program.",
    "never written",
)(edited(GROUPED, ("tl.minimum(tiles_m - first, GROUP)", "GROUP"), title="every group has its full height"))

wrong(
    "tiled_matmul",
    "Two mistakes: the sum is carried in C's half precision, and the last, incomplete step along K is left "
    "out.",
    "accumulator in half precision + last block of K left out",
)(
    edited(
        GROUPED,
        ("acc = tl.zeros((BM, BN), dtype=tl.float32)", "acc = tl.zeros((BM, BN), dtype=C.dtype.element_ty)"),
        (
            'acc = tl.dot(a, b, acc, input_precision="ieee")',
            'acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)',
        ),
        ("range(0, tl.cdiv(K, BK))", "range(0, K // BK)"),
        title="acc in C's dtype, K // BK steps",
    )
)
