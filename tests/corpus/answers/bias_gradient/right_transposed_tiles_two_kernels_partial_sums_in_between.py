# label: right
# title: transposed tiles, two kernels, partial sums in between

@triton.jit
def partials(dy_ptr, part_ptr, M, N, s0, s1, BM: tl.constexpr, BN: tl.constexpr):
    slab = tl.program_id(0).to(tl.int64)
    m = slab * BM + tl.arange(0, BM).to(tl.int64)[None, :]
    n = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN).to(tl.int64)[:, None]
    dyT = tl.load(dy_ptr + m * s0 + n * s1, mask=(m < M) & (n < N), other=0.0)  # [BN, BM]
    s = tl.sum(dyT.to(tl.float32), axis=1, keep_dims=True)
    tl.store(part_ptr + slab * N + n, s, mask=n < N)


@triton.jit
def add_partials(part_ptr, db_ptr, slabs, N, BN: tl.constexpr):
    n = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN).to(tl.int64)
    total = tl.zeros([BN], tl.float32)
    for k in range(slabs):
        total += tl.load(part_ptr + k * N + n, mask=n < N, other=0.0)
    tl.store(db_ptr + n, total, mask=n < N)


def bias_gradient(dy):
    M, N = dy.shape
    slabs = triton.cdiv(M, 32)
    part = torch.empty(slabs, N)
    partials[(slabs, triton.cdiv(N, 16))](dy, part, M, N, *dy.stride(), BM=32, BN=16)
    db = dy.new_empty(N)
    add_partials[(triton.cdiv(N, 16),)](part, db, slabs, N, BN=16)
    return db
