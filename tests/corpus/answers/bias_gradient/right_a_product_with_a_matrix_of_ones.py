# label: right
# title: a product with a matrix of ones

@triton.jit
def _ones_dot(dy_ptr, db_ptr, M, N, s0, s1, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN).to(tl.int64)
    acc = tl.zeros([16, BN], tl.float32)
    ones = tl.full([16, BM], 1.0, tl.float32)
    for m0 in range(0, tl.cdiv(M, BM) * BM, BM):
        m = m0 + tl.arange(0, BM).to(tl.int64)
        tile = tl.load(
            dy_ptr + m[:, None] * s0 + n[None, :] * s1, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(ones, tile.to(tl.float32), acc, input_precision="ieee")
    first = tl.sum(tl.where(tl.arange(0, 16).to(tl.int64)[:, None] == 0, acc, 0.0), axis=0)
    tl.store(db_ptr + n, first, mask=n < N)


def column_sums_by_a_dot_with_ones(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype)
    _ones_dot[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BM=32, BN=32)
    return db
