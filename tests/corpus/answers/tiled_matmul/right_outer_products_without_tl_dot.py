# label: right
# title: outer products without tl.dot

@triton.jit
def mm_outer(A, B, C, m, n, k, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr):
    # no tl.dot: one outer product per inner index, onto a 2-D grid
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for t in range(k):
        col = tl.load(A + i * am, mask=i < m, other=0.0).to(tl.float32)
        row = tl.load(B + j * bn, mask=j < n, other=0.0).to(tl.float32)
        acc += col[:, None] * row[None, :]
        A += ak
        B += bk
    tl.store(C + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


def tiled_matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = a.new_empty((m, n))
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    mm_outer[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=32, BN=32)
    return c
