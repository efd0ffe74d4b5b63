# label: wrong
# title: ptr advance by block rows
# says: line `pb += `: b is advanced along K by BLOCK_K * b_col, the column stride
# names: out_of_bounds

from torch import Tensor


@triton.jit
def gemm(A, B, C, M, N, K, am, ak, bk, bn, cm, cn, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    by, bx = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    m = by * TM + tl.arange(0, TM)
    n = bx * TN + tl.arange(0, TN)
    kk = tl.arange(0, TK)
    pa = A + m[:, None] * am + kk[None, :] * ak
    pb = B + kk[:, None] * bk + n[None, :] * bn
    c = tl.zeros((TM, TN), tl.float32)
    for k0 in range(0, K, TK):
        left = K - k0
        a = tl.load(pa, mask=(m < M)[:, None] & (kk < left)[None, :], other=0.0)
        b = tl.load(pb, mask=(kk < left)[:, None] & (n < N)[None, :], other=0.0)
        c += tl.dot(a, b, input_precision="ieee")
        pa += TK * ak
        pb += TK * bn
    tl.store(C + m[:, None] * cm + n[None, :] * cn, c, mask=(m < M)[:, None] & (n < N)[None, :])


def tiled_matmul(
    a: Tensor, b: Tensor, BLOCK_M: int = 32, BLOCK_N: int = 64, BLOCK_K: int = 16, **options: int
) -> Tensor:
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    gemm[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), TM=BLOCK_M, TN=BLOCK_N, TK=BLOCK_K, **options)
    return c
